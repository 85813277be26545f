"""Spectra of motions: amplitude and phase of an expression over frequency, by the discrete Fourier transform.

    y(t_j) = Σ_k a_k cos(2π f_k (t_j − t_0) + φ_k),      a_k = 2 |Y_k| / Σ w,   φ_k = arg Y_k,   Y = FFT(w y)

at evenly spaced times of the dense output, one-sided; a_0 is the mean. The window w limits the leakage of a line that lies
between two frequencies. With `Σ w` in the divisor, a line at f_k shows its own amplitude, whatever the window.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from appell.delegates import delegate
from appell.errors import ModelError
from appell.reading import finite, one_of, refuse_many, shown, whole

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[np.float64]

SCIPY_WINDOWS = {"hann": "hann", "rectangular": "boxcar", "flattop": "flattop"}
"""Name → SciPy's name: sharp lines and little leakage; for whole periods; amplitudes to 1e-4 wherever a line lies."""
SPECTRUM_SAMPLES = 4096
"""Default number of samples of the expression."""


@dataclass(frozen=True, eq=False)
class Spectrum:
    """Amplitude and phase over frequency.

    Attributes
    ----------
    name: what it is the spectrum of. units: of the amplitude.
    frequency: (n,) Hz, from 0 in steps of 1/duration. amplitude: (n,). phase: (n,) rad, of the cosine that begins at `since`.
    since, until: s. window: its name.
    """

    name: str
    units: str
    frequency: Array
    amplitude: Array
    phase: Array
    since: float
    until: float
    window: str

    @property
    def peak(self) -> float:
        """The frequency with the largest amplitude apart from the mean, Hz, refined by a parabola through its neighbours."""
        a = self.amplitude.copy()
        a[:2] = 0.0  # the mean, and its leakage by the window
        k = int(np.argmax(a))
        if not 0 < k < len(a) - 1 or not a[k]:
            return float(self.frequency[k])
        left, middle, right = np.log(np.maximum(self.amplitude[k - 1 : k + 2], 1e-300))
        bend = left - 2 * middle + right
        shift = 0.5 * (left - right) / bend if bend else 0.0
        return float(self.frequency[k] + shift * self.frequency[1])

    @cached_property
    def dataset(self) -> xr.Dataset:
        """Amplitude and phase over frequency, with units and the name of the transformed quantity."""
        import xarray as xr

        attrs = {"of": self.name, "since": self.since, "until": self.until, "window": self.window}
        return xr.Dataset(
            {
                "amplitude": ("frequency", self.amplitude, {"units": self.units, "long_name": f"amplitude of {self.name}"}),
                "phase": ("frequency", self.phase, {"units": "rad", "long_name": f"phase of {self.name}"}),
            },
            {"frequency": ("frequency", self.frequency, {"units": "Hz", "long_name": "frequency"})},
            attrs,
        )

    def plot(self, ax: Any = None) -> Any:
        """Plots the amplitude over frequency, logarithmically; returns the figure."""
        return delegate("Spectrum.plot")(self, ax)

    def __repr__(self) -> str:
        return f"<Spectrum of {self.name}: {len(self.frequency)} frequencies to {self.frequency[-1]:.6g} Hz, {self.window}>"


def spectrum(
    motion: Any, key: Any, *, since: float | None = None, until: float | None = None, samples: int = SPECTRUM_SAMPLES,
    window: str = "hann",
) -> Spectrum:  # fmt: skip
    """See `Motion.spectrum`."""
    one_of(window, SCIPY_WINDOWS, f"window={shown(window)}")
    count = whole(samples, "samples=", 8)
    refuse_many(count, "samples= asks for")
    low, high = float(np.min(motion.t)), float(np.max(motion.t))  # a run backwards begins at the later one
    begin = low if since is None else finite(since, "since=")
    end = high if until is None else finite(until, "until=")
    if not low <= begin < end <= high:
        raise ModelError(f"a spectrum is taken over a part of the motion, {low:g} … {high:g} s, not over {begin:g} … {end:g} s")
    times = begin + (end - begin) * np.arange(count) / count
    series = motion.at(times).series(key)
    y = np.asarray(series.values, dtype=float)
    if y.ndim != 1 or not np.isfinite(y).all():
        raise ModelError(f"{shown(key)} has no spectrum: it is not a number at every time from {begin:g} … {end:g} s")
    from scipy.signal import get_window

    w: Any = get_window(SCIPY_WINDOWS[window], count)
    Y = np.fft.rfft(w * y) / w.sum()
    factors = np.full(len(Y), 2.0)
    factors[0] = 1.0
    if count % 2 == 0:
        factors[-1] = 1.0
    frequency = np.arange(len(Y)) / (end - begin)
    return Spectrum(series.name, series.units, frequency, factors * np.abs(Y), np.angle(Y), begin, end, window)


__all__ = ["Spectrum", "spectrum"]
