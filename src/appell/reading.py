"""Reading of numbers and expressions from outside, and writing of values in messages.

SymPy's `sympify` executes text as Python code, and so does everything that calls it implicitly: `Matrix`, `sin`, `subs`,
`diff`, `Tuple`. Here numbers, NumPy scalars and SymPy expressions are accepted, and text raises with the name of the argument,
so that nothing in a file, a form or a request can be executed.
"""

from __future__ import annotations

import math
import os
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import sympy
from numpy.typing import NDArray
from sympy import Expr
from sympy.core.sympify import _sympify

from appell.errors import FileError, MissingFile, ModelError

TEXT = (str, bytes, bytearray, memoryview)
NUMBERS = (int, float, complex, Fraction, Decimal, mpmath.mpf, np.number)
REMEDY = "text is never read as a number or an expression: write 2*m with m = ap.parameters('m'), and 0.5 without quotes"
VALUE_CHARACTERS = 100  # of one value in a message: a terminal line
LARGEST_WHOLE_NUMBER = int(np.finfo(float).max)
MOST_DIMENSIONS = 8  # of an array: batches of batches of matrices have four
TIME_SPACINGS = 4.0  # spacings of floating-point time: sums and products of a few times are as exact
MOST_ATTEMPTS = 10**6  # searches from random starts: at a millisecond each, a quarter of an hour


# -- values in messages ------------------------------------------------------------------------------------------------


def shown(value: Any) -> str:
    """A value as shown in a message, always short: arrays by shape and type, others by the beginning of their repr."""
    if isinstance(value, np.ndarray) and value.size > 6:
        return f"an array of shape {value.shape}, {value.dtype}"
    try:
        text = _SHORT.repr(value)
    except Exception:  # the __repr__ of a foreign object may raise anything
        return f"<{type(value).__name__}>"
    text = " ".join(text.split())
    return text if len(text) <= VALUE_CHARACTERS else f"{text[: VALUE_CHARACTERS - 20]} … {text[-12:]}"


class _Short(reprlib.Repr):
    """Containers by their first entries; integers too long to print by their number of digits."""

    def repr_int(self, x: int, level: int) -> str:
        return repr(int(x)) if x.bit_length() < 200 else f"a whole number of about {int(x.bit_length() * 0.30103) + 1} digits"

    def repr_instance(self, x: Any, level: int) -> str:
        if isinstance(x, np.ndarray) and x.size > 6:
            return shown(x)
        return repr(x)


_SHORT = _Short()
_SHORT.maxstring = _SHORT.maxother = VALUE_CHARACTERS
_SHORT.maxlist = _SHORT.maxtuple = _SHORT.maxdict = _SHORT.maxset = 6


# -- expressions -------------------------------------------------------------------------------------------------------


def symbolic(value: Any, where: object) -> Expr:
    """The SymPy expression of a number or a scalar expression; anything else raises, with `where` in the message."""
    if isinstance(value, Expr) and not getattr(value, "is_Matrix", False) and not isinstance(value, sympy.Lambda):
        return value
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, TEXT):
        raise ModelError(f"{where} must be a SymPy expression or a number, not the text {shown(value)}; {REMEDY}")
    if isinstance(value, Sequence | Mapping | Set | np.ndarray | bool | sympy.Basic) or getattr(value, "is_Matrix", False):
        raise ModelError(f"{where} must be a scalar expression, not {type(value).__name__}")
    if not _is_number(value) and not hasattr(value, "_sympy_"):
        raise ModelError(f"{where} must be a SymPy expression or a number, not {shown(value)}")
    try:
        if isinstance(value, int | float | Fraction | Decimal):
            _refuse_beyond(value, where)
        result: Any = _sympify(value)
    except ModelError:
        raise
    except Exception:  # conversions of foreign objects may raise anything
        raise ModelError(f"{where} must be a SymPy expression or a number, not {shown(value)}") from None
    if not isinstance(result, Expr) or getattr(result, "is_Matrix", False):
        raise ModelError(f"{where} must be a scalar expression, not {type(value).__name__}")
    return result


