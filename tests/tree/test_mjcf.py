"""MJCF through MuJoCo's compiler, against MuJoCo itself: every element that is read, and those that are refused by name."""

import pickle

import numpy as np
import pytest

import appell as ap
from appell.errors import ModelError
from appell.normal_form import normal_form
from appell.tree import Tree

mujoco = pytest.importorskip("mujoco", reason="the extra [mujoco] is not installed")

from tests.tree.mujoco_peer import MuJoCoTwin  # noqa: E402

GEOM = "<geom type='box' size='0.1 0.07 0.2' pos='0.03 0.1 -0.1' euler='10 20 30' density='800'/>"
ARM = f"""
<mujoco model="arm"><option gravity="0.3 -0.2 -9.5"/>
<worldbody>
  <body name="trunk" pos="0.1 0.2 1" euler="5 10 15" gravcomp="0.4">{GEOM}
    <joint name="slide" type="slide" axis="1 2 0.5" pos="0.1 0 0.2" ref="0.3" stiffness="30" springref="0.1" damping="2"/>
    <joint name="hip" axis="0 1 0.3" pos="0 0.05 0.1" ref="20" armature="0.07" damping="0.3"/>
    <joint name="knee" axis="1 0 0" pos="0.2 0 0" range="-30 60" limited="true"/>
    <site name="tip" pos="0.1 0 0.3" euler="0 30 0"/>
    <body name="ball" pos="0.3 0 0.1" quat="0.9 0.1 0.3 0.2">{GEOM}
      <joint name="socket" type="ball" pos="0.02 -0.03 0.05" armature="0.02" damping="0.1" range="0 40" limited="true"/>
      <body name="hand" pos="0 0.1 0.3">{GEOM}</body>
    </body>
    <body name="finger" pos="-0.1 0 0.2">
      <inertial pos="0.01 0 0.04" mass="0.3" fullinertia="0.003 0.002 0.004 1e-4 2e-4 -3e-4"/>
      <joint name="finger" type="hinge" axis="0 0 1" frictionloss="0.2"/></body>
  </body>
  <body name="box" pos="1 0 2" euler="20 30 40">{GEOM}<freejoint/><body pos="0 0 0.3">{GEOM}<joint axis="0 1 0"/></body></body>
</worldbody>
<tendon><fixed name="cable" stiffness="12" springlength="0.2" damping="0.4" range="-3 3" limited="true" frictionloss="0.1">
  <joint joint="hip" coef="0.5"/><joint joint="knee" coef="-0.8"/></fixed></tendon>
<actuator>
  <motor name="hip" joint="hip" gear="7" ctrlrange="-0.4 0.4" ctrllimited="true"/>
  <position name="servo" joint="knee" kp="20" kv="3" forcerange="-5 5" forcelimited="true"/>
  <motor name="winch" tendon="cable" gear="2"/>
  <motor name="jet" site="tip" gear="1 2 3 0.1 0.2 0.3"/>
  <general name="lag" joint="finger" dyntype="filter" dynprm="0.1" gainprm="3"/>
</actuator>
</mujoco>"""


@pytest.fixture(scope="module")
def arm() -> MuJoCoTwin:
    return MuJoCoTwin(mujoco.MjModel.from_xml_string(ARM))


def test_every_element_that_is_read(arm: MuJoCoTwin):
    """1e-10: rounding of both, relative to the largest entry."""
    rng = np.random.default_rng(1)
    assert max(arm.inverse_error(rng) for _ in range(3)) < 1e-10
    assert arm.forward_error(rng) < 1e-10
    tree = arm.tree
    assert [node.name for node in tree.nodes][:4] == ["slide", "hip", "knee", "socket"] and tree.nq == arm.model.nq
    assert tree.gravity == (0.3, -0.2, -9.5) and list(tree.actuators) == ["hip", "servo", "winch", "jet", "lag"]
    assert any("'lag' has an activation" in note for note in tree.notes)


