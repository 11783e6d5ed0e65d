"""scree's dynamics against MuJoCo: the same mechanism written as MJCF.

Several joints in one MuJoCo body act in the order of the file, each in the axes left by those before it: slides before a
hinge or ball move along parent axes. So planar and floating joints have scree's velocities, and q is scree's q.
"""

import xml.etree.ElementTree as ElementTree

import mujoco
import numpy as np
import pytest

import mechanisms

TOLERANCE = 1e-8  # relative; MuJoCo diagonalises inertias to about 1e-12


def text(numbers):
    return " ".join(repr(float(x)) for x in np.ravel(numbers))


def quaternion(R):
    q = np.empty(4)
    mujoco.mju_mat2Quat(q, np.ravel(R))
    return q


def mjcf(mechanism):
    root = ElementTree.Element("mujoco")
    # Inertias as they stand, coordinates without limits.
    ElementTree.SubElement(
        root, "compiler", inertiafromgeom="false", balanceinertia="false", autolimits="false", angle="radian"
    )
    world = ElementTree.SubElement(root, "worldbody")
    elements = []
    for body in mechanism["bodies"]:
        parent = elements[body["parent"]] if body["parent"] >= 0 else world
        place = body["X_PJ"]
        element = ElementTree.SubElement(
            parent, "body", name=body["name"], pos=text(place["p"]), quat=text(quaternion(place["R"]))
        )
        elements.append(element)
        I = body["inertia"]
        full = [I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]]
        ElementTree.SubElement(
            element, "inertial", pos=text(body["com"]), mass=repr(body["mass"]), fullinertia=text(full)
        )
        own = joints(body)
        for kind, axis in own:
            joint = ElementTree.SubElement(element, "joint", type=kind, axis=text(axis), armature=repr(body["armature"]))
            if len(own) == 1:
                joint.set("name", body["joint"])
    couple(root, mechanism)
    return ElementTree.tostring(root, encoding="unicode")


def couple(root, mechanism):
    """Joints that follow others: equations, as stiff as MuJoCo has them, impedance 0.9999."""
    followers = [body for body in mechanism["bodies"] if "mimic" in body]
    if not followers:
        return
    equality = ElementTree.SubElement(root, "equality")
    for body in followers:
        mimic = body["mimic"]
        coefficients = text([mimic["offset"], mimic["multiplier"], 0, 0, 0])
        ElementTree.SubElement(
            equality,
            "joint",
            joint1=body["joint"],
            joint2=mimic["joint"],
            polycoef=coefficients,
            solimp="0.9999 0.9999 0.001 0.5 2",
        )


def joints(body):
    """(type, axis) of the MuJoCo joints that make one of ours."""
    axis, unit = body["axis"], np.eye(3)
    return {
        "fixed": lambda: [],
        "revolute": lambda: [("hinge", axis)],
        "continuous": lambda: [("hinge", axis)],
        "prismatic": lambda: [("slide", axis)],
        "planar": lambda: [("slide", body["u1"]), ("slide", body["u2"]), ("hinge", axis)],
        "ball": lambda: [("ball", unit[2])],
        "floating": lambda: [("slide", unit[0]), ("slide", unit[1]), ("slide", unit[2]), ("ball", unit[2])],
    }[body["type"]]()


def compare(comparison, case):
    model = mujoco.MjModel.from_xml_string(mjcf(case["model"]))
    assert (model.nq, model.nv) == (case["model"]["nq"], case["model"]["nv"])
    data = mujoco.MjData(model)
    for state in case["states"]:
        model.opt.gravity = state["gravity"]
        data.qpos, data.qvel, data.qfrc_applied = state["q"], state["v"], state["tau"]
        mujoco.mj_forward(model, data)
        M = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, M)
        comparison.add("positions", [pose["p"] for pose in state["poses"]], data.xpos[1:])
        comparison.add("rotations", [pose["R"] for pose in state["poses"]], data.xmat[1:])
        comparison.add("mass matrix", state["mass_matrix"], M)
        comparison.add("bias", state["free"]["bias"], data.qfrc_bias)
        comparison.add("forward dynamics", state["free"]["forward_dynamics"], data.qacc_smooth)
        data.qacc = state["vdot"]
        mujoco.mj_inverse(model, data)
        comparison.add("inverse dynamics", state["free"]["inverse_dynamics"], data.qfrc_inverse)


@pytest.mark.parametrize("name", ["robosimian", "robosimian-spatial", "hopper", "walker2d", "box"])
def test_robots_agree_at_20_states(name):
    comparison = mechanisms.Comparison(TOLERANCE)
    for case in mechanisms.urdf(name, states=20, seed=4):
        compare(comparison, case)
    comparison.check()


def test_random_trees_agree():
    """Without massless bodies, which MuJoCo does not take."""
    cases = mechanisms.dump("--random", 30, "--no-massless", "--states", 6, "--seed", 5)
    types = {body["type"] for case in cases for body in case["model"]["bodies"]}
    assert types == {"fixed", "revolute", "continuous", "prismatic", "planar", "ball", "floating"}
    comparison = mechanisms.Comparison(TOLERANCE)
    for case in cases:
        compare(comparison, case)
    comparison.check()


def free_coordinates(mechanism, q, v):
    """q and v of MuJoCo, where joints that follow others have coordinates of their own, and where those of scree are."""
    bodies = {body["joint"]: body for body in mechanism["bodies"]}

    def single(body):
        if "mimic" not in body:
            return q[body["q_index"]], v[body["v_index"]]
        position, rate = single(bodies[body["mimic"]["joint"]])
        return body["mimic"]["multiplier"] * position + body["mimic"]["offset"], body["mimic"]["multiplier"] * rate

    q_all, v_all, ours = [], [], np.zeros(mechanism["nv"], int)
    for body in mechanism["bodies"]:
        kinds = [kind for kind, _ in joints(body)]
        nv = sum(3 if kind == "ball" else 1 for kind in kinds)
        nq = sum(4 if kind == "ball" else 1 for kind in kinds)
        if "mimic" in body:
            position, rate = single(body)
            q_all.append(position)
            v_all.append(rate)
            continue
        ours[body["v_index"] : body["v_index"] + nv] = len(v_all) + np.arange(nv)
        q_all.extend(q[body["q_index"] : body["q_index"] + nq])
        v_all.extend(v[body["v_index"] : body["v_index"] + nv])
    return np.array(q_all), np.array(v_all), ours


def test_followers_accelerate_as_equality_constraints_let_them():
    """MuJoCo's equations give way by one part in 1e4 of what they bear, and its solver stops at a tolerance."""
    cases = mechanisms.dump("--random", 40, "--no-massless", "--followers", "--states", 4, "--seed", 6)
    comparison = mechanisms.Comparison(5e-3)
    for case in cases:
        model = mujoco.MjModel.from_xml_string(mjcf(case["model"]))
        assert model.neq > 0 and model.nv == case["model"]["nv"] + model.neq
        model.opt.tolerance, model.opt.iterations = 1e-14, 500
        data = mujoco.MjData(model)
        for state in case["states"]:
            q, v, ours = free_coordinates(case["model"], state["q"], state["v"])
            model.opt.gravity = state["gravity"]
            data.qpos, data.qvel, data.qfrc_applied = q, v, np.zeros(model.nv)
            data.qfrc_applied[ours] = state["tau"]
            mujoco.mj_forward(model, data)
            comparison.add("positions", [pose["p"] for pose in state["poses"]], data.xpos[1:])
            comparison.add("forward dynamics", state["free"]["forward_dynamics"], data.qacc[ours])
    comparison.check()
