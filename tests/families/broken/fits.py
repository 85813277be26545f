"""Breakages of fits."""

from __future__ import annotations

from tests.families.broken.breakage import Breakage

BREAKAGES = [
    Breakage(
        "attempts are compared by their squares, whatever the loss",
        "optimize/fit_search.py",
        '        fits.sort(key=lambda fit: (self._misfit(fit), not fit.success))',
        '        fits.sort(key=lambda fit: (self._unexplained(fit), not fit.success))',
        {
            "fits.attempts_with_outliers": (0, 2, 3),
        },
    ),
    Breakage(
        "all values of a record are degrees of freedom of every channel",
        "optimize/uncertainty.py",
        "        return max(len(self.r) * min(self.slope, 1.0) - used, 1.0)",
        "        return float(len(self.rows))",
        {
            "fits.freedoms_of_channels": (0, 1),
        },
    ),
    Breakage(
        "errors of robust losses are not corrected for few values",
        "optimize/uncertainty.py",
        "        K = 1 + used / n * float(np.var(self.loss.weight(self.r))) / a**2",
        "        K = 1.0",
        {
            "fits.losses_with_few_values": (7, 11),
        },
    ),
    Breakage(
        "a loss is better than squares on a few values of normal noise",
        "optimize/uncertainty.py",
        " / max(n - used, 1.0), a**2)",
        " / max(n - used, 1.0), 0.0)",
        {
            "fits.losses_with_few_values": (0, 1),
        },
    ),
    Breakage(
        "a hundredth of a direction does not take part in it",
        "optimize/uncertainty.py",
        "    return np.minimum(n * error * np.linalg.norm(W, axis=1), TAKES_PART)",
        "    return np.full(n, TAKES_PART)",
        {
            "fits.members_of_a_sum": (0, 1),
        },
    ),
    Breakage(
        "a measured quantity has the name under which it is written",
        "optimize/experiments.py",
        "    return str(expression) if expression in states else str(key)",
        "    return str(key)",
        {
            "fits.one_quantity_has_one_name": (0, 4),
        },
    ),
    Breakage(
        "row numbers are seconds",
        "motion/foreign_data.py",
        "        return table if has_times or not _is_time(data.index) else",
        "        return table if has_times else",
        {
            "fits.times_of_a_frame": (0, 4),
        },
    ),
    Breakage(
        "motions are computed after the last value",
        "optimize/experiments.py",
        '    return min(int(np.argmax(channel.present[::-1])) for channel in channels)',
        "    return 0",
        {
            "fits.ends_without_values": (0, 1),
        },
    ),
    Breakage(
        "a bound is near in units of the first guess",
        "optimize/fit_result.py",
        "min(AT_BOUND * error, 1e-6 * max(abs(b), one.size))",
        "1e-6 * max(abs(b), one.size)",
        {
            "fits.far_guesses_are_no_bounds": (0,),
        },
    ),
]