def test_frames_are_bodies_and_sites(arm: MuJoCoTwin):
    q, v, _ = arm.state(np.random.default_rng(2))
    data = arm.data(q, v)
    mujoco.mj_forward(arm.model, data)
    for name in ("trunk", "ball", "hand", "box"):
        R, p = arm.tree.placement(name, q)
        np.testing.assert_allclose(p, data.body(name).xpos, atol=1e-12)
        np.testing.assert_allclose(R.ravel(), data.body(name).xmat, atol=1e-12)
    R, p = arm.tree.placement("tip", q)
    np.testing.assert_allclose(p, data.site("tip").xpos, atol=1e-12)
    np.testing.assert_allclose(R.ravel(), data.site("tip").xmat, atol=1e-12)
    np.testing.assert_allclose(arm.tree.placement("finger", q)[1], data.body("finger").xpos, atol=1e-12)


def test_limits_and_dry_friction_are_rows_of_the_system():
    tree = Tree.from_mjcf(ARM, actuators=False, backend="vm")
    system = tree.system()
    assert {face.name for face in system.unilateral} == {"knee:lower", "knee:upper", "socket", "cable:lower", "cable:upper"}
    assert {float(fr.limit) for fr in system.frictions if fr.limit is not None} == {0.2, 0.1} and not system.parameters
    socket = next(face.function for face in system.unilateral if face.name == "socket")
    w = tree.joint("socket")[3]
    assert float(socket.subs(w, np.cos(np.radians(20)))) == pytest.approx(0, abs=1e-12)
    assert pickle.loads(pickle.dumps(tree)).fittings == tree.fittings
    assert tree.lock({"knee": 0.1}).fittings[-1].joints == ("hip",)  # the cable goes on along the other joint


def test_a_jet_on_a_part_that_is_locked_to_the_ground_pushes_nothing():
    """Its input stays. A site of the world is such a part from the beginning."""
    tree = Tree.from_mjcf(ARM, backend="vm").lock({"slide": 0.3, "hip": 0.35, "knee": 0.1})
    assert tree.actuators["jet"] not in tree.system().parameters and "jet" in tree.actuators
    post = '<site name="post"/><body name="trunk"'
    fixed = ARM.replace('<body name="trunk"', post).replace('site="tip" gear', 'site="post" gear')
    assert Tree.from_mjcf(fixed, backend="vm").system().coordinates


LINKAGE = """
<mujoco><worldbody>
  <body name="a"><geom size="0.1" pos="0.5 0 0"/><joint name="a" axis="0 1 0"/>
    <body name="b" pos="1 0 0"><geom size="0.1" pos="0.5 0.1 0"/><joint name="b" axis="0 1 0" ref="10"/></body></body>
  <body name="c" pos="2 0 0"><geom size="0.1" pos="0 0 0.3"/><joint name="c" axis="0 1 0"/><joint name="d" axis="1 0 0"/></body>
  <body name="e" pos="0 2 0"><geom size="0.1"/><freejoint/></body>
  <body name="f" pos="0 3 0"><geom size="0.1"/><joint name="f" type="slide"/><joint name="g" type="slide" axis="0 1 0"/></body>
</worldbody>
<tendon><fixed name="s"><joint joint="f" coef="2"/><joint joint="g" coef="-1"/></fixed>
        <fixed name="t"><joint joint="a" coef="1"/><joint joint="d" coef="3"/></fixed></tendon>
<equality>
  <connect name="pin" body1="b" body2="c" anchor="1 0 0"/>
  <weld name="glue" body1="e" body2="c" relpose="0.1 0.2 0.3 0.8 0.1 0.2 0.3"/>
  <joint name="gear" joint1="a" joint2="b" polycoef="0 0.5 0.2 0 0"/>
  <joint name="held" joint1="f" polycoef="0.1 0 0 0 0"/>
  <tendon name="tied" tendon1="s" tendon2="t" polycoef="0 2 0 0 0"/>
  <connect name="off" body1="a" body2="c" anchor="0 0 0" active="false"/>
</equality></mujoco>"""


