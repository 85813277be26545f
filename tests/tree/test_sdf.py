"""SDF files: poses relative to everything, loops, losses; the same robot as in URDF, and what is refused."""

import numpy as np
import pytest

import appell as ap
from appell.errors import ModelError
from appell.tree import Tree
from appell.tree.inertia import Placement, place

INERTIA = "<ixx>0.03</ixx><iyy>0.04</iyy><izz>0.02</izz><ixy>0.001</ixy><ixz>-0.002</ixz><iyz>0.003</iyz>"


def body(name: str, pose: str = "", mass: float = 1.0, more: str = "") -> str:
    inertial = f"<inertial><pose>0.1 0 0.05 0.2 -0.1 0.3</pose><mass>{mass}</mass><inertia>{INERTIA}</inertia></inertial>"
    return f"<link name='{name}'>{pose}{inertial}{more}</link>"


ARM = f"""<?xml version='1.0'?><sdf version='1.9'><world name='w'><gravity>0.1 0 -3.7</gravity><model name='arm'>
<pose>0.5 0.2 1 0.1 0.2 0.3</pose>
{body("base")}
{body("upper", "<pose relative_to='shoulder'>0.05 0.1 0 0.3 0 0</pose>", 2.0)}
{body("lower", "<pose relative_to='upper' degrees='true'>0.3 0 0.4 10 20 30</pose>")}
{body("slider", "<pose rotation_format='quat_xyzw'>1 0.1 0.2 0.1 0.1 0.7 0.7</pose>", 0.5)}
<frame name='tool' attached_to='slider'><pose>0 0 0.2 0 0.5 0</pose></frame>
<joint name='foot' type='fixed'><parent>world</parent><child>base</child></joint>
<joint name='shoulder' type='revolute'><pose relative_to='base'>0 0 0.3 0.4 0 0</pose><parent>base</parent><child>upper</child>
  <axis><xyz>0 1 0.2</xyz><limit><lower>-2</lower><upper>1e16</upper><effort>30</effort></limit>
  <dynamics><damping>0.3</damping><friction>0.1</friction><spring_stiffness>4</spring_stiffness>
  <spring_reference>0.2</spring_reference></dynamics></axis></joint>
<joint name='elbow' type='universal'><pose>0 0.05 0 0 0.2 0</pose><parent>upper</parent><child>lower</child>
  <axis><xyz expressed_in='base'>1 0 0</xyz></axis><axis2><xyz>0 0 1</xyz></axis2></joint>
<joint name='slide' type='prismatic'><parent>lower</parent><child>slider</child>
  <axis><xyz expressed_in='__model__'>0 0.6 0.8</xyz></axis></joint>
</model></world></sdf>"""


def test_poses_axes_and_inertias_as_if_placed_by_hand():
    """Frames at q = 0 from the poses by hand; M from the velocities of the links: Σ Jᵀ I J."""
    tree = Tree.from_sdf(ARM, backend="vm")
    assert [node.name for node in tree.nodes] == ["shoulder", "elbow_1", "elbow_2", "slide"] and tree.gravity == (0.1, 0, -3.7)
    model, shoulder = place((0.5, 0.2, 1), (0.1, 0.2, 0.3)), place((0, 0, 0.3), (0.4, 0, 0))
    upper = model @ shoulder @ place((0.05, 0.1, 0), (0.3, 0, 0))
    lower = upper @ place((0.3, 0, 0.4), np.radians([10, 20, 30]))
    for name, there in {"upper": upper, "lower": lower, "shoulder": model @ shoulder}.items():
        R, p = tree.placement(name, tree.neutral)
        assert abs(R - there.R).max() < 1e-12 and abs(p - there.p).max() < 1e-12
    axes = {"shoulder": shoulder.R @ [0, 1, 0.2] / np.hypot(1, 0.2), "elbow_1": np.array([1, 0, 0])}
    for k, axis in enumerate(axes.values()):
        assert abs(tree.jacobian("slider", tree.neutral)[3:, k] - model.R @ axis).max() < 1e-12
    assert abs(tree.jacobian("tool", tree.neutral)[:3, 3] - model.R @ [0, 0.6, 0.8]).max() < 1e-12
    q, v = tree.random(3), np.array([0.3, -0.2, 0.5, 0.4])
    total = 0.0
    for name, mass in (("upper", 2.0), ("lower", 1.0), ("slider", 0.5)):
        R, _ = tree.placement(name, q)
        V = tree.jacobian(name, q) @ v
        own = place((0.1, 0, 0.05), (0.2, -0.1, 0.3))
        J = np.array([[0.03, 0.001, -0.002], [0.001, 0.04, 0.003], [-0.002, 0.003, 0.02]])
        turned, c = R @ own.R @ J @ own.R.T @ R.T, R @ own.p
        centre = V[:3] + np.cross(V[3:], c)
        total += mass * centre @ centre / 2 + V[3:] @ turned @ V[3:] / 2
    assert tree.kinetic_energy(q, v) == pytest.approx(total, rel=1e-12)


