"""The symbol table: letter, name in code, shape, unit, meaning. Used by the documentation and `ap.notation`.

Units are those of a system in metres, kilograms, seconds and radians; n and m count coordinates and constraints.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """One symbol of the library."""

    letter: str
    latex: str
    code: str
    shape: str
    unit: str
    meaning: str


TABLE = (
    Entry("t", "t", "t", "()", "s", "time"),
    Entry("q", "q", "q", "(nq,)", "m, rad", "coordinates"),
    Entry("q̇", r"\dot q", "qd", "(nq,)", "m/s, rad/s", "velocities of the coordinates, q̇ = N v + n0"),
    Entry("v", "v", "v", "(nv,)", "m/s, rad/s", "velocities: q̇ itself, or speeds"),
    Entry("a", "a", "a", "(nv,)", "m/s², rad/s²", "accelerations v̇"),
    Entry("N", "N", "N", "(nq, nv)", "", "kinematics, q̇ = N v + n0"),
    Entry("n0", "n_0", "n0", "(nq,)", "m/s, rad/s", "free term of the kinematics"),
    Entry("T", "T", "T", "()", "J", "kinetic energy, T = T2 + T1 + T0 by degree in v"),
    Entry("V", "V", "V", "()", "J", "potential energy"),
    Entry("H", "H", "H", "()", "J", "T2 − T0 + V, the energy integral of time-independent systems"),
    Entry("S", "S", "S", "()", "W²/J", "Appell's function, ½ Σ m r̈²; terms free of accelerations dropped"),
    Entry("Z", "Z", "Z", "()", "N²/kg", "Gauss's constraint, ½ (a − a_free)ᵀ M (a − a_free)"),
    Entry("M", "M", "M", "(nv, nv)", "kg, kg m²", "mass matrix, ∂²T/∂v²"),
    Entry("h", "h", "h", "(nv,)", "N, N m", "inertia forces at a = 0"),
    Entry("Q", "Q", "Q", "(nv,)", "N, N m", "generalized forces, −∂V/∂q and the given ones"),
    Entry("f", "f", "f", "(m,)", "", "constraint residuals, zero on the motion"),
    Entry("A", "A", "A", "(m, nv)", "", "constraint rows, A a + a0 = 0"),
    Entry("a0", "a_0", "a0", "(m,)", "", "their free terms"),
    Entry("W", "W", "W", "(nv, m)", "", "reaction directions; Aᵀ for ideal constraints"),
    Entry("Λ", r"\Lambda", "lam", "(m,)", "", "multipliers: the force on the system is +W Λ"),
    Entry("E", "E", "E", "(nv,)", "N, N m", "Lagrange's operator d/dt ∂T/∂q̇ − ∂T/∂q"),
    Entry("π̇", r"\dot\pi", "pseudo", "(nv − m,)", "m/s, rad/s", "pseudo-velocities"),
    Entry("Π", r"\Pi", "generalized_forces", "(nv − m,)", "N, N m", "forces of the pseudo-coordinates, Π_s = Σ Q_i ∂q̇_i/∂π̇_s"),
    Entry("γ", r"\gamma", "gamma", "", "", "structure coefficients of Boltzmann and Hamel"),
    Entry("ω", r"\omega", "omega", "(3,)", "rad/s", "angular velocity on the body axes"),
    Entry("R", "R", "R_AB", "(3, 3)", "", "rotation that maps components in B to components in A"),
    Entry("J", "J", "inertia", "(3, 3)", "kg m²", "inertia about the centre of mass on the body axes"),
)  # fmt: skip


def table() -> str:
    """The symbol table as Markdown."""
    head = "| letter | in code | shape | unit | meaning |\n|---|---|---|---|---|\n"
    return head + "\n".join(
        f"| {e.letter} | `{e.code}` | {e.shape} | {e.unit or '–'} | {e.meaning} |" for e in TABLE
    )
