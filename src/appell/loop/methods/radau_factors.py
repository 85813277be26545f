"""C source of the LU factors of `radau.c.in`: one text, `radau_factors.c.in`, written for real and for complex numbers."""

from __future__ import annotations

from appell.backends.text.templates import template

FACTOR_WORDS = {
    "OF(name)": ("name", "name##_complex"),
    "MATRIX": ("double *A", "double *A, double *B"),
    "CONST_MATRIX": ("const double *A", "const double *A, const double *B"),
    "VECTOR": ("double *b", "double *b, double *c"),
    "SIZE(k)": ("fabs(A[k])", "(fabs(A[k]) + fabs(B[k]))"),
    "INVERT(k)": (
        "A[k] = 1/A[k]",
        "const double norm = 1/(A[k]*A[k] + B[k]*B[k]); A[k] *= norm, B[k] *= -norm",
    ),
    "EXCHANGE(k, l)": (
        "{ const double x = A[k]; A[k] = A[l], A[l] = x; }",
        "{ double x = A[k]; A[k] = A[l], A[l] = x, x = B[k], B[k] = B[l], B[l] = x; }",
    ),
    "FACTOR(k, by)": (
        "const double f = A[k] *= A[by]",
        "const double f = A[k]*A[by] - B[k]*B[by], g = B[k]*A[by] + A[k]*B[by]; A[k] = f, B[k] = g",
    ),
    "FACTOR_SIZE": ("fabs(f)", "(fabs(f) + fabs(g))"),
    "ELIMINATE(k, by)": ("A[k] -= f*A[by]", "A[k] -= f*A[by] - g*B[by], B[k] -= f*B[by] + g*A[by]"),
    "EXCHANGE_RIGHT(k, l)": (
        "{ const double x = b[k]; b[k] = b[l], b[l] = x; }",
        "{ double x = b[k]; b[k] = b[l], b[l] = x, x = c[k], c[k] = c[l], c[l] = x; }",
    ),
    "TAKE(i)": ("double x = b[i]", "double x = b[i], y = c[i]"),
    "SUBTRACT(k, j)": ("x -= A[k]*b[j]", "x -= A[k]*b[j] - B[k]*c[j], y -= A[k]*c[j] + B[k]*b[j]"),
    "PUT(i)": ("b[i] = x", "b[i] = x, c[i] = y"),
    "PUT_TIMES(i, k)": ("b[i] = x*A[k]", "b[i] = x*A[k] - y*B[k], c[i] = y*A[k] + x*B[k]"),
}
"""Words of `radau_factors.c.in` for real matrices A and right-hand sides b, and for complex ones A + i B, b + i c."""


def factors_text() -> str:
    """C source of the factors, for real and for complex numbers."""
    text = template("loop/methods/radau_factors.c.in")
    forget = "\n".join(f"#undef {word.partition('(')[0]}" for word in FACTOR_WORDS)
    defines = ["\n".join(f"#define {word} {kinds[k]}" for word, kinds in FACTOR_WORDS.items()) for k in (0, 1)]
    return "\n".join(f"{words}\n{text}{forget}" for words in defines)


__all__ = ["factors_text"]