def test_equalities_are_exact_rows_with_mujocos_jacobian():
    """Their rows span those of efc_J at the configuration of the file, where connect, gear and tie hold there and here."""
    model = mujoco.MjModel.from_xml_string(LINKAGE)
    tree = Tree.from_mjcf(model, backend="vm")
    system = tree.system()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    J = np.zeros((data.nefc, model.nv))
    if mujoco.mj_isSparse(model):
        mujoco.mju_sparse2dense(J, data.efc_J, data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind)
    else:
        J[:] = data.efc_J.reshape(J.shape)
    q = tree.from_mujoco(data.qpos)
    form = normal_form(system)
    A = np.asarray(form.select("A1")(0.0, q, np.zeros(tree.nv), np.zeros(0))["A1"], float)
    names = [row.constraint.name for row in form.rows]
    held = [k for k, name in enumerate(names) if not name.startswith("glue")]
    theirs = [k for k in range(data.nefc) if data.efc_id[k] != 1]
    both = [np.linalg.matrix_rank(x, tol=1e-9) for x in (A[held], J[theirs], np.vstack([A[held], J[theirs]]))]
    assert both == [4, 4, 4]  # the pin is stretched out straight, and moves across alone
    residuals = dict(zip(names, form.select("f0")(0.0, q, np.zeros(tree.nv), np.zeros(0))["f0"], strict=True))
    assert residuals["held"] == pytest.approx(-0.1) and residuals["a follows b"] == pytest.approx(0, abs=1e-12)
    assert any("'off' is not active" in note for note in tree.notes)


def test_a_weld_holds_the_pose_that_mujoco_means():
    weld = "<weld name='glue' body1='c' body2='e' anchor='0.1 0 0.2' relpose='0.1 0.2 0.3 0.8 0.1 0.2 0.3'/>"
    text = f"{LINKAGE.split('<equality>')[0]}<equality>{weld}</equality></mujoco>"
    model = mujoco.MjModel.from_xml_string(text)
    tree = Tree.from_mjcf(model, backend="vm")
    near = {"x": 2.1, "y": 0.2, "z": 0.3}
    names = ("base_x", "base_y", "base_z", "base_w")
    for turn in ((0.1, 0.2, 0.3, 0.9), (0.2, 0.9, -0.2, 0.3)):  # the second: nearer to half a turn off
        start = ap.consistent(tree.system(), near | dict(zip(names, turn, strict=True)))
        data = mujoco.MjData(model)
        data.qpos[:] = tree.to_mujoco(np.array([start[q] for q in tree.system().coordinates]))
        mujoco.mj_forward(model, data)
        assert abs(data.efc_pos[: data.ne]).max() < 1e-9


RANGE = "actuatorfrcrange='-0.1 0.2'"
CABLE = "<tendon><fixed name='t' {}><joint joint='j' coef='0.5'/><joint joint='k' coef='-0.8'/></fixed></tendon>"
MOTOR = "<actuator><motor {} gear='-3'/></actuator>"
ACTING = {
    "weights that nothing pulls down": ("<option><flag gravity='disable'/></option>", "gravcomp='1'", "", ""),
    "a weight that would be doubled": ("", "gravcomp='-1'", "", ""),  # MuJoCo compensates if some fraction is positive
    "inputs that are not kept": ("<option><flag clampctrl='disable'/></option>", "", "",
                                 MOTOR.format("joint='j' ctrlrange='-0.1 0.1'")),
    "a range of a joint": ("", "", RANGE, MOTOR.format("joint='j'")),
    "a range of a tendon": ("", "", "", CABLE.format(RANGE) + MOTOR.format("tendon='t'")),
    "actuators that carry weights": ("", "gravcomp='0.7'", "actuatorgravcomp='true'", MOTOR.format("joint='k'")),
}  # fmt: skip


