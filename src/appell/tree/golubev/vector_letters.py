"""Golubev's equations of one chain or tree written out in vectors, in the notation of the source, as Unicode or LaTeX.

Each formula is written once; a `LetterStyle` defines how a letter, an index and a product look. L_ν stands for the bracket
c_ν × m_ν w_ν + J_ν Ω̇_ν + Ω_ν × K*_ν that appears in every moment equation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sympy

from appell import letters
from appell.reading import symbolic
from appell.tree.golubev.golubev_equations import Body, behind

WrittenLine = tuple[str, str]
"""The number of an equation, and the equation."""


@dataclass(frozen=True, eq=False)
class LetterStyle:
    """How letters, indices and products are written."""

    names: Mapping[str, str]
    index: Callable[[str], str]
    cross: str
    dot: str
    sum: Callable[[Any], str]
    """An expression in parameters."""
    gap: str = ",  "

    def __call__(self, name: str, n: Any = "") -> str:
        """A letter with an index: v("sigma", 2) is σ₂."""
        return self.names.get(name, name) + (self.index(str(n)) if n != "" else "")

    def scalar(self, value: Any) -> str:
        """A coefficient before a vector: nothing for 1, sums in brackets."""
        value = symbolic(value, "a value")
        text = self.sum(value)
        return "" if value == 1 else f"({text}) " if isinstance(value, sympy.Add) else f"{text} "

    def vector(self, values: Sequence[Any]) -> str:
        entries = [self.sum(symbolic(x, "a value")) for x in values]
        return f"({', '.join(entries)})"


_SUBSCRIPT = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_BOLD = {"Omega": r"\boldsymbol\Omega", "Omegadot": r"\dot{\boldsymbol\Omega}", "sigma": r"\boldsymbol\sigma"}

TEXT = LetterStyle(
    {"Omega": "Ω", "Omegadot": "Ω̇", "sigma": "σ", "phi": "φ", "phidot": "φ̇", "psi": "ψ", "rate": "ω", "ratedot": "ω̇",
     "omega": "ω", "omegadot": "ω̇", "wA": "w_A", "q": "q", "qdot": "q̇", "K": "K*", "half": "½ ", "q0dot": "q̇₀", "theta": "θ",
     "p": "p", "cos": "cos", "sin": "sin"},
    lambda n: n.translate(_SUBSCRIPT) if n[0].isdigit() else f"_{n}", " × ", "·", letters.text,
)  # fmt: skip

LATEX = LetterStyle(
    {**_BOLD, "phi": r"\phi", "phidot": r"\dot\phi", "psi": r"\psi", "rate": r"\omega", "ratedot": r"\dot\omega",
     "omega": r"\boldsymbol\omega", "omegadot": r"\dot{\boldsymbol\omega}", "wA": r"\mathbf w_A", "w": r"\mathbf w",
     "c": r"\mathbf c", "r": r"\mathbf r", "e": r"\mathbf e", "g": r"\mathbf g", "J": r"\mathbf J", "K": r"\mathbf K^*",
     "L": r"\mathbf L", "A": r"\mathbf A", "q": r"\mathbf q", "qdot": r"\dot{\mathbf q}", "half": r"\tfrac12",
     "q0dot": r"\dot q_{0}", "theta": r"\boldsymbol\theta", "x": r"\mathbf x", "cos": r"\cos", "sin": r"\sin",
     "diag": r"\mathrm{diag}"},
    lambda n: f"_{{{n}}}", r" \times ", r" \cdot ", letters.latex, r",\quad ",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class VectorEquations:
    """The bodies of one system, to be written in a given style."""

    bodies: Sequence[Body]
    gravity: Sequence[Any]
    parallel: bool
    chain: bool
    style: LetterStyle

    def lines(self) -> Iterator[WrittenLine]:
        """Equations, then the definitions of their symbols."""
        yield from self.base()
        yield from self.hinges()
        yield from self.definitions()
        yield from self.data()

    @property
    def floating(self) -> bool:
        return self.bodies[0].e is None

    @property
    def hinge_number(self) -> str:
        return "3.14" if self.parallel else "4.3"

    def base(self) -> Iterator[WrittenLine]:
        """(3.10) and (3.12) of a floating base."""
        if not self.floating:
            return
        s, all_bodies = self.style, range(len(self.bodies))
        total = s.scalar(sympy.Add(*(body.m for body in self.bodies)))
        yield "3.10", f"{self.momentum(all_bodies)} = {total}{s('g')}"
        yield "3.12", f"{self.moments(0)} = {_bracket(self.first_moment(0))}{s.cross}{s('g')}"

    def hinges(self) -> Iterator[WrittenLine]:
        """(3.14) or (4.3), with (3.8) or (4.2); then (5.1)."""
        s, hinged = self.style, [n for n, body in enumerate(self.bodies) if body.e is not None]
        for n in hinged:
            yield self.hinge_number, f"{self.e(n)}{s.dot}{_bracket(self.moments(n))} = {self.torque(n)} + {s('Q', n + 1)}"
        for n in hinged:
            weight = f"{_bracket(self.first_moment(n))}{s.cross}{s('g')}"
            yield "3.8" if self.parallel else "4.2", f"{s('Q', n + 1)} = {self.e(n)}{s.dot}[{weight}]"
        if self.parallel and self.chain:
            yield from (("5.1", f"{self.difference(n)} = {self.change(n)}") for n in hinged)
        if self.parallel and self.chain and not self.floating:
            yield from (("5.2", f"{self.plane(n)} = {self.change(n)}") for n in hinged)

    def difference(self, n: int) -> str:
        """The left side of (5.1)."""
        s, left = self.style, self.style("L", n + 1)
        if n + 1 < len(self.bodies):
            left += f" + {self.r(n + 1)}{s.cross}{self.tail(n)}"
        return f"{self.e(n)}{s.dot}{_bracket(left)}"

    def plane(self, n: int) -> str:
        """The left side of (5.2), with J_νe Ω̇_ν = e·J_ν Ω̇_ν."""
        s, e, N = self.style, self.e(n), n + 1
        left = f"{e}{s.dot}{s('J', N)} {s('Omegadot', N)}"
        left += f" + {self.r(N)}{s.dot}({self.tail(n)}{s.cross}{e})" if len(self.bodies) > N else ""
        return f"{left} + {s('c', N)}{s.dot}({s.scalar(self.bodies[n].m)}{s('w', N)}{s.cross}{e})"

    def tail(self, n: int) -> str:
        """Σ_{μ>ν} m σ."""
        return _bracket(self.momentum(range(n + 1, len(self.bodies))))

    def change(self, n: int) -> str:
        """M_ν + Q_ν − M_{ν+1} − Q_{ν+1}."""
        right = f"{self.torque(n)} + {self.style('Q', n + 1)}"
        last = n + 1 == len(self.bodies)
        return right if last else f"{right} - {_bracket(self.torque(n + 1))} - {self.style('Q', n + 2)}"

    def definitions(self) -> Iterator[WrittenLine]:
        """(3.1)–(3.5) or (4.1): the motion of each body from that of its predecessor."""
        s = self.style
        for n, body in enumerate(self.bodies):
            N, p = n + 1, body.parent + 1
            Om, Omd, w = s("Omega", p), s("Omegadot", p), s("w", p)
            rate_number, acceleration_number = ("3.1", "3.2") if self.parallel else ("4.1", "4.1")
            if body.e is None:
                row = [f"{s('Omega', N)} = {s('omega')}", f"{s('Omegadot', N)} = {s('omegadot')}", f"{s('w', N)} = {s('wA')}"]
                yield "3.1", s.gap.join(row)
            elif p == 0:
                row = [f"{s('Omega', N)} = {s('rate', N)} {self.e(n)}", f"{s('Omegadot', N)} = {s('ratedot', N)} {self.e(n)}"]
                yield rate_number, s.gap.join([*row, f"{s('w', N)} = 0"])
            else:
                e, rate = self.e(n), s("rate", N)
                yield rate_number, f"{s('Omega', N)} = {Om} + {rate} {e}"
                yield acceleration_number, f"{s('Omegadot', N)} = {Omd} + {s('ratedot', N)} {e} + {rate} {Om}{s.cross}{e}"
                r = self.r(n)
                yield "3.3", f"{s('w', N)} = {w} + {Omd}{s.cross}{r} + {Om}{s.cross}({Om}{s.cross}{r})"
        for n, body in enumerate(self.bodies):
            N = n + 1
            Om, Omd, c, w, m = s("Omega", N), s("Omegadot", N), s("c", N), s("w", N), s.scalar(body.m)
            yield "3.5", f"{s('sigma', N)} = {w} + {Omd}{s.cross}{c} + {Om}{s.cross}({Om}{s.cross}{c})"
            turning = f"{s('J', N)} {Omd} + {Om}{s.cross}{s('J', N)} {Om}"
            yield "3.12", f"{s('L', N)} = {c}{s.cross}{m}{w} + {turning}"

    def data(self) -> Iterator[WrittenLine]:
        """The data of the bodies, on their own axes (e' and r' on those of the predecessor), and (5.3)–(5.5)."""
        s = self.style
        yield "", f"{s('g')} = {s.vector(self.gravity)}"
        for n, body in enumerate(self.bodies):
            row = [f"{s('c', n + 1)}' = {s.vector(body.c)}", f"{s('J', n + 1)}' = {self.matrix(body.J)}"]
            row += [] if body.e is None else [f"{self.e(n)}' = {s.vector(body.e)}"]
            row += [] if body.parent < 0 else [f"{self.r(n)}' = {s.vector(body.r)}"]
            yield "", s.gap.join(row)
        for n, body in enumerate(self.bodies, start=1):
            if body.e is not None:
                yield "5.3", f"{s('phidot', n)} = {s('rate', n)}"
        if any(body.e is not None for body in self.bodies):
            nu, e = "ν" if s is TEXT else r"\nu", s("e", "" if self.parallel else "ν" if s is TEXT else r"\nu")
            half = f"({s('phi', nu)}/2)"
            yield "5.4", self.turn("p", "theta") + s.gap + f"p = {s('cos')}{half}{s.gap}{s('theta')} = {e} {s('sin')}{half}"
        if self.floating:
            q, w, half = s("q"), s("omega"), s("half")
            yield "5.4", self.turn(f"q{s.index('0')}", "q")
            vector = f"{s('qdot')} = {half}(q{s.index('0')} {w} + {w}{s.cross}{q})"
            yield "5.5", f"{s('q0dot')} = -{half}{q}{s.dot}{w}{s.gap}{vector}"

    def turn(self, p: str, theta: str) -> str:
        """x = x' + 2 p θ × x' + 2 θ × (θ × x')."""
        s, x, t = self.style, self.style("x"), self.style(theta)
        return f"{x} = {x}' + 2 {p} {t}{s.cross}{x}' + 2 {t}{s.cross}({t}{s.cross}{x}')"

    def matrix(self, J: Sequence[Sequence[Any]]) -> str:
        s = self.style
        if any(J[i][k] != 0 for i in range(3) for k in range(3) if i != k):
            return f"[{', '.join(s.vector(row) for row in J)}]"
        return s("diag") + s.vector([J[i][i] for i in range(3)])

    # --- pieces --------------------------------------------------------------------------------------------------

    def e(self, n: int) -> str:
        return self.style("e", "" if self.parallel else n + 1)

    def r(self, n: int) -> str:
        """The vector from the hinge of the predecessor to that of body n: r_{ν−1} in a chain."""
        return self.style("r", n if self.chain else f"{self.bodies[n].parent + 1},{n + 1}")

    def torque(self, n: int) -> str:
        """M_ν minus damping and rotor torques."""
        s, body = self.style, self.bodies[n]
        text = s("M", n + 1)
        text += f" - {s.scalar(body.damping)}{s('rate', n + 1)}" if body.damping != 0 else ""
        return text + (f" - {s.scalar(body.armature)}{s('ratedot', n + 1)}" if body.armature != 0 else "")

    def lever(self, n: int, k: int) -> list[str]:
        """P_ν P_μ as the vectors r between them."""
        steps: list[str] = []
        while k != n:
            steps.insert(0, self.r(k))
            k = self.bodies[k].parent
        return steps

    def momentum(self, those: Sequence[int]) -> str:
        s = self.style
        return " + ".join(f"{s.scalar(self.bodies[k].m)}{s('sigma', k + 1)}" for k in those)

    def moments(self, n: int) -> str:
        """Σ (P_ν P_μ × m σ + L)."""
        s, terms = self.style, []
        for k in behind(self.bodies, n):
            arm = self.lever(n, k)
            text = f"({' + '.join(arm)})" if len(arm) > 1 else "".join(arm)
            if arm:
                terms.append(f"{text}{s.cross}{s.scalar(self.bodies[k].m)}{s('sigma', k + 1)}")
            terms.append(s("L", k + 1))
        return " + ".join(terms)

    def first_moment(self, n: int) -> str:
        """Σ m (P_ν P_μ + c_μ)."""
        s, terms = self.style, []
        for k in behind(self.bodies, n):
            arm = [*self.lever(n, k), s("c", k + 1)]
            terms.append(f"{s.scalar(self.bodies[k].m)}" + (f"({' + '.join(arm)})" if len(arm) > 1 else arm[0]))
        return " + ".join(terms)


def _bracket(text: str) -> str:
    """The text, in brackets if it is a sum."""
    return f"({text})" if " + " in text or " - " in text else text
