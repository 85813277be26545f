"""Where rows, directions and pivots end and rounding begins: every threshold of the package's linear algebra, with its reason.

Shares are relative to the largest singular value of a matrix whose rows have been scaled to length 1, or whose velocities are
measured by their inertia: lengths, masses, times and factors of rows drop out, so that a system in micrometres or in tonnes is
judged alike. Two scales recur. Entries of rows come from the graph and are good to some ε of their terms. And a matrix that is
formed of rows twice, G = A M⁻¹ Aᵀ or the saddle point with A above and below, has the *square* of their sines as its singular
values, so that its threshold is the square of theirs.
"""

from __future__ import annotations

import numpy as np

EPSILON = float(np.finfo(float).eps)

# -- rows whose terms are known (RowSpace) -----------------------------------------------------------------------------------

RANK_INDEPENDENT = 1e-6
"""σ above which rows are independent: accelerations keep 4 digits, since they lose ε/σ²."""

RANK_DEPENDENT = 1e-10
"""σ below which rows are dependent, rounding apart, which `RowSpace` knows: between the two nothing is computed."""

PIVOT_INDEPENDENT = 1e-2
"""Pivots above which rows are independent without a singular value decomposition."""

EMPTY = 1e-12
"""A row below this share of its terms is what rounding leaves of them."""

ROUNDINGS = 30 * EPSILON
"""What the many roundings of an evaluation may leave of a value, relative to its size."""

# -- rows alone --------------------------------------------------------------------------------------------------------------

RANK_LOST = 1e-9
"""σ of unit rows below which a combination of them vanishes: six digits above the rounding of entries, since a row may be the
difference of terms a thousand times its size, at states that are found to about 1e-12; four below a row that means it."""

ROW_EMPTY = 64 * EPSILON
"""A row shorter than this share of the longest is what rounding left of none, where the sizes of its terms are not known."""

SLIDING_LOST = 1e-7
"""σ of unit rows below which a combination is left alone while a state slides along the others: the state is only near the
constraints there, and rows that are dependent on them are √ε apart beside them."""

COLUMNS_FULL = EPSILON
"""Share, times the larger dimension, for matrices of full rank by construction (N of q̇ = N v, bases, lifts): rounding alone."""

# -- matrices that contain rows twice ----------------------------------------------------------------------------------------

GRAM_LOST = RANK_INDEPENDENT**2
"""Share of the largest singular value of A M⁻¹ Aᵀ, scaled to a diagonal of 1, or of a scaled saddle point, below which rows
depend on each other: the square of `RANK_INDEPENDENT`."""

GRAM_PLAIN = 1e-9
"""Pivot of A M⁻¹ Aᵀ, relative to its diagonal, above which rows are plainly independent, at a sine of 3e-5: accelerations keep
six digits. Where it is below, a state is looked at more carefully."""

PIVOT = 1e-12
"""A pivot below this share of its diagonal entry is singular (for G: sin² of the angle between rows, as in `GRAM_LOST`)."""

PIVOT_VANISHED = 1e-11
"""An entry below this share of what it was the difference of is rounding, and no pivot."""

ROW_LOST = 1e-9
"""A row shorter than this share of the longest, both in the kinetic metric, is not scaled to length 1 in a saddle point: where
the terms of a row are not known, what rounding left of one must not be made a constraint."""

NOT_BORNE = 1e-9
"""Share of its terms by which a saddle point may miss its right-hand side where the rows that depend on each other agree."""

UNDETERMINED = 1e-7
"""Entry of a unit vector of the kernel of a saddle point, in its velocities, above which they are not determined."""

# -- steps of Newton's method ------------------------------------------------------------------------------------------------

NEWTON_LOST = 1e-12
"""Share below which a direction is left out of a step with slopes from the graph, which are good to ε: another decade or two
is their condition. A larger share would stall where roots meet, a smaller one leap along rounding."""

DIFFERENCED_LOST = 1e-6
"""The same with slopes by differences: a step of √ε leaves them seven digits."""

VARIED_LOST = 1e-9
"""The same with slopes integrated along a motion (Φ to 1e-11 and growing)."""

FAMILY_LOST = 1e-7
"""The same for orbits, which come in families (of energies, of phases): Φ of a whole period has lost some digits more, and a
family must not be walked along by its noise."""

# -- masses of very different sizes ------------------------------------------------------------------------------------------

DISPARATE = 1e7
"""Ratio of A_ij²/M_jj within a row beyond which A M⁻¹Aᵀ loses half of its digits."""

CHANCE = 1e-8
"""Of an entry, where every row and every column has been scaled to a largest entry of 1: below it nothing is tied, as in a
direction that is square to another but for the rounding of the numbers that were given."""

CONDITION_SAFE = 1e8
"""Condition of M, scaled to a diagonal of 1, that is far from singular."""

TERMS_SAFE = 1e10
"""Size of the terms of a row against its length up to which rounding is far from taking the row."""

MASSLESS = 1e-12
"""λ_min of M scaled to a unit diagonal below which a motion counts as massless."""

ROW_VANISHING = 1e-2
"""Redundant rows: one whose G_ii is below this share of the largest, a row about to vanish, is taken after longer ones."""

ROWS_CONTRADICT = 1e-6
"""A residual A a + a0 above this share of its terms: the rows contradict each other."""
