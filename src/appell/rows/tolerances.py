"""The thresholds between rows, directions or pivots and rounding, for all linear algebra of the package, each with its reason.

Fractions are relative to the largest singular value of a matrix whose rows are scaled to length 1, or whose velocities are
scaled by their inertia: lengths, masses, times and factors of rows drop out, so that systems in micrometres and in tonnes are
treated alike. Two scales recur. Entries of rows come from the graph and are accurate to a few ε of their terms. And a matrix
that contains rows twice, G = A M⁻¹ Aᵀ or the saddle point with A above and below, has the *square* of their sines as its
singular values, so its threshold is the square of theirs.
"""

from __future__ import annotations

import numpy as np

EPSILON = float(np.finfo(float).eps)

# -- rows whose terms are known (RowSpace) -----------------------------------------------------------------------------------

RANK_INDEPENDENT = 1e-6
"""σ above which rows are independent: accelerations keep 4 digits, since they lose ε/σ²."""

RANK_DEPENDENT = 1e-10
"""σ below which rows are dependent, apart from rounding, which `RowSpace` computes; between the two nothing is computed."""

PIVOT_INDEPENDENT = 1e-2
"""Pivots above which rows are independent without a singular value decomposition."""

EMPTY = 1e-12
"""A row below this fraction of its terms is only rounding."""

ROUNDINGS = 30 * EPSILON
"""Accumulated rounding error of an evaluation, relative to the size of the value."""

# -- rows alone --------------------------------------------------------------------------------------------------------------

RANK_LOST = 1e-9
"""σ of unit rows below which a combination of them vanishes: six digits above the rounding of entries, since a row may be the
difference of terms a thousand times its size, at states known to about 1e-12; and four digits below any intended row."""

ROW_SHARE = 1e-4
"""Share of a row in a vanishing combination of unit rows above which it takes part: states on such rows are known to √ε."""

ROW_EMPTY = 64 * EPSILON
"""A row shorter than this fraction of the longest is only rounding, where the sizes of its terms are not known."""

SLIDING_LOST = 1e-7
"""σ of unit rows below which a combination is ignored while a state slides along the others: the state is only near the
constraints, and rows that are dependent on them differ by √ε nearby."""

COLUMNS_FULL = EPSILON
"""Fraction, times the larger dimension, for matrices of full rank by construction (N of q̇ = N v, bases, lifts)."""

# -- matrices that contain rows twice ----------------------------------------------------------------------------------------

GRAM_LOST = RANK_INDEPENDENT**2
"""Fraction of the largest singular value of A M⁻¹ Aᵀ, scaled to a diagonal of 1, or of a scaled saddle point, below which rows
are dependent: the square of `RANK_INDEPENDENT`."""

GRAM_PLAIN = 1e-9
"""Pivot of A M⁻¹ Aᵀ, relative to its diagonal, above which rows are clearly independent, at a sine of 3e-5: accelerations keep
six digits. Below it, a state is examined more carefully."""

PIVOT = 1e-12
"""A pivot below this fraction of its diagonal entry is singular (for G: sin² of the angle between rows, as in `GRAM_LOST`)."""

PIVOT_VANISHED = 1e-11
"""An entry below this fraction of the terms of which it is the difference is rounding, and not a pivot."""

ROW_LOST = 1e-9
"""A row shorter than this fraction of the longest, both in the kinetic metric, is not scaled to length 1 in a saddle point: if
the terms of a row are not known, rounding must not become a constraint."""

NOT_BORNE = 1e-9
"""Fraction of its terms by which a saddle point may miss its right-hand side if dependent rows are consistent."""

UNDETERMINED = 1e-7
"""Entry of a unit vector of the kernel of a saddle point, in its velocities, above which they are not determined."""

# -- steps of Newton's method ------------------------------------------------------------------------------------------------

NEWTON_LOST = 1e-12
"""Fraction below which a direction is left out of a Newton step with slopes from the graph, which are accurate to ε; their
condition costs another digit or two. A larger fraction would stall where roots meet, a smaller one would follow rounding."""

DIFFERENCED_LOST = 1e-6
"""The same with slopes by differences: a step of √ε leaves them seven digits."""

VARIED_LOST = 1e-9
"""The same with slopes integrated along a motion (Φ to 1e-11 and growing)."""

FAMILY_LOST = 1e-7
"""The same for orbits, which come in families (of energies, of phases): Φ of a whole period has lost a few more digits, and its
noise must not move the iteration along a family."""

# -- masses of very different sizes ------------------------------------------------------------------------------------------

DISPARATE = 1e7
"""Ratio of A_ij²/M_jj within a row beyond which A M⁻¹Aᵀ loses half of its digits."""

CHANCE = 1e-8
"""Entry, with every row and column scaled to a largest entry of 1, below which there is no coupling: two directions that are
perpendicular except for the rounding of the given numbers."""

CONDITION_SAFE = 1e8
"""Condition number of M, scaled to a diagonal of 1, below which it is far from singular."""

TERMS_SAFE = 1e10
"""Ratio of the terms of a row to its length up to which rounding hardly affects the row."""

MASSLESS = 1e-12
"""λ_min of M scaled to a unit diagonal below which a motion counts as massless."""

ROW_VANISHING = 1e-2
"""Fraction of the largest G_ii below which a redundant row, about to vanish, is taken after longer ones."""

ROWS_CONTRADICT = 1e-6
"""A residual A a + a0 above this fraction of its terms means that the rows contradict each other."""
