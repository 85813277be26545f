"""Robots, meshes and a model as texts, whole: what the fuzzers damage."""

from __future__ import annotations

INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
VISUAL = '<visual><origin xyz="0 0 1" rpy="0 0 0"/><geometry><box size="1 2 3"/></geometry></visual>'
ROBOT = (
    f'<?xml version="1.0"?><robot name="r"><link name="base"/><link name="arm">{INERTIAL}{VISUAL}</link>'
    f'<link name="hand">{INERTIAL}'
    '<visual><geometry><mesh filename="part.obj" scale="1 1 1"/></geometry></visual></link><joint name="a" type="revolute">'
    '<parent link="base"/><child link="arm"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
    '<joint name="b" type="prismatic"><origin xyz="1 0 0" rpy="0 1.5708 0"/><parent link="arm"/><child link="hand"/>'
    '<axis xyz="1 0 0"/><dynamics damping="0.1"/></joint></robot>'
)
MJCF = (
    '<mujoco model="m"><compiler meshdir="."/><option gravity="0 0 -9.81"/><default><joint damping="0.1"/></default>'
    '<worldbody><body name="arm" pos="0 0 1"><joint name="a" type="hinge" axis="0 1 0" range="-90 90" limited="true"/>'
    '<geom type="capsule" size="0.05 0.2"/><body name="hand" pos="0.4 0 0"><joint name="b" type="slide" axis="1 0 0"/>'
    '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body></body><body name="free"><freejoint/>'
    '<geom size="0.1"/></body></worldbody><equality><joint joint1="a" joint2="b" polycoef="0 1 0 0 0"/></equality>'
    '<actuator><motor joint="a" gear="2"/></actuator></mujoco>'
)
SDF = (
    '<?xml version="1.0"?><sdf version="1.9"><model name="m"><pose>0 0 1 0 0 0.5</pose><link name="base"/><link name="arm">'
    '<pose relative_to="a">0 0 0.2 0 0 0</pose><inertial><mass>1</mass><inertia><ixx>1</ixx><iyy>1</iyy><izz>1</izz></inertia>'
    '</inertial><visual name="v"><geometry><box><size>1 2 3</size></box></geometry></visual></link><frame name="f"'
    ' attached_to="arm"/><joint name="w" type="fixed"><parent>world</parent><child>base</child></joint><joint name="a"'
    ' type="revolute"><pose relative_to="base">0 0 1 0 0 0</pose><parent>base</parent><child>arm</child><axis><xyz>0 1 0</xyz>'
    '<limit><lower>-1</lower><upper>1</upper></limit><dynamics><damping>0.1</damping><friction>0.2</friction></dynamics></axis>'
    '</joint><joint name="l" type="ball"><parent>world</parent><child>arm</child></joint></model></sdf>'
)
CORNERS = ((0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1))
FACES = ((1, 2, 3), (1, 2, 4), (2, 3, 4), (1, 3, 4))
OBJ = "".join(f"v {x} {y} {z}\n" for x, y, z in CORNERS) + "".join(f"f {a} {b} {c}\n" for a, b, c in FACES)
STL = "solid s\n" + "".join(
    "facet normal 0 0 0\n" + "".join("vertex {} {} {}\n".format(*CORNERS[k - 1]) for k in face) + "endfacet\n" for face in FACES
)
DAE = (
    '<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org"><asset><unit meter="0.1"/><up_axis>Y_UP</up_axis></asset>'
    '<library_geometries><geometry id="g"><mesh><source id="s">'
    '<float_array id="f" count="12">0 0 0 1 0 0 0 1 0 0 0 1</float_array>'
    '</source><vertices id="v"><input semantic="POSITION" source="#s"/></vertices><triangles count="2"><input semantic="VERTEX"'
    ' source="#v" offset="0"/><p>0 1 2 0 1 3</p></triangles></mesh></geometry></library_geometries><library_visual_scenes>'
    '<visual_scene id="x"><node><rotate>0 0 1 90</rotate><instance_geometry url="#g"/></node></visual_scene>'
    "</library_visual_scenes></COLLADA>"
)
MODEL = """\
format = 1
name = "cart"
coordinates = ["x", "phi"]
kinetic = "M*x'^2/2 + m*(x'^2 + 2*l*x'*phi'*cos(phi) + l^2*phi'^2)/2"
potential = "-m*g*l*cos(phi)"

[units]
x = "m"
phi = "rad"

[parameters]
M = "2 kg"
m = "0.5 kg"
l = "40 cm"
g = "9.81 m/s^2"
mu = 0.2

[prescribed]
F = {table = "record.csv", time = "t", value = "force", hold = "linear", unit = "N"}

[forces]
x = "F - 0.1*x'"

[[walls]]
name = "stop"
gap = "2 - x"
restitution = 0.8

[[friction]]
name = "hinge"
slip = "phi'"
limit = "mu*0.1"

[start]
x = "10 cm"
phi = "30 deg"

[run]
until = "2 s"
rtol = 1e-8

[sweep]
m = {from = "0.1 kg", to = "1 kg", points = 5}
"""
TABLE = "t,force\n0,0\n0.5,1\n1,0.5\n2,0\n"