def test_what_is_stated_of_joints_acts_in_motions():
    tree = Tree.from_sdf(ARM, backend="vm")
    system = tree.system()
    assert [face.name for face in system.unilateral] == ["shoulder"] and len(system.frictions) == 1
    q = tree.joint("shoulder")
    assert float(system.potential.subs(q, 1.2)) == pytest.approx(2.0) and system.forces[0] == -0.3 * q.d
    assert tree.limits["shoulder"].effort == 30
    bare = Tree.from_file(ARM, limits=False, damping=False, friction=False, backend="vm")
    assert len(bare.fittings) == 1


def test_free_links_static_models_and_loops():
    """A four-bar linkage whose second pin closes a loop; a link of its own is free."""
    pin = lambda name, a, b, x: (f"<joint name='{name}' type='revolute'><pose relative_to='__model__'>{x} 0 0 0 0 0</pose>"
                                 f"<parent>{a}</parent><child>{b}</child><axis><xyz>0 1 0</xyz></axis></joint>")  # fmt: skip
    links = [body(name, f"<pose>{x} 0 0 0 0 0</pose>") for x, name in enumerate("abc")]
    pins = [pin("p", "world", "a", 0), pin("q", "a", "b", 1), pin("r", "world", "c", 3), pin("s", "b", "c", 2)]
    text = f"<sdf version='1.9'><model name='m'>{''.join(links)}{body('free')}{''.join(pins)}</model></sdf>"
    tree = Tree.from_sdf(text, backend="vm")
    assert [node.kind.name for node in tree.nodes] == ["revolute", "revolute", "revolute", "floating"]
    system = tree.system()
    assert sum(c.name.startswith("r: ") for c in system.constraints) == 5
    start = ap.consistent(system, {"p": 0.4, "q": -0.5, "s": 0.3})
    at = np.array([start[x] for x in system.coordinates])
    R, p = tree.placement("c", at)
    assert abs(p + R @ [1, 0, 0] - [3, 0, 0]).max() < 1e-9
    still = Tree.from_sdf(f"<sdf version='1.9'><model name='m'><static>true</static>{body('a')}</model></sdf>")
    assert still.nv == 0
    whole = f"<sdf version='1.9'><model name='m'><static>true</static>{''.join(links)}{''.join(pins)}</model></sdf>"
    assert Tree.from_sdf(whole).nv == 0 and not Tree.from_sdf(whole).fittings  # a static model does not move, joints or not