def _is_number(value: Any) -> bool:
    """Whether it is a number of Python, NumPy, fractions or decimals; not a boolean or a duration."""
    if isinstance(value, bool | np.bool_ | np.timedelta64):
        return False
    return isinstance(value, NUMBERS) or (hasattr(value, "__float__") and not isinstance(value, np.ndarray | sympy.Basic))


def _refuse_beyond(value: Any, where: object) -> None:
    """Raises for a number beyond float64, in which everything is computed."""
    if abs(value) > LARGEST_WHOLE_NUMBER and not (isinstance(value, float | Decimal) and math.isinf(value)):
        raise ModelError(f"{where} is {shown(value)}, beyond what a float64 can hold, 1.8e308; check its units")


def out_of_range(text: str, value: float) -> str | None:
    """Why a number given as text cannot be used: it is too large for float64, or so small that it would be 0."""
    if math.isinf(value):
        return "is beyond what a float64 can hold, 1.8e308"
    if value == 0 and any(digit in "123456789" for digit in text.lower().partition("e")[0]):
        return "is smaller than a float64 can hold, 4.9e-324"
    return None


def refuse_large_numbers(nodes: Iterable[Any], where: object) -> None:
    """Raises for integers and fractions in an expression beyond float64."""
    for node in nodes:
        if isinstance(node, sympy.Rational) and abs(node.p) > LARGEST_WHOLE_NUMBER * node.q:
            raise ModelError(f"{where} contains {shown(int(node))}, beyond what a float64 can hold, 1.8e308; check its units")


# -- numbers -----------------------------------------------------------------------------------------------------------


def finite(value: Any, where: str, *, infinite: bool = False) -> float:
    """`value` as a real number, finite unless `infinite`: text, booleans, complex numbers and durations raise."""
    if type(value) is float and (math.isfinite(value) or (infinite and value == math.inf)):
        return value  # fast path: a run of a millisecond reads ten of them
    number = _real(value)
    if number is None:
        raise ModelError(f"{where} must be a number, not {described(value)}")
    if math.isnan(number) or (math.isinf(number) and not infinite):
        raise ModelError(f"{where} must be {'a number' if infinite else 'finite'}, not {described(value)}")
    return number


def is_finite(value: Any) -> bool:
    """Whether `finite` accepts it."""
    number = _real(value)
    return number is not None and math.isfinite(number)


def described(value: Any) -> str:
    """A description of a rejected value."""
    if isinstance(value, TEXT):
        return f"the text {shown(value)}"
    if isinstance(value, np.timedelta64 | np.datetime64):
        return f"{shown(value)}, which is a time with a unit: give seconds"
    return shown(value)


