"""Sine and cosine as C text: polynomials on vectors, inlined into the function that calls them.

    appell_sincos{L}(x, &s, &c)             L doubles, |x| < limit                  (floats: appell_sincosf{L})
    appell_sincos{L}_any(x, &s, &c)         L doubles without a limit: beyond it, and for inf and NaN, by libm

Measured over 10⁶ arguments and next to multiples of π/2: at most 0.80 ulp (double). Where the compiler may not contract
a*b + c to one rounding ("exact"), or the CPU has no such instruction, `_any` uses libm and the first does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from appell.backends.text.templates import template


@dataclass(frozen=True)
class Precision:
    """The constants of `sincos.c.in` for one format: arguments below `limit`, π/2 = Σ parts, S(z) and C(z)."""

    scalar: str
    integer: str
    size: int  # bytes
    suffix: str  # of names and literals
    shift: float  # adding it rounds to an integer, whose last bits are at the end of the mantissa
    limit: float
    parts: tuple[float, float, float]
    sine: tuple[float, ...]
    cosine: tuple[float, ...]


DOUBLE = Precision(
    scalar="double",
    integer="long long",
    size=8,
    suffix="",
    shift=2.0**52,
    limit=1.6e6,  # n < 2²⁰
    parts=(1.5707963267948966, 6.12323399538461e-17, 3.5215598651832e-27),  # 53, 33 and 53 bits
    sine=(
        *(-0.1666666666666663, 0.00833333333332184, -0.0001984126982935851),
        *(2.7557313538498488e-06, -2.5050734385278113e-08, 1.589543297380573e-10),
    ),
    cosine=(
        *(0.041666666666666595, -0.0013888888888873342, 2.4801587289002076e-05),
        *(-2.755731421703596e-07, 2.087570539529027e-09, -1.1358749181402749e-11),
    ),
)

SINGLE = Precision(
    scalar="float",
    integer="int",
    size=4,
    suffix="f",
    shift=2.0**23,
    limit=6.4e3,  # n < 2¹²
    parts=(1.5707963705062866, -4.371395334601402e-08, 2.5633440682570896e-12),  # 24, 12 and 24 bits
    sine=(-0.16666655242443085, 0.008332189172506332, -0.00019518291810527444),
    cosine=(0.04166664555668831, -0.0013887309469282627, 2.4432327336398885e-05),
)

TWO_OVER_PI = 0.6366197723675814
PACKS = (2, 4, 8)  # lanes of `_any`, each made of two smaller ones where the CPU has no such register
# lanes: the register, and how all lanes of the comparison `near` are read at once
REGISTERS = {
    2: ("__GNUC__", "__SSE2__", "(__builtin_ia32_movmskpd((@V@) near) == 3)"),
    4: ("__AVX__", "__AVX__", "(__builtin_ia32_movmskpd256((@V@) near) == 15)"),
    8: ("__AVX512F__", "__AVX512DQ__", "(__builtin_ia32_cvtq2mask512(near) == 255)"),
}
# defined by c_build where contraction is allowed; here checked for the CPU
GUARD = """\
#if defined(APPELL_CONTRACTED) && (defined(__FMA__) || defined(__aarch64__))
#define APPELL_POLYNOMIAL
#endif
"""


def vector(precision: Precision, lanes: int) -> str:
    """The name of the vector type."""
    return f"Appell{precision.scalar.capitalize()}{lanes}"


def sincos_source(precision: Precision, lanes: int) -> str:
    """The vector types, and `appell_sincos…` on `lanes` numbers."""
    return filled("sincos.c.in", {}, precision, lanes)


def packs_source() -> str:
    """`appell_sincos…_any` for each size of PACKS."""
    texts = [GUARD]
    for lanes in PACKS:
        register, masked, mask = REGISTERS[lanes]
        libm = (f"    (*{to})[{k}] = {f}(x[{k}]);" for to, f in (("s", "sin"), ("c", "cos")) for k in range(lanes))
        values = {"register": register, "masked": masked, "mask": mask, "libm": "\n".join(libm)}
        values |= {"H": vector(DOUBLE, lanes // 2), "half_name": f"appell_sincos{lanes // 2}"}
        texts += [sincos_source(DOUBLE, lanes), filled("sincos_any.c.in", values, DOUBLE, lanes)]
    return "\n".join(texts)


def _constants(precision: Precision, lanes: int) -> dict[str, str]:
    number = lambda value: f"{value!r}{precision.suffix}"
    return {
        "name": f"appell_sincos{precision.suffix}{lanes}",
        "V": vector(precision, lanes),
        "I": f"{vector(precision, lanes)}Bits",
        "scalar": precision.scalar,
        "integer": precision.integer,
        "lanes": str(lanes),
        "suffix": precision.suffix,
        "bytes": str(precision.size * lanes),
        "sign": f"(({precision.integer}) (1ULL << {8 * precision.size - 1}))",
        "to_sign": str(8 * precision.size - 2),
        "two_over_pi": number(TWO_OVER_PI),
        "shift": number(precision.shift),
        "limit": number(precision.limit),
        "half": number(0.5),
        "one": number(1.0),
        "S": _estrin([number(c) for c in precision.sine]),
        "C": _estrin([number(c) for c in precision.cosine]),
        **{f"P{k}": number(part) for k, part in enumerate(precision.parts, start=1)},
    }


def filled(name: str, values: Mapping[str, str], precision: Precision, lanes: int, room: str = "text") -> str:
    """The file `name` of a room with the constants of a precision, and other `values`, substituted for @…@."""
    text = template(f"backends/{room}/{name}")
    for key, value in {**values, **_constants(precision, lanes)}.items():
        text = text.replace(f"@{key}@", value)
    return text


def _estrin(c: list[str]) -> str:
    """(c0 + c1 z) + z²((c2 + c3 z) + z² …): the pairs are independent."""
    pairs = [f"({a} + {b}*z)" for a, b in zip(c[::2], c[1::2], strict=False)] + ([c[-1]] if len(c) % 2 else [])
    text = pairs[-1]
    for pair in pairs[-2::-1]:
        text = f"({pair} + z2*{text})"
    return text
