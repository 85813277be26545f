"""Short ways to write an expression of mechanics, without the risk of a long one.

    E = Σ c(t, q) × (a product of velocities, accelerations, multipliers)

Lagrange's expressions are such sums with few terms, however they were derived. An expression is multiplied out only where a
count beforehand says that the sum stays small; sin² + cos² = 1 and sines and cosines of sums are used. Of several ways to
write it the shortest is made: a `Draft` knows its length before it is an expression.
"""

from appell.tidy.factor import factored_out
from appell.tidy.measure import characters, length, nodes, parts
from appell.tidy.polynomial import Polynomial, terms_expanded
from appell.tidy.short import SMALL, collected, inside_out

__all__ = [
    "SMALL",
    "Polynomial",
    "characters",
    "collected",
    "factored_out",
    "inside_out",
    "length",
    "nodes",
    "parts",
    "terms_expanded",
]
