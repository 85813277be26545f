"""One algebra of rows: row spaces, kernels, ranks, least squares and saddle points, and the tolerances of them all.

The only room that calls a singular value decomposition or a least-squares solver. It knows numbers, not mechanics: rows come as
arrays, with the metric and the sizes of their terms where these are known.
"""

from appell.rows.decompositions import (
    Singular,
    in_columns,
    inverse_on_range,
    least_squares,
    left_inverse,
    null_space,
    plainly_independent,
    range_of_projection,
    rank,
    regular,
    row_basis,
    singular,
    singular_values,
    unit_diagonal,
    unit_rows,
)
from appell.rows.dependent_saddle import SaddlePoint, least_change, response, saddle_point
from appell.rows.disparity import balanced, clearly_full, disparity, lengths
from appell.rows.row_space import RowSpace
from appell.rows.saddle_points import CHOLESKY, ELIMINATE, LU, RANK, Policy, accelerations, broken, solve
from appell.rows.tolerances import (
    DIFFERENCED_LOST,
    DISPARATE,
    EMPTY,
    FAMILY_LOST,
    GRAM_LOST,
    GRAM_PLAIN,
    MASSLESS,
    NEWTON_LOST,
    PIVOT,
    RANK_LOST,
    ROUNDINGS,
    SHORT,
    SLIDING_LOST,
    VANISHED,
    VARIED_LOST,
)

__all__ = [
    "CHOLESKY", "DIFFERENCED_LOST", "DISPARATE", "ELIMINATE", "EMPTY", "FAMILY_LOST", "GRAM_LOST", "GRAM_PLAIN", "LU",
    "MASSLESS", "NEWTON_LOST", "PIVOT", "RANK", "RANK_LOST", "ROUNDINGS", "SHORT", "SLIDING_LOST", "VANISHED",
    "VARIED_LOST", "Policy", "RowSpace", "SaddlePoint", "Singular", "accelerations", "balanced", "broken",
    "clearly_full", "disparity", "in_columns", "inverse_on_range", "least_change", "least_squares", "left_inverse",
    "lengths", "null_space", "plainly_independent", "range_of_projection", "rank", "regular", "response", "row_basis",
    "saddle_point", "singular", "singular_values", "solve", "unit_diagonal", "unit_rows",
]  # fmt: skip
