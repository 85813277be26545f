"""Breakages of what is computed along runs: extremes, integrals, zeros, accelerations, sections."""

from __future__ import annotations

from tests.families.broken.breakage import Breakage

BREAKAGES = [
    Breakage(
        "extremes of single runs are those of the nodes",
        "reductions/followed.py",
        '        rows = _high(sign * candidates.g, j)\n',
        '        rows = _high(sign * candidates.g, j) & False\n',
        {
            "reductions.a_sharp_expression_in_free_flight": (0,),
            "reductions.motions_of_every_kind": (1, 5),
        },
    ),
    Breakage(
        "samples are trusted however rough an expression is between them",
        "graph/ranges.py",
        'ca.vertcat(*(getattr(r, name) for r in outputs))',
        'ca.vertcat(*(ca.SX(0) if name == "rough" else getattr(r, name) for r in outputs))',
        {
            "reductions.a_sharp_expression_in_free_flight": (4, 7),
        },
    ),
    Breakage(
        "accelerations in contact are those of free flight",
        "reductions/accelerations.py",
        '            a[rows] = self._touching(contacts, ',
        '            a[rows] = self._touching((), ',
        {
            "reductions.accelerations_are_those_of_the_mode": (0, 4),
        },
    ),
    Breakage(
        "accelerations of a run are those of its first mode",
        "reductions/accelerations.py",
        'side="right") - 1, 0, None)\n',
        'side="right") - 1, 0, 0)\n',
        {
            "reductions.accelerations_of_friction": (0, 1),
        },
    ),
    Breakage(
        "a jump over zero counts as a crossing",
        "reductions/followed.py",
        '    same_piece = np.append(False, row[1:] == row[:-1])\n',
        '    same_piece = np.append(False, row[1:] >= row[:-1])\n',
        {
            "reductions.paths_agree_on_a_jump_over_zero": (0, 3),
        },
    ),
    Breakage(
        "an integral that misses its tolerance is not named",
        "reductions/kinds.py",
        '        lost=lambda numbers, way, rtol, atol: ~(numbers[:, 2] <= rtol * numbers[:, 1] + atol),\n',
        '        lost=lambda numbers, way, rtol, atol: numbers[:, 2] < 0,\n',
        {
            "reductions.what_cannot_be_held_says_so": (0,),
        },
    ),
    Breakage(
        "an expression changes its sign between the ends of steps alone",
        "motion/zeros.py",
        '        brackets = isolated(self.expression.guard, steps.powers, steps.middle, steps.half, p, varying)\n',
        '        brackets = isolated(self.expression.guard, steps.powers, steps.middle, steps.half, p, varying[:0])\n',
        {
            "unseen_walls.sections_of_small_sets_are_crossed": (0, 1),
        },
    ),
    Breakage(
        "terms that are large near a pole count as rounding of an extreme",
        "reductions/followed.py",
        '    below = lambda p: (upper(p) <= best + unit) & (upper(p) < np.inf)\n',
        '    below = lambda p: (upper(p) <= best + unit + RULE_ROUNDING * p.terms) & (upper(p) < np.inf)\n',
        {
            "reductions.an_extreme_beside_poles": (2, 6),
        },
    ),
    Breakage(
        "each interval of a section begins without the sign before it",
        "analysis/many/sections.py",
        'np.unique(sign * motion.t), motion_at, self.zeros)\n',
        'np.unique(sign * motion.t), motion_at)\n',
        {
            "resting_sections.a_section_that_rests_at_zero_is_crossed": (0, 2),
        },
    ),
    Breakage(
        "times in a step have one rounding",
        "motion/dense.py",
        'LAST_DIGITS_OF_TIMES = 4.0\n',
        'LAST_DIGITS_OF_TIMES = 1.0\n',
        {
            "resting_sections.no_crossing_where_slips_end": (0, 3),
        },
    ),
    Breakage(
        "an exact zero is no jump",
        "motion/zeros.py",
        '        jump[exact] = np.maximum(*values_beside) > JUMP_LEFT * self._largest(k)\n',
        '        jump[exact] = np.maximum(*values_beside) < 0\n',
        {
            "resting_sections.a_sign_jumps_over_zero": (0, 5),
        },
    ),
    Breakage(
        "a zero that lasts by rounding is a jump",
        "motion/zeros.py",
        'np.where(ahead == behind, largest[tiny] > rounding, ~',
        'np.where(ahead == behind, True, ~',
        {
            "resting_sections.multiple_zeros_are_crossed": (0, 4, 5),
        },
    ),
    Breakage(
        "the sign of an expression is that of its bounds, even without a value",
        "motion/zeros.py",
        'np.where(np.isnan(self.expression.at(*inputs)), 0.0,',
        'np.where(False, 0.0,',
        {
            "resting_sections.no_crossing_without_a_value": (1, 2),
        },
    ),
]
