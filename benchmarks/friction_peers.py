"""Problems with dry friction in codes that step over it: final states, and the CPU time it took."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from benchmarks.penalty import exudyn_end

Array = NDArray[np.float64]


# -- a mass on a spring with dry friction: x(0) = 1 at rest, m = 1, k = 100, |friction| <= 2; (x, ẋ) at the end --------------


def mujoco_oscillator(until: float, step: float) -> tuple[Array, float]:
    """MuJoCo: a slide joint with `stiffness` and `frictionloss`, its constraint as stiff as the step allows."""
    import mujoco

    hard = f'solreffriction="{2 * step} 1" solimpfriction="0.9999 0.9999 0.001"'
    model = mujoco.MjModel.from_xml_string(f"""
        <mujoco><option timestep="{step}" gravity="0 0 0" integrator="RK4" tolerance="1e-14"/>
        <worldbody><body><joint type="slide" axis="1 0 0" stiffness="100" frictionloss="2" {hard}/>
        <geom type="sphere" size="0.1" mass="1"/></body></worldbody></mujoco>""")
    data = mujoco.MjData(model)
    data.qpos[0] = 1.0
    begin = time.process_time()
    mujoco.mj_step(model, data, round(until / step))
    return np.array([data.qpos[0], data.qvel[0]]), time.process_time() - begin


def exudyn_oscillator(until: float, step: float) -> tuple[Array, float]:
    """Exudyn: `CoordinateSpringDamper` with `frictionForce`, smoothed over a speed that falls with the step."""
    import exudyn
    import exudyn.itemInterface as items

    mbs = exudyn.SystemContainer().AddSystem()
    node = mbs.AddNode(items.Node1D(referenceCoordinates=[0.0], initialCoordinates=[1.0]))
    mbs.AddObject(items.ObjectMass1D(mass=1.0, nodeNumber=node))
    ground = mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=mbs.AddNode(items.NodePointGround()), coordinate=0))
    mass = mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=node, coordinate=0))
    law = {"fDynamicFriction": 2.0, "fStaticFrictionOffset": 0.0, "frictionProportionalZone": max(10 * step, 1e-5)}
    mbs.AddObject(items.CoordinateSpringDamperExt(markerNumbers=[ground, mass], stiffness=100.0, **law))
    mbs.Assemble()
    return exudyn_end(mbs, node, until, step, 0.9)


# -- a ball thrown without spin: v0 = 7, μ = 0.12, r = 0.11, m = 7; (x, ẋ, φ̇) at the end -------------------------------------


def mujoco_ball(until: float, step: float) -> tuple[Array, float]:
    """MuJoCo: a free sphere on a plane, elliptic cones, contact as stiff as the step allows."""
    import mujoco

    hard = f'friction="0.12 0 0" solref="{2 * step} 1" solimp="0.9999 0.9999 0.001" condim="3"'
    model = mujoco.MjModel.from_xml_string(f"""
        <mujoco><option timestep="{step}" gravity="0 0 -9.81" cone="elliptic" impratio="100" tolerance="1e-14"/>
        <worldbody><geom type="plane" size="50 5 .1" {hard}/>
        <body pos="0 0 0.11"><freejoint/><geom type="sphere" size="0.11" mass="7" {hard}/></body></worldbody></mujoco>""")
    data = mujoco.MjData(model)
    data.qvel[0] = 7.0
    begin = time.process_time()
    mujoco.mj_step(model, data, round(until / step))
    return np.array([data.qpos[0], data.qvel[0], data.qvel[4]]), time.process_time() - begin


def drake_ball(until: float, step: float) -> tuple[Array, float]:
    """Drake: a discrete `MultibodyPlant` with point contact (SAP), as stiff as it takes."""
    from pydrake.geometry import AddContactMaterial, HalfSpace, ProximityProperties, Sphere
    from pydrake.math import RigidTransform
    from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction
    from pydrake.multibody.tree import SpatialInertia, UnitInertia
    from pydrake.systems.analysis import Simulator
    from pydrake.systems.framework import DiagramBuilder

    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, step)
    ball = plant.AddRigidBody("ball", SpatialInertia(7.0, [0, 0, 0], UnitInertia.SolidSphere(0.11)))
    for body, pose, shape in (
        (plant.world_body(), RigidTransform(), HalfSpace()),
        (ball, RigidTransform(), Sphere(0.11)),
    ):
        properties = ProximityProperties()
        AddContactMaterial(point_stiffness=1e8, dissipation=10.0, friction=CoulombFriction(0.12, 0.12), properties=properties)
        plant.RegisterCollisionGeometry(body, pose, shape, body.name(), properties)
    plant.Finalize()
    diagram = builder.Build()
    simulator = Simulator(diagram)
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    plant.SetFreeBodyPose(context, ball, RigidTransform([0, 0, 0.11]))
    state = plant.GetPositionsAndVelocities(context).copy()
    state[-3:] = [7.0, 0.0, 0.0]
    plant.SetPositionsAndVelocities(context, state)
    simulator.Initialize()
    begin = time.process_time()
    simulator.AdvanceTo(until)
    spent = time.process_time() - begin
    pose, velocity = ball.EvalPoseInWorld(context), ball.EvalSpatialVelocityInWorld(context)
    return np.array([pose.translation()[0], velocity.translational()[0], velocity.rotational()[1]]), spent
