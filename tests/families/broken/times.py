"""Breakages of times far from zero, measured records, interrupts and threads, and of the figures of the table of trust."""

from __future__ import annotations

from tests.families.broken.breakage import Breakage

BREAKAGES = [
    Breakage(
        "systems are judged between 0.1 and 1 s, whatever the times of their tables",
        "normal_form/sampling.py",
        '        return times or None',
        '        return None',
        {
            "offsets.prescribed_motions_at_any_time": (0, 1),
        },
    ),
    Breakage(
        "functions are fitted to more digits than late times have",
        "tabulated.py",
        '    return TIME_SPACINGS_OF_FIT * slope',
        '    return 0 * slope',
        {
            "offsets.prescribed_motions_at_any_time": (1, 5),
        },
    ),
    Breakage(
        "a time beyond the end by its last bit is outside",
        "reading.py",
        '    return np.where(np.abs(times - clipped) <= rounding, clipped, times)',
        '    return times',
        {
            "offsets.times_beyond_the_end_by_rounding": (0, 1),
        },
    ),
    Breakage(
        "loops count their times from zero",
        "model/autonomous.py",
        '    return since if abs(since) > max(map(abs, lengths), default=0.0) else 0.0',
        '    return 0.0',
        {
            "offsets.a_motion_is_the_same_at_every_time": (0, 1),
        },
    ),
    Breakage(
        "times that are asked for are not counted from the origin of the loop",
        "ensembles/order.py",
        'times=self.kept.times - origin)',
        'times=self.kept.times)',
        {
            "offsets.what_is_asked_of_far_times_is_answered_in_them": (1,),
        },
    ),
    Breakage(
        "seven digits suffice for every time",
        "ensembles/order.py",
        '        return self.scalar == "double" or self.step is None or',
        '        return True or',
        {
            "offsets.single_precision_has_the_digits_of_its_times_or_is_not_used": (0,),
        },
    ),
    Breakage(
        "of three samples of a record one is no end of a step",
        "model/schedule.py",
        'k = bisect_right(self._times, time + rounding)\n',
        'k = bisect_right(self._times, time + rounding)\n            k += k % 3 == 0 and k < len(self._times) - 1\n',
        {
            "measured_records.noise_through_an_oscillator": (0, 1, 2),
        },
    ),
    Breakage(
        "signals reach the main thread inside a call of SUNDIALS",
        "graph/sundials.py",
        '    if current_thread() is not main_thread():',
        '    if True:',
        {
            "interrupts.ctrl_c_ends_a_run_of_any_method": (0,),
        },
    ),
    Breakage(
        "threads share an integrator of SUNDIALS",
        "graph/sundials.py",
        '            integrators = self.idle.pop()  # atomic: never shared by two threads',
        '            integrators = self.idle[0]',
        {
            "interrupts.threads_share_nothing_that_is_not_made_for_them": (0,),
        },
    ),
    Breakage(
        "before projection residuals are relative to their terms",
        "loop/project.c.in",
        'lanes_select(todo & (residual > *defect), residual, *defect)',
        'lanes_select(todo & (size > *defect), size, *defect)',
        {
            "table_of_trust.before_projection": (0, 1),
            "table_of_trust.nothing_moves": (0,),
        },
    ),
    Breakage(
        "the balance of energy leaves out the work",
        "motion/motion.py",
        '            return H[1:] - H[0] - self.work',
        '            return H[1:] - H[0]',
        {
            "table_of_trust.samples_and_energies": (3,),
        },
    ),
    Breakage(
        "a moment that an event passes by rounding is not looked for again",
        "simulate/sampler.py",
        '            there = self._repeated(k, np.array([time]), float(time))\n',
        '            there = found[:0]\n',
        {
            "beside_events.moments_beside_events": (2,),
        },
    ),
    Breakage(
        "the time of a reset is exact",
        "simulate/loop/watched.py",
        ' + self.steps.moved.max(axis=0, initial=0.0)\n',
        '\n',
        {
            "beside_events.zeros_at_late_times": (1, 4, 5),
        },
    ),
]
