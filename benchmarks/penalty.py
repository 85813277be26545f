"""A ball of 1 kg dropped from 1 m in codes with soft contacts: final height and speed, and the CPU time it took."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def mujoco_ball(until: float, step: float, stiffness: float) -> tuple[Array, float]:
    """MuJoCo, RK4, contact by `solref` = (−k, 0)."""
    import mujoco

    soft = f'solref="{-stiffness} 0" solimp="0.999 0.999 0.001"'
    model = mujoco.MjModel.from_xml_string(f"""
        <mujoco><option timestep="{step}" gravity="0 0 -9.81" integrator="RK4"/>
        <worldbody><geom type="plane" size="5 5 .1" {soft}/>
        <body pos="0 0 1.1"><joint type="slide" axis="0 0 1"/><geom type="sphere" size="0.1" mass="1" {soft}/></body>
        </worldbody></mujoco>""")
    data = mujoco.MjData(model)
    begin = time.process_time()
    mujoco.mj_step(model, data, round(until / step))
    spent = time.process_time() - begin
    return np.array([1 + data.qpos[0], data.qvel[0]]), spent


def exudyn_ball(until: float, step: float, stiffness: float) -> tuple[Array, float]:
    """Exudyn, generalized-alpha without numerical damping, `ObjectContactCoordinate`."""
    import exudyn
    import exudyn.itemInterface as items

    mbs = exudyn.SystemContainer().AddSystem()
    node = mbs.AddNode(items.Node1D(referenceCoordinates=[0.0], initialCoordinates=[1.0]))
    mbs.AddObject(items.ObjectMass1D(mass=1.0, nodeNumber=node))
    ground = mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=mbs.AddNode(items.NodePointGround()), coordinate=0))
    ball = mbs.AddMarker(items.MarkerNodeCoordinate(nodeNumber=node, coordinate=0))
    mbs.AddLoad(items.LoadCoordinate(markerNumber=ball, load=-9.81))
    gap = mbs.AddNode(items.NodeGenericData(initialCoordinates=[1.0], numberOfDataCoordinates=1))
    mbs.AddObject(
        items.ObjectContactCoordinate(markerNumbers=[ground, ball], nodeNumber=gap, contactStiffness=stiffness, offset=0)
    )
    mbs.Assemble()
    return exudyn_end(mbs, node, until, step, 1.0)


def exudyn_end(mbs: Any, node: Any, until: float, step: float, radius: float) -> tuple[Array, float]:
    """Coordinate and velocity of a node at the end, by Exudyn's generalized α with a spectral radius, and the CPU time, s."""
    import exudyn

    settings = exudyn.SimulationSettings()
    integration = settings.timeIntegration
    integration.endTime, integration.numberOfSteps, integration.verboseMode = until, round(until / step), 0
    integration.generalizedAlpha.spectralRadius = radius
    settings.solution.file.write = False
    begin = time.process_time()
    mbs.SolveDynamic(settings)
    spent = time.process_time() - begin
    kinds = exudyn.OutputVariableType
    return np.array([float(mbs.GetNodeOutput(node, k)) for k in (kinds.Coordinates, kinds.Coordinates_t)]), spent