@pytest.mark.parametrize("case", ACTING)
def test_ranges_flags_and_carried_weights(case: str):
    option, body, joint, end = ACTING[case]
    inner = f"<body pos='0.3 0 0'>{GEOM}<joint name='k' type='slide' axis='1 0 0'/></body>"
    whole = f"<body pos='0 0 1' {body}>{GEOM}<joint name='j' axis='0 1 0.2' {joint}/>{inner}</body>"
    twin = MuJoCoTwin(mujoco.MjModel.from_xml_string(f"<mujoco>{option}<worldbody>{whole}</worldbody>{end}</mujoco>"))
    rng = np.random.default_rng(4)
    assert max(twin.forward_error(rng) for _ in range(3)) < 1e-10


ROPE = "<tendon><spatial name='rope' stiffness='1'><site site='s'/><site site='w'/></spatial></tendon>"
CRANK = "<actuator><motor name='crank' cranksite='s' slidersite='w' cranklength='1'/></actuator>"
MUSCLE = "<actuator><muscle name='flexor' joint='j' lengthrange='0 1'/></actuator>"
THRUST = "<actuator><motor site='s' gear='0 1 0 0 0 0'/></actuator>"
REFUSED = {
    "<option density>": ("<option density='1'/>", "", ""),
    "stiffness of ball or free joint 'b'": ("", "<joint name='b' type='ball' stiffness='1'/>", ""),
    "armature of free joint 'b'": ("", "<joint name='b' type='free' armature='1'/>", ""),
    "<spatial> tendon 'rope'": ("", "<joint/>", ROPE),
    "actuator 'crank' acts through slidercrank": ("", "<joint/>", CRANK),
    "gain of actuator 'flexor'": ("", "<joint name='j'/>", MUSCLE),
    "actuatorfrcrange of joint 'j', on which several": ("", f"<joint name='j' {RANGE}/>", THRUST),
    "actuatorfrcrange of joint 'j', whose actuators carry": ("", f"<joint name='j' {RANGE} actuatorgravcomp='true'/>", THRUST),
    "joint 'j' has actuatorgravcomp, and no actuator acts": ("", "<joint name='j' actuatorgravcomp='true'/>", ""),
    "does not compile it": ("", "<joint kind='x'/>", ""),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_not_read_is_refused_by_name(message: str):
    option, joint, end = REFUSED[message]
    body = f"<body gravcomp='0.5'>{joint}<geom size='0.1'/><site name='s'/></body>"
    text = f"<mujoco>{option}<worldbody><site name='w' pos='0 0 1'/>{body}</worldbody>{end}</mujoco>"
    with pytest.raises(ModelError, match=message):
        Tree.from_mjcf(text)


def test_a_motion_with_stops_equality_and_inputs(tmp_path):
    """A pendulum whose gear drives a flywheel falls onto its stop; the file, its path and the open file give the same tree."""
    path = tmp_path / "robot.xml"
    path.write_text(
        "<mujoco><compiler angle='radian'/><worldbody>"
        "<body><joint name='p' axis='0 1 0' range='-1 0.5' limited='true'/><geom size='0.1' pos='0 0 -1'/></body>"
        "<body><joint name='w' axis='0 1 0'/><geom size='0.3'/></body></worldbody><equality><joint joint1='w' joint2='p'"
        " polycoef='0 3 0 0 0'/></equality><actuator><motor name='m' joint='w'/></actuator></mujoco>"
    )
    with path.open() as file:
        trees = [Tree.from_file(source, backend="vm") for source in (path, file, path.read_text())]
    assert len({str(tree.fittings) for tree in trees}) == 1 and str(trees[0].actuators["m"]) == "u_m"
    motion = ap.simulate(trees[0], {"p": 0.1, "w": 0.3}, 2.0, {"u_m": 300.0}, backend="vm")
    assert motion["p"].max() == pytest.approx(0.5, abs=1e-9)
    np.testing.assert_allclose(motion["w"], 3 * motion["p"], atol=1e-9)
