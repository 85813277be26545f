"""`motion.spectrum`: lines of known frequency, amplitude and phase."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

import appell as ap

x = ap.coordinates("x")
OMEGA = 2 * np.pi * 3
MOTION = ap.simulate(ap.System([x], x.d**2 / 2, OMEGA**2 * (x - 0.2) ** 2 / 2), {x: 0.7, x.d: 0.5 * OMEGA}, 4.0, rtol=1e-11)
A, PHASE = np.hypot(0.5, 0.5), np.arctan2(-0.5, 0.5)  # x = 0.2 + 0.5 cos ωt + 0.5 sin ωt


@pytest.mark.parametrize("window", ["rectangular", "hann", "flattop"])
def test_a_line_reads_its_amplitude_and_phase(window):
    found = MOTION.spectrum(x, window=window)
    line = int(np.argmin(np.abs(found.frequency - 3)))
    assert found.frequency[line] == pytest.approx(3) and found.amplitude[line] == pytest.approx(A, rel=1e-8)
    assert found.phase[line] == pytest.approx(PHASE, abs=1e-8) and found.amplitude[0] == pytest.approx(0.2, rel=1e-8)
    assert found.dataset["amplitude"].attrs["units"] == found.units and found.dataset.attrs["window"] == window


def test_a_line_between_two_frequencies():
    found = MOTION.spectrum(x.d, since=0.0, until=3.9)
    assert found.peak == pytest.approx(3, rel=2e-3)
    flat = MOTION.spectrum(x.d, until=3.9, window="flattop")
    assert flat.amplitude.max() == pytest.approx(A * OMEGA, rel=2e-3)


def test_it_is_drawn():
    mpl.use("Agg")
    assert "frequency, Hz" in MOTION.spectrum("x").plot().axes[0].get_xlabel()


@pytest.mark.parametrize(
    ("options", "message"),
    [({"since": 3.0, "until": 2.0}, "part of the motion"), ({"until": 9.0}, "part of the motion"), ({"window": "hat"}, "hann"),
     ({"samples": 3}, "samples="), ({"samples": 10**13}, "samples=")],
)  # fmt: skip
def test_refusals(options, message):
    with pytest.raises(ap.ModelError, match=message):
        MOTION.spectrum(x, **options)


def test_a_run_backwards_has_the_spectrum_of_the_same_motion():
    back = ap.simulate(MOTION.system, MOTION.final, 0.0, since=4.0, rtol=1e-11)
    found, wanted = back.spectrum(x), MOTION.spectrum(x)
    assert (found.since, found.until) == (0.0, 4.0) and found.peak == pytest.approx(wanted.peak)
    np.testing.assert_allclose(found.amplitude, wanted.amplitude, atol=1e-8)
    part = back.spectrum(x, until=3.9)
    assert (part.since, part.until) == (0.0, 3.9)