def _real(value: Any) -> float | None:
    """The float of a real number, infinite if it is too large; None for anything else."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (*TEXT, np.datetime64)) or not (_is_number(value) or isinstance(value, Expr)):
        return None
    if isinstance(value, complex | np.complexfloating) or (isinstance(value, Expr) and value.free_symbols):
        return None
    try:
        number = float(value)
    except OverflowError:
        return math.inf
    except Exception:  # the __float__ of a foreign object may raise anything
        return None
    return number if isinstance(number, float) else None


def whole(value: Any, where: str, least: int, most: int | None = None) -> int:
    """`value` as an integer, at least `least` and at most `most`."""
    number = finite(value, where)
    if number != int(number) or number < least:
        raise ModelError(f"{where} must be a whole number, at least {least}, not {described(value)}")
    if most is not None and number > most:
        raise ModelError(f"{where} is {shown(value)}, more than the {most} that can be meant")
    return int(number)


def reals(value: Any, where: str = "an array", *, infinite: bool = True) -> NDArray[np.float64]:
    """An array of real numbers as float64: text, booleans, complex numbers, durations, rows of unequal length and masked
    values raise, so that no imaginary part and no mask is lost."""
    plain = type(value) is np.ndarray and value.dtype == float and value.ndim <= MOST_DIMENSIONS
    if infinite and plain and value.nbytes <= FITS_ANYWHERE:
        return value.copy()
    if np.ma.is_masked(value):
        raise ModelError(f"{where} has masked values; fill them, or leave them out")
    array = as_array(value, where)
    refuse_large(array, where)
    if array.dtype.kind == "O":
        numbers = [_real(x) for x in array.ravel()]
        bad = next((x for x, y in zip(array.ravel(), numbers, strict=True) if y is None), None)
        if None in numbers:
            raise ModelError(f"{where} must be made of numbers, not of {described(bad)}")
        array = np.array(numbers, dtype=float).reshape(array.shape)
    if array.dtype.kind not in "iuf":
        kinds = {"U": "text", "S": "text", "c": "complex numbers", "b": "truth values", "m": "durations", "M": "dates"}
        raise ModelError(f"{where} must be made of numbers, not of {kinds.get(array.dtype.kind, str(array.dtype))}")
    if not infinite and not np.isfinite(array).all():
        raise ModelError(f"{where} must be finite")
    return array.astype(float)


def unmasked(value: Any) -> Any:
    """Masked entries as gaps, NaN: a masked number was not measured."""
    return np.ma.filled(np.ma.asarray(value, dtype=float), np.nan) if np.ma.is_masked(value) else value


def within_ends(times: NDArray[np.float64], first: Any, last: Any) -> NDArray[np.float64]:
    """The times, with those that lie outside a run by rounding alone at its end: 3*0.1 is more than 0.3."""
    low, high = np.minimum(first, last), np.maximum(first, last)
    rounding = TIME_SPACINGS * np.spacing(np.maximum(np.abs(low), np.abs(high)))
    clipped = np.clip(times, low, high)
    return np.where(np.abs(times - clipped) <= rounding, clipped, times)


def reals_together(**given: Any) -> list[NDArray[np.float64]]:
    """Arrays of real numbers, by name, broadcast to one shape; incompatible ones raise."""
    arrays = {name: reals(value, name) for name, value in given.items()}
    try:
        return [array.copy() for array in np.broadcast_arrays(*arrays.values())]
    except (ValueError, RuntimeError):  # incompatible shapes, or more than 32 dimensions
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise ModelError(f"these arrays have shapes that do not fit together: {shapes}") from None


def as_array(value: Any, where: str) -> NDArray[Any]:
    """`np.asarray` of any object; rows of unequal length, and unreadable objects, raise."""
    refuse_large(value, where)
    try:
        array = np.asarray(value)
    except Exception:  # rows of unequal length, or an arbitrary __array__
        raise ModelError(f"{where} must be an array of numbers, not {shown(value)}") from None
    if array.ndim > MOST_DIMENSIONS:
        raise ModelError(f"{where} has {array.ndim} dimensions; nothing here has more than {MOST_DIMENSIONS}")
    return array


FITS_ANYWHERE = 2**20
"""Bytes below which the memory of the machine is not checked."""


def memory() -> int:
    """The memory of this machine in bytes; larger arrays are never created."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 2**36


def refuse_large(array: Any, where: object, *, width: int = 8) -> None:
    """Raises for an array too large for memory, as `np.broadcast_to` can create at no cost."""
    count = getattr(array, "size", 0)
    if isinstance(count, int | np.integer) and count * width > FITS_ANYWHERE:
        refuse_many(int(count), f"{where}: {int(count)} entries", width=width)


def refuse_many(count: int, what: str, *, width: int = 8) -> None:
    """Raises if `count` numbers of `width` bytes do not fit into memory; `what` begins the message."""
    if count * width > memory():
        available = f"{memory() / 2**30:.3g} GiB"
        raise ModelError(f"{what} take {count * width / 2**30:.3g} GiB, and this machine has {available}; ask for fewer")


