"""The plain loop in contact: accelerations and projections with the rows of the closed faces. Twin of `contact.c.in`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from appell.errors import Status
from appell.loop.in_python import PyLoop, TrialFailed
from appell.loop.methods.radau import Radau
from appell.modes.contact_thresholds import FACE_CORRECTIONS
from appell.nonsmooth.contact.instant import Instant
from appell.nonsmooth.criteria import correction_stagnates
from appell.normal_form import NormalForm
from appell.roots.limits import SMALLEST_NORMAL

Array = NDArray[np.float64]


def contact_loop(plain: PyLoop, form: NormalForm, held: tuple[int, ...], floor: float) -> PyLoop:
    """The plain loop with the rows of the closed faces; floor: see `Instant.at`."""
    if not held:
        return plain
    nq, end = form.nq, form.nq + form.nv
    instant_at = lambda t, z, p: Instant.at(form, t, z[:nq], z[nq:end], p, floor)

    def rhs(t: float, z: Array, p: Array) -> Array:
        zd, at = np.array(plain.rhs(t, z, p), dtype=float), instant_at(t, z, p)
        a, _ = at.solve(held, at.force, -at.a0, -at.g_dd0[list(held)])
        if len(z) > end:
            zd[-1] += float(at.v @ at.M @ (a - zd[nq:end]))
        zd[nq:end] = a
        return zd

    def correct(at: Instant, targets: Array) -> Array:
        return at.solve(held, np.zeros(form.nv), np.zeros(len(at.A)), targets)[0]

    def project(t: float, z: Array, p: Array) -> tuple[Array, float]:
        defect, previous = 0.0, np.inf
        for k in range(FACE_CORRECTIONS):
            z, plain_defect = plain.project(t, z, p) if plain.project else (z.copy(), 0.0)
            at = instant_at(t, z, p)
            g = at.g[list(held)]
            defect = max(plain_defect, float(np.abs(g).max())) if k == 0 else defect
            worst = np.max(np.abs(g) / (at.noise[list(held)] + SMALLEST_NORMAL))
            if worst > 0:
                z[:nq] += form.select("N")(t, z[:nq], z[nq:end], p)["N"] @ correct(at, -g)
            if worst <= 1 or (k and correction_stagnates(worst, previous)):
                break
            previous = worst
        else:
            raise TrialFailed(Status.PROJECTION_FAILED)
        at = instant_at(t, z, p)
        z[nq:end] += correct(at, -at.g_d[list(held)])
        return z, float(max(defect, np.abs(at.g_d[list(held)]).max()))

    method = plain.method
    if isinstance(method, Radau):  # its Jacobian of the flow is that of free flight
        method = replace(method, jacobian=None)
    return replace(plain, method=method, rhs=rhs, project=project, guarded=None)


__all__ = ["contact_loop"]
