"""Motions and forces of a tree by compiled functions: dynamics, joint loads, frames."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from appell.backends import Call, choose_backend, recipe_for
from appell.backends.cuda.device import is_on_gpu, on_device
from appell.errors import ModelError
from appell.graph.casadi_functions import casadi_function
from appell.graph.fn import Fn
from appell.reading import items_of, name_in, one_of, reals, reals_together, shown
from appell.tree import tree_functions
from appell.tree.algorithms import immovable
from appell.tree.base_parameters import BaseParameters, base_parameters
from appell.tree.branches import Branches
from appell.tree.compiled_methods import OPERATIONS_NOT_WAITED_FOR, answer, answered, ready
from appell.tree.frame_motion import FRAME_QUESTIONS, FrameMotion
from appell.tree.frames import FrameLayout, lay_out
from appell.tree.identified import IdentifiedBodies, identify
from appell.tree.joint_loads import ten_of
from appell.tree.limbs import limbs_of
from appell.tree.reach import Reached, ReachedMany, reach
from appell.tree.recipes import recipe_key
from appell.tree.symbols.frame_symbols import FrameSymbols

Array = NDArray[np.float64]


class TreeDynamics(FrameMotion):
    """M(q) v̇ + h(q, v) = τ. Every method takes one state, q (nq,), v, tau, a (nv,), or a batch with the batch first, and is
    compiled on first use. SI units, radians."""

    _calls: dict[object, Call]

    @abstractmethod
    def _refuse_symbols(self, need: str) -> None:
        """`ModelError` where masses or lengths are symbols."""

    @cached_property
    def mass(self) -> float:
        """The total mass of all moving bodies, kg."""
        self._refuse_symbols("its mass needs")
        return float(sum(node.inertia.m for node in self.nodes))

    @cached_property
    def layout(self) -> FrameLayout:
        """The bodies in the frames chosen for the computation."""
        self._refuse_symbols("its motions and forces need")
        return lay_out(self.nodes)

    # --- graphs and compiled functions ---------------------------------------------------------------------------

    def function(self, question: str) -> Fn:
        """The graph behind a method: "forward_dynamics", "inverse_dynamics", "mass_matrix", "bias", …"""
        one_of(question, tree_functions.QUESTIONS, "a tree has no function ")
        if question not in self._fns:
            if question.startswith("forward"):
                self.refuse_massless()
            self._fns[question] = tree_functions.function(self._tree_data, question)
        return self._fns[question]

    @cached_property
    def _tree_data(self) -> tree_functions.TreeData:
        return tree_functions.TreeData(
            self.layout, lay_out(self.nodes, booked=False), self.gravity, self.nq, self.nv, self.mass
        )

    def refuse_massless(self) -> None:
        """Raises for a joint whose articulated inertia vanishes: its acceleration is not determined."""
        stuck = immovable(self.layout)
        if stuck is not None:
            raise ModelError(f"joint '{stuck[0].name}' {stuck[1]}")

    def _call(self, question: str) -> Call:
        """The function that answers one of `tree_functions.QUESTIONS`."""
        if question not in self._calls:
            key = lambda: recipe_key(self.nodes, self.gravity, question)
            self._calls[question] = ready(self._backend, key, lambda: self.function(question), question, self.name)
        return self._calls[question]

    def prepare(self, *questions: str, frames: Iterable[str] = ()) -> None:
        """Compiles the functions for these questions now, instead of at each first call: short ones in one run of the compiler,
        the others in parallel on all cores.

        questions: names of methods, "forward_dynamics", "regressor" …; if none are given, all except those that would take too
        long to compile (see `backend=`). frames: names of frames whose placement, Jacobian and J̇ v are compiled as well.
        """
        chosen = questions or tuple(tree_functions.QUESTIONS)
        for question in chosen:
            one_of(question, tree_functions.QUESTIONS, "a tree has no function ")
        if not questions and immovable(self.layout) is not None:
            chosen = tuple(question for question in chosen if not question.startswith("forward"))
        frame_pairs = [(name_in(frame), question) for frame in frames for question in FRAME_QUESTIONS]
        for frame, _ in frame_pairs:
            self._frame_named(frame)
        self._compile_together(chosen)
        jobs = [partial(self._call, question) for question in chosen]
        reference = lambda question: "" if question == "placement" else "aligned"
        jobs += [partial(self._frame_entry, frame, question, reference(question)) for frame, question in frame_pairs]
        with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
            for future in [pool.submit(job) for job in jobs]:
                future.result()

    def _compile_together(self, questions: Iterable[str]) -> None:
        """One run of the compiler for all short questions not compiled yet, if the back end supports it."""
        compile_all = choose_backend(self._backend).together
        if compile_all is not None:
            waiting = [question for question in dict.fromkeys(questions) if question not in self._calls]
            keys = {question: recipe_key(self.nodes, self.gravity, question) for question in waiting}
            compile_all([recipe_for(key, partial(self.function, question)) for question, key in keys.items() if key])

    def _answer(self, question: str, *arrays: ArrayLike, out: Array | None = None) -> tuple[Array, ...]:
        if any(map(is_on_gpu, arrays)):
            fn = self.function(question)
            return on_device(fn, arrays, out=out, limbs=partial(limbs_of, self.layout, fn))
        return answer(self._call(question), *arrays, out=out)

    def entry(self, question: str, otherwise: Callable[..., Any], **options: Any) -> Callable[..., Any]:
        """The entry point of the function that answers a question, for one state and for batches; see `answered`."""
        one_of(question, tree_functions.QUESTIONS, "a tree has no function ")
        if question == "forward_dynamics_derivatives" and self._branches is not None:
            return otherwise
        return self._call(question).crossing(otherwise, batches=True, **options) or otherwise

    # --- dynamics ------------------------------------------------------------------------------------------------

    @answered("forward_dynamics")
    def forward_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, *, external: Mapping[Any, ArrayLike] | None = None,
        out: Array | None = None,
    ) -> Array:  # fmt: skip
        """v̇ of M v̇ + h = τ + Σ Jᵀ w, (nv,), by the articulated-body algorithm in O(n).

        external: frame, by name or `tree.frame(…).at(…)` → wrench w that acts on its body, [force | moment], (6,), N and N m,
        at the origin of the frame on the world's axes.
        """
        if external is not None:
            tau = np.add(*reals_together(tau=tau, **{"the moments of external=": self._external(q, external)}))
        return self._answer("forward_dynamics", q, v, tau, out=out)[0]

    @answered("inverse_dynamics")
    def inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, external: Mapping[Any, ArrayLike] | None = None,
        out: Array | None = None,
    ) -> Array:  # fmt: skip
        """τ = M a + h − Σ Jᵀ w, (nv,); external as in `forward_dynamics`."""
        tau = self._answer("inverse_dynamics", q, v, a, out=out)[0]
        if external is not None:
            tau -= self._external(q, external)
        return tau

    def _external(self, q: ArrayLike, external: Mapping[Any, ArrayLike]) -> Array:
        """Σ Jᵀ w."""
        total: Any = 0.0
        for frame, w in self._checked_wrenches(external):
            total = total + (np.swapaxes(self.jacobian(frame, q), -1, -2) @ w[..., None])[..., 0]
        return np.asarray(total)

    def _checked_wrenches(self, external: Mapping[Any, ArrayLike]) -> list[tuple[str | FrameSymbols, Array]]:
        """(frame, wrench), checked."""
        if not isinstance(external, Mapping):
            raise ModelError("external= maps frames to wrenches, {'tool': [Fx, Fy, Fz, Mx, My, Mz]}")
        checked = []
        for frame, wrench in external.items():
            where = f"the wrench at frame '{name_in(frame)}'"
            w = reals(wrench, where)
            if w.shape[-1:] != (6,) or not np.isfinite(w).all():
                raise ModelError(f"{where} is [force | moment], six finite numbers, not {shown(wrench)}")
            checked.append((frame, w))
        return checked

    @answered("mass_matrix")
    def mass_matrix(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """M(q), (nv, nv), rotors included."""
        return self._answer("mass_matrix", q, out=out)[0]

    @answered("mass_triangle")
    def mass_triangle(self, q: ArrayLike, *, out: Array | None = None) -> Array:
        """The lower triangle of M(q) row by row, (nv (nv + 1)/2,): half of the memory in large batches."""
        return self._answer("mass_triangle", q, out=out)[0]

    @answered("bias")
    def bias(self, q: ArrayLike, v: ArrayLike, *, out: Array | None = None) -> Array:
        """h(q, v), (nv,): velocity terms, gravity and, where given, damping."""
        return self._answer("bias", q, v, out=out)[0]

    def energy(self, q: ArrayLike, v: ArrayLike) -> Array:
        """T + V, J; V is zero where the centre of mass is at the height of the world's origin."""
        T, V = self._answer("energy", q, v)
        return T + V

    @answered("energy")
    def kinetic_energy(self, q: ArrayLike, v: ArrayLike) -> Array:
        """T = ½ vᵀ M v, J."""
        return self._answer("energy", q, v)[0]

    @answered("centre_of_mass")
    def centre_of_mass(self, q: ArrayLike) -> Array:
        """The centre of mass of all moving bodies, (3,), m, on the world's axes."""
        return self._answer("centre_of_mass", q)[0]

    @answered("momentum")
    def momentum(self, q: ArrayLike, v: ArrayLike) -> Array:
        """[linear | angular about the centre of mass], (6,), on the world's axes."""
        return self._answer("momentum", q, v)[0]

    @answered("rate")
    def rate(self, q: ArrayLike, v: ArrayLike) -> Array:
        """q̇ = N(q) v, (nq,)."""
        return self._answer("rate", q, v)[0]

    @answered("wrenches")
    def wrenches(self, q: ArrayLike, v: ArrayLike, a: ArrayLike, *, external: Mapping[Any, ArrayLike] | None = None) -> Array:
        """(joints, 6): [force | moment] that each joint transmits to its successor, N and N m.

        At the joint's origin and on the successor's axes, as Pinocchio's `data.f`; joints in the order of `nodes`. Rotors and
        damping act along the joint's own axis and are not included. external: as in `forward_dynamics`; included.
        """
        total = self._answer("wrenches", q, v, a)[0]
        if external is not None:
            total = total - self._external_wrenches(q, external)
        return total

    def _external_wrenches(self, q: ArrayLike, external: Mapping[Any, ArrayLike]) -> Array:
        """(joints, 6): the external wrenches on the bodies behind each joint, summed."""
        total = np.zeros((*np.shape(q)[:-1], len(self.nodes), 6))
        for frame, w in self._checked_wrenches(external):
            _, origin = self.placement(frame, q)
            n = self._node_of(frame)
            while n >= 0:
                R, p = self.placement(self.joint_frame(self.nodes[n].name), q)
                moment = w[..., 3:] + np.cross(origin - p, w[..., :3])
                for entries, x in ((slice(0, 3), w[..., :3]), (slice(3, 6), moment)):
                    total[..., n, entries] += (np.swapaxes(R, -1, -2) @ x[..., None])[..., 0]
                n = self.nodes[n].parent
        return total

    @answered("regressor")
    def regressor(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
        """Y (nv, 10 n) of τ = Y π for n moving bodies, fixed links merged; without rotors and damping.

        A body has m, m c (three) and J about the joint's origin on its axes: xx, xy, yy, xz, yz, zz, as in Pinocchio;
        `dynamic_parameters` are the values of this tree.
        """
        return self._answer("regressor", q, v, a)[0]

    @cached_property
    def dynamic_parameters(self) -> Array:
        """π, (10 n,): kg, kg m, kg m²; see `regressor`."""
        self._refuse_symbols("its parameters need")
        return np.concatenate([*(ten_of(node.inertia) for node in self.nodes), np.zeros(0)])

    def base_parameters(self, constraints: Iterable[Any] = (), *, seed: int = 0) -> BaseParameters:
        """The combinations β of `dynamic_parameters` that determine the joint forces: τ = Y[:, independent] β.

        Exact for an open tree, also with symbolic lengths. constraints: loops and wheels as in `tree.system`. With these, and
        with universal joints, the rank of the regressor at random states within the joint limits decides; seed: of the random
        states.
        """
        return base_parameters(self, tuple(items_of(constraints, "constraints")), seed)

    def identify(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, tau: ArrayLike, *, noise: Any = None
    ) -> IdentifiedBodies:  # fmt: skip
        """Identifies physically possible masses and inertias of the bodies from measured joint forces.

        q (k, nq), v, a, tau (k, nv): samples, SI. noise: standard deviation of each joint's force, (nv,); estimated where it is
        not given. Rotors and joint damping are taken as they are. What the motion does not determine stays near this tree's own
        bodies; see `IdentifiedBodies`.
        """
        return identify(self, q, v, a, tau, noise)

    @answered("coriolis")
    def coriolis(self, q: ArrayLike, v: ArrayLike) -> Array:
        """C(q, v), (nv, nv), from the Christoffel symbols: M a + C v + g(q) = τ and Ṁ = C + Cᵀ; without damping."""
        return self._answer("coriolis", q, v)[0]

    @answered("centroidal")
    def centroidal(self, q: ArrayLike) -> Array:
        """A(q), (6, nv), of the momentum [linear | angular about the centre of mass] = A v, on the world's axes."""
        return self._answer("centroidal", q)[0]

    @answered("centroidal_bias")
    def centroidal_bias(self, q: ArrayLike, v: ArrayLike) -> Array:
        """Ȧ v, (6,): the rate of the momentum is A a + Ȧ v."""
        return self._answer("centroidal_bias", q, v)[0]

    def centre_of_mass_jacobian(self, q: ArrayLike) -> Array:
        """(3, nv): the Jacobian of the centre of mass with respect to v, on the world's axes."""
        return self.centroidal(q)[..., :3, :] / self.mass

    @answered("forward_dynamics_derivatives", first=False)
    def forward_dynamics_derivatives(self, q: ArrayLike, v: ArrayLike, tau: ArrayLike) -> tuple[Array, ...]:
        """(∂a/∂q N, ∂a/∂v, ∂a/∂τ), each (nv, nv)."""
        if self._branches is None:
            return self._answer("forward_dynamics_derivatives", q, v, tau)
        a = self.forward_dynamics(q, v, tau)
        return self._branches.accelerations(*self.inverse_dynamics_derivatives(q, v, a))

    @cached_property
    def _branches(self) -> Branches | None:
        """The solver for derivatives of forward dynamics where compiling would take too long; None where the graph is
        compiled."""
        if self._backend != "auto" or choose_backend("auto").program is None:
            return None
        branches = Branches.of(self.layout)
        return branches if branches.operations > OPERATIONS_NOT_WAITED_FOR else None

    @answered("inverse_dynamics_derivatives", first=False)
    def inverse_dynamics_derivatives(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> tuple[Array, ...]:
        """(∂τ/∂q N, ∂τ/∂v, M), each (nv, nv)."""
        return self._answer("inverse_dynamics_derivatives", q, v, a)

    def casadi(self, question: str = "forward_dynamics", *, frame: str | None = None, reference: str = "aligned") -> Any:
        """A function of the tree as a `casadi.Function`, with its derivatives: (q, v, tau) → a for "forward_dynamics".

        question: the name of a method, "inverse_dynamics", "mass_matrix", "energy", "centroidal" …; with frame= "placement",
        "jacobian" or "bias_acceleration" of one frame. Inputs and outputs have the names of the graph's.
        """
        fn = self.function(question) if frame is None else self.frame_function(frame, question, reference)
        return casadi_function(question, fn, [port.name for port in fn.outputs])

    # --- inverse kinematics --------------------------------------------------------------------------------------

    def reach(
        self, targets: Mapping[Any, Any], near: ArrayLike | None = None, *, limits: bool = True, attempts: int = 10,
        tolerance: float = 1e-9, seed: int = 0,
    ) -> Reached | ReachedMany:  # fmt: skip
        """Inverse kinematics: a configuration that brings frames to their targets, within the joint limits and as near to
        `near` as possible.

        Parameters
        ----------
        targets: frame, by name or `tree.frame(…).at(…)` → position (3,), m; rotation (3, 3); (R, p); or a matrix (4, 4), all in
            the world. Or batches of k of them, the batch first; three positions are (None, p), since (3, 3) is a rotation.
        near: where the search starts, and the configuration to stay near to, (nq,) or (k, nq); `neutral` by default.
        limits: whether joints keep the limits of the tree.
        attempts: searches, the first from `near`, the others from random configurations until one succeeds; seed: of those.
        tolerance: m and rad.

        Returns
        -------
        `Reached`: `.q`, `.error`, `.ok`, `.message`, `.errors`. If the target is out of reach: the best configuration found,
        and its error. For a batch `ReachedMany`, with `.q` (k, nq), `.error`, `.ok` (k,); each target is solved independently.
        """
        return reach(self, targets, near, limits=limits, attempts=attempts, tolerance=tolerance, seed=seed)


__all__ = ["TreeDynamics"]
