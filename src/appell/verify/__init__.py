"""Independent derivations compared: `agree`."""

from appell.verify.agree import Agreement, agree

__all__ = ["Agreement", "agree"]
