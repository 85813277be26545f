"""From an initial state to a motion: the public `simulate`, its arguments, and the verification of its result."""

import sys
from types import ModuleType
from typing import Any

from appell.delegates import offer


class _SimulatePackage(ModuleType):
    """`appell.simulate` is also the name of a function, and there Python looks for what `import appell.simulate.methods as m`
    names: the modules that are loaded here are attributes of the function, too."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        function = getattr(vars(self).get("simulate"), "simulate", None)
        if isinstance(value, ModuleType) and function is not None:
            vars(function).update({word: module for word, module in vars(self).items() if isinstance(module, ModuleType)})


sys.modules[__name__].__class__ = _SimulatePackage

offer({"Run.acceleration": "appell.simulate.friction_accelerations:accelerations_of"})  # with friction: in the mode there
