"""A warp a limb: the numbers of one thread a state, on random trees; limbs as they grow."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from tests.backends.cuda.cuda_text import call_kernel, on_host, to_ptx

from appell.backends.cuda.cuda_text import limb_kernel_source
from appell.backends.cuda.limb_warps import Shares
from appell.tree import Inertia, Joint, Placement, Tree
from appell.tree.limbs import limbs_of


def walker(seed, legs, stem=0, links=3):
    """A floating trunk, a stem of hinges on it with two arms at its end, and legs at the trunk."""
    rng = np.random.default_rng(seed)
    joints = []

    def grow(name, before, kind="revolute"):
        place = Placement(Rotation.from_rotvec(rng.normal(size=3)).as_matrix(), 0.4 * rng.normal(size=3))
        body = Inertia.at_centre(rng.uniform(1, 2), 0.2 * rng.normal(size=3), 0.1 * np.eye(3))
        joints.append(Joint(name, kind, before, place, rng.normal(size=3).tolist(), body, armature=0.1 * (kind == "revolute")))
        return name

    trunk = top = grow("trunk", None, "floating")
    for k in range(stem):
        top = grow(f"stem{k}", top)
    for limb in [f"leg{k}" for k in range(legs)] + ["left", "right"] * (stem > 0):
        before = trunk if limb.startswith("leg") else top
        for k in range(links):
            before = grow(f"{limb}{k}", before)
    return Tree(joints, backend="vm")


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize(("question", "scalar", "legs", "stem"), [
    ("forward_dynamics", "double", 2, 1), ("inverse_dynamics", "float", 3, 0),
])  # fmt: skip
def test_the_kernel_has_the_arithmetic_of_the_graph(question, scalar, legs, stem, staged, tmp_path):
    tree = walker(legs, legs, stem, links=2)
    fn = tree.function(question)
    limbs = limbs_of(tree.layout, fn)
    rng = np.random.default_rng(1)
    states = [rng.normal(size=(5, *port.shape)) for port in fn.inputs]
    states[0][:, 3:7] /= np.linalg.norm(states[0][:, 3:7], axis=1)[:, None]
    states[-1] = states[-1][0]  # one input the same for all
    source, _ = limb_kernel_source(fn, limbs, scalar, staged=staged)
    (found,) = call_kernel(on_host(source, tmp_path), fn, states, scalar)
    for k in range(5):
        (right,) = fn(states[0][k], states[1][k], states[2]).values()
        assert np.abs(found[k] - right).max() < (1e-13 if scalar == "double" else 1e-4) * np.abs(right).max()


def test_nvrtc_compiles_it():
    tree = walker(0, 3, links=2)
    fn = tree.function("forward_dynamics")
    for staged in (False, True):
        assert b"barrier.sync" in to_ptx(limb_kernel_source(fn, limbs_of(tree.layout, fn), "float", staged=staged)[0])


def test_limbs_are_the_subtrees_that_meet():
    tree = walker(0, 2, stem=2)
    fn = tree.function("forward_dynamics")
    limbs = limbs_of(tree.layout, fn)
    assert limbs.count == 4  # two legs, two arms; trunk and stem are where they meet
    of = lambda name: limbs.outputs[0][next(node.iv for node in tree.nodes if node.name == name)]
    assert of("trunk") == of("stem0") == of("stem1") == -1
    assert [len({of(f"{limb}{k}") for k in range(3)}) for limb in ("leg0", "leg1", "left", "right")] == [1, 1, 1, 1]
    assert sorted(of(f"{limb}0") for limb in ("leg0", "leg1", "left", "right")) == [0, 1, 2, 3]
    assert limbs_of(tree.layout, tree.function("mass_matrix")) is None
    chain = walker(0, 1)
    assert limbs_of(chain.layout, chain.function("forward_dynamics")) is None


def test_every_instruction_is_done_once_where_it_is_needed():
    """Every value of a limb and of the middle by one warp, and known, or shared before a barrier, where it is used."""
    tree = walker(3, 2, stem=1)
    fn = tree.function("forward_dynamics")
    shares = Shares.of(fn.instructions, limbs_of(tree.layout, fn))
    anywhere = {item.out for item in fn.instructions if item.op in ("input", "const")}
    stages = [{}, {}, {}]  # value: warp
    for warp, program in enumerate(shares.programs):
        stage, known = 0, set(anywhere)
        for item in program:
            if item.op == "meet":
                stage += 1
                continue
            assert all(arg in known or arg in shares.slot for arg in item.args)
            if item.op != "output":
                known.add(item.out)
                stages[stage].setdefault(item.out, set()).add(warp)
    results = [item for program in shares.programs for item in program if item.op == "output"]
    assert len(results) == len(set(results)) == tree.nv
    for value in shares.slot:  # made by one warp alone
        assert sum(len(stage.get(value, ())) for stage in stages) == 1
    made = set().union(*stages)
    assert made == {item.out for item in fn.instructions if item.op != "output"} - anywhere