def items_of(values: Any, where: object, *, most: int = 10**6) -> list[Any]:
    """The entries of a list, tuple, array, matrix or iterator; text, mappings and objects that cannot be iterated raise."""
    if isinstance(values, (*TEXT, Mapping)) or not (isinstance(values, Iterable) or hasattr(values, "__getitem__")):
        raise ModelError(f"{where} must be a list, not {described(values)}")
    refuse_large(values, where)
    try:
        entries = list(islice(iter(values), most + 1))
    except Exception:  # a foreign iterator may raise anything
        raise ModelError(f"{where} must be a list, not {shown(values)}") from None
    if len(entries) > most:
        raise ModelError(f"{where} has over {most} entries")
    return entries


def table_of(values: Any, where: object) -> Mapping[Any, Any]:
    """A mapping; empty for None."""
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise ModelError(f"{where} is a mapping, {{symbol: value, …}}, not {described(values)}")
    return values


def truth(value: Any, where: str) -> bool:
    """True or False, nothing else."""
    if not isinstance(value, bool | np.bool_):
        raise ModelError(f"{where} is True or False, not {described(value)}")
    return bool(value)


def text(value: Any, where: str) -> str:
    """A text, nothing else."""
    if not isinstance(value, str):
        raise ModelError(f"{where} is a text, not {shown(value)}")
    return value


def one_of(value: Any, known: Iterable[str], before: str) -> str:
    """One of the known words; an error message begins with `before` and the given value: "base='flying'"."""
    words = list(known)
    if not isinstance(value, str) or value not in words:
        raise ModelError(f"{before}{shown(value)}; choose one of {', '.join(map(repr, words))}")
    return value


def answered_by(function: Callable[..., Any], where: str, *given: Any) -> Any:
    """The result of a user's function; anything it raises is reported as an error in that argument."""
    try:
        return function(*given)
    except Exception as error:  # it may raise anything
        raise ModelError(f"{where} raised {type(error).__name__}: {shown(str(error))}") from error


def text_of(key: Any) -> str:
    """The name of a key in a table: a text unchanged, a symbol by its text; anything else, which is in no table, shortened."""
    if isinstance(key, str):
        return key
    return str(key) if isinstance(key, sympy.Basic) else shown(key)


def name_in(value: Any) -> str:
    """The short name of an object for messages and tables: its name, a text, or a description."""
    name = getattr(value, "name", value)
    if isinstance(name, str):
        return name if len(name) <= VALUE_CHARACTERS else f"{name[: VALUE_CHARACTERS - 20]} …"
    try:
        text = str(name) if isinstance(name, sympy.Basic) else shown(name)
    except Exception:  # the __str__ of a foreign object may raise anything
        return f"<{type(name).__name__}>"
    return text if len(text) <= VALUE_CHARACTERS else f"{text[: VALUE_CHARACTERS - 20]} …"


# -- files -------------------------------------------------------------------------------------------------------------


def path_of(path: Any, who: str) -> Path:
    """The path of a file; `~` is the home folder."""
    if not isinstance(path, str | os.PathLike) or isinstance(path, bytes) or "\0" in str(path):
        raise ModelError(f"{who} takes the path of a file, not {shown(path)}")
    try:
        expanded = Path(path).expanduser()
        expanded.exists()
    except OSError as error:  # a name that is too long, circular links, a folder without permission
        raise FileError(f"{who} cannot use the path {shown(str(path))}: {error.strerror or error}") from None
    except (RuntimeError, ValueError, TypeError):
        raise ModelError(f"{who} takes the path of a file, not {shown(path)}") from None
    return expanded


def missing(path: Path) -> FileError:
    """The error for a missing file; it names the folder that was searched."""
    if path.is_dir():
        return FileError(f"{shown(str(path))} is a folder; name a file in it")
    folder = path.absolute().parent
    no_folder = "" if folder.is_dir() else ", and no such folder"
    return MissingFile(f"there is no file {shown(path.name)} in {folder}{no_folder}")
