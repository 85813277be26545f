"""The scalar graph; the only package that uses CasADi."""

from appell.graph.fn import Fn, Port, Signature, make_fn
from appell.graph.lower import Lowering

__all__ = ["Fn", "Lowering", "Port", "Signature", "make_fn"]
