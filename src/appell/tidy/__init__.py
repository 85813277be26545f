"""Short forms of expressions of mechanics, without the risk of making them longer.

    E = Σ c(t, q) × (a product of velocities, accelerations, multipliers)

Lagrange's expressions are such sums with few terms, however they were derived. An expression is expanded only if a count
beforehand shows that the sum stays small; sin² + cos² = 1 and the addition theorems are used. Of several forms the shortest is
built: drafts and `Sum`s know their length before they become expressions.
"""

from appell.tidy.angle_sums import terms_expanded
from appell.tidy.factor import Factoring, factored_out
from appell.tidy.measure import characters, length, nodes, of_object, parts
from appell.tidy.polynomial import Polynomial
from appell.tidy.regroup import regrouped
from appell.tidy.sharing import Sharing
from appell.tidy.short import EXPANDED_TERM_LIMIT, collected, count, inside_out, is_product, shorter
from appell.tidy.sums import Sum, read
from appell.tidy.terms import rational
from appell.tidy.wave_products import as_wave_product, with_wave_products

__all__ = [
    "EXPANDED_TERM_LIMIT",
    "Factoring",
    "Polynomial",
    "Sharing",
    "Sum",
    "as_wave_product",
    "characters",
    "collected",
    "count",
    "factored_out",
    "inside_out",
    "is_product",
    "length",
    "nodes",
    "of_object",
    "parts",
    "rational",
    "read",
    "regrouped",
    "shorter",
    "terms_expanded",
    "with_wave_products",
]