def test_frames_of_the_model_gravity_of_its_world_and_mimic_of_a_second_axis():
    """The model's own frame is on its canonical link; an axis of two is followed by its number; parents may be joints."""
    links = "".join(body(name) for name in "abc")
    pin = "<axis><xyz>0 1 0</xyz>{}</axis>"
    two = "<axis/><axis2><xyz>1 0 0</xyz></axis2>"
    cross = f"<joint name='u' type='universal'><parent>world</parent><child>a</child>{two}</joint>"
    arm = f"<joint name='j' type='revolute'><parent>a</parent><child>b</child>{pin.format('')}</joint>"
    mimic = "<mimic joint='u' axis='axis2'><multiplier>2</multiplier></mimic>"
    hand = f"<joint name='k' type='revolute'><parent>j</parent><child>c</child>{pin.format(mimic)}</joint>"
    model = f"<model name='m' canonical_link='b'>{links}<frame name='f'/>{cross}{arm}{hand}</model>"
    empty = "<world name='moon'><gravity>0 0 -1.6</gravity></world>"
    world = f"<world name='w'><gravity>0 0 -3</gravity>{model}</world>"
    tree = Tree.from_sdf(f"<sdf version='1.9'>{empty}{world}</sdf>", backend="vm")
    assert tree.gravity == (0, 0, -3) and [c.of for c in tree.fittings] == ["u_2"]
    assert abs(tree.jacobian("f", tree.neutral)[3:, tree.indices("j")[1]]).max() == 1


def joint(inner: str, kind: str = "revolute", parent: str = "a", child: str = "b") -> str:
    return f"<joint name='j' type='{kind}'><parent>{parent}</parent><child>{child}</child>{inner}</joint>"


REFUSED = {
    "joint 'j' is of the type 'screw'": joint("", "screw"),
    "joint 'j' names 'z', which is no link": joint("", child="z"),
    "'j' names the frame 'z'": joint("<pose relative_to='z'>0 0 0 0 0 0</pose>"),
    "the pose of joint 'j': <pose>0 0</pose> must be 6": joint("<pose>0 0</pose>"),
    "relative to each other in a circle": joint("<pose relative_to='f'/>") + "<frame name='f'><pose relative_to='j'/></frame>",
    "joint 'j': <lower>low</lower> is not a number": joint("<axis><limit><lower>low</lower></limit></axis>"),
    "the world is the child": joint("", parent="a", child="world"),
    "axis of joint 'j' has length 0": joint("<axis><xyz>0 0 0</xyz></axis>"),
    "has <include>: included models are not read": "<include><uri>model://x</uri></include>",
    "frame 'g' is attached to 'z'": "<frame name='g' attached_to='z'/>",
    "the pose of joint 'j': its quaternion has the length 2": joint(
        "<pose rotation_format='quat_xyzw'>0 0 0 0 0 0 2</pose>"
    ),
    "two elements have the name 'a'": "<frame name='a'/>",
    "joint 'j' joins link 'a' to itself": joint("", child="a"),
    "frame='a' of SDF 1.5 and 1.6 is not read": joint("<pose frame='a'>0 0 1 0 0 0</pose>"),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_not_read_is_refused_by_name(message: str):
    with pytest.raises(ModelError, match=message):
        Tree.from_sdf(f"<sdf version='1.9'><model name='m'>{body('a')}{body('b')}{REFUSED[message]}</model></sdf>")


def test_one_model_of_several_is_chosen():
    two = "".join(f"<model name='{name}'>{body('a')}</model>" for name in ("m", "n"))
    with pytest.raises(ModelError, match=r"there are 'm', 'n': choose by model="):
        Tree.from_sdf(f"<sdf version='1.9'>{two}</sdf>")
    assert Tree.from_sdf(f"<sdf version='1.9'>{two}</sdf>", model="n").name == "n"


def test_its_shapes_are_drawn():
    red = "<material><diffuse>1 0 0 1</diffuse></material>"
    shape = "<visual name='v'><pose>0 0 1 0 0 0</pose><geometry>{}</geometry>" + red + "</visual>"
    kinds = ["<box><size>1 2 3</size></box>", "<capsule><radius>0.1</radius><length>1</length></capsule>", "<box/>"]
    text = f"<sdf version='1.9'><model name='m'>{body('a', more=''.join(map(shape.format, kinds)))}</model></sdf>"
    tree = Tree.from_sdf(text)
    scene = ap.Scene(tree)
    assert len(scene.items) == 2 and "<box> has no <size>" in scene.notes[0] and tree.shapes[0].colour == "#ff0000"
    assert isinstance(tree.shapes[0].placement, Placement)
