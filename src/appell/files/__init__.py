"""Models as files: TOML with expressions in ordinary notation, units converted on reading; read as data, never executed."""

from appell.files.keys import model_schema
from appell.files.model import Model
from appell.files.reader import read_model
from appell.files.writer import model_text, write_model

__all__ = ["Model", "model_schema", "model_text", "read_model", "write_model"]
