"""scree's dynamics against Pinocchio: the same mechanism, built joint by joint, in the same tangent space.

A planar joint is two prismatic joints and a revolute one, a floating joint a translation and a spherical joint. So
velocities and derivatives need no mapping; only quaternions change order, (w, x, y, z) to (x, y, z, w).
"""

import numpy as np
import pinocchio as pin
import pytest

import mechanisms

TOLERANCE = 1e-9  # relative; rounding leaves about 1e-14, in forward dynamics times the condition of M


class Twin:
    """The mechanism in Pinocchio."""

    def __init__(self, mechanism):
        self.bodies = mechanism["bodies"]
        self.model = pin.Model()
        self.place = []  # of each body: the joint that carries it, and its pose on that joint
        armature = np.zeros(mechanism["nv"])
        for body in self.bodies:
            parent, X_parent = self.place[body["parent"]] if body["parent"] >= 0 else (0, pin.SE3.Identity())
            X = X_parent * se3(body["X_PJ"])
            joints = joint_models(body)
            if joints:
                for number, joint in enumerate(joints):
                    parent = self.model.addJoint(parent, joint, X, f"{body['joint']}/{number}")
                    X = pin.SE3.Identity()
                dofs = sum(joint.nv for joint in joints)
                armature[body["v_index"] : body["v_index"] + dofs] = body["armature"]
                assert self.model.idx_vs[parent] + self.model.nvs[parent] == body["v_index"] + dofs
            self.place.append((parent, X))
            self.model.appendBodyToJoint(parent, pin.Inertia(body["mass"], body["com"], body["inertia"]), X)
        self.without_rotors = self.model.copy()  # Pinocchio 4.1 forgets the energy of rotors on unaligned axes
        self.model.armature = armature
        assert (self.model.nq, self.model.nv) == (mechanism["nq"], mechanism["nv"])

    def position(self, q):
        q = q.copy()
        for body in self.bodies:
            if body["type"] in ("ball", "floating"):
                first = body["q_index"] + (3 if body["type"] == "floating" else 0)
                q[first : first + 4] = np.roll(q[first : first + 4], -1)
        return q

    def forces(self, wrenches):
        """Wrenches on bodies as forces on joints, in joint axes."""
        total = [pin.Force.Zero() for _ in range(self.model.njoints)]
        for (joint, X), wrench in zip(self.place, wrenches):
            total[joint] += X.act(pin.Force(wrench["force"], wrench["moment"]))
        return total


def se3(pose):
    return pin.SE3(pose["R"], pose["p"])


def joint_models(body):
    axis = body["axis"]
    return {
        "fixed": lambda: [],
        "revolute": lambda: [pin.JointModelRevoluteUnaligned(axis)],
        "continuous": lambda: [pin.JointModelRevoluteUnaligned(axis)],
        "prismatic": lambda: [pin.JointModelPrismaticUnaligned(axis)],
        "planar": lambda: [
            pin.JointModelPrismaticUnaligned(body["u1"]),
            pin.JointModelPrismaticUnaligned(body["u2"]),
            pin.JointModelRevoluteUnaligned(axis),
        ],
        "ball": lambda: [pin.JointModelSpherical()],
        "floating": lambda: [pin.JointModelTranslation(), pin.JointModelSpherical()],
    }[body["type"]]()


def symmetric(upper):
    return np.triu(upper) + np.triu(upper, 1).T


def compare_motion(comparison, name, model, scree, q, v, vdot, tau, forces):
    """Everything that depends on the forces; a fresh Data, so that nothing is left over from another call."""
    data = model.createData()
    zero = np.zeros(model.nv)
    comparison.add(f"{name} bias", scree["bias"], pin.rnea(model, data, q, v, zero, forces))
    comparison.add(f"{name} inverse dynamics", scree["inverse_dynamics"], pin.rnea(model, data, q, v, vdot, forces))
    comparison.add(f"{name} forward dynamics", scree["forward_dynamics"], pin.aba(model, data, q, v, tau, forces))
    by_q, by_v, by_vdot = pin.computeRNEADerivatives(model, data, q, v, vdot, forces)
    force = np.abs(scree["inverse_dynamics"]).max()  # the derivatives of a free body may vanish
    comparison.add(f"{name} by_q", scree["by_q"], by_q, size=force)
    comparison.add(f"{name} by_v", scree["by_v"], by_v, size=force)
    comparison.add(f"{name} by_vdot", scree["by_vdot"], symmetric(by_vdot))


def compare(comparison, case):
    twin = Twin(case["model"])
    model = twin.model
    for state in case["states"]:
        q, v, vdot, tau = twin.position(state["q"]), state["v"], state["vdot"], state["tau"]
        model.gravity = pin.Motion(state["gravity"], np.zeros(3))
        data = model.createData()
        pin.forwardKinematics(model, data, q, v)
        poses = [data.oMi[joint] * X for joint, X in twin.place]
        comparison.add("rotations", [pose["R"] for pose in state["poses"]], [pose.rotation for pose in poses])
        comparison.add("positions", [pose["p"] for pose in state["poses"]], [pose.translation for pose in poses])

        joint, X_joint = twin.place[state["probe"]["body"]]
        pin.computeJointJacobians(model, data, q)
        # [linear; angular] of the probe's origin, world axes
        X_probe = X_joint * se3(state["probe"]["X_BF"])
        jacobian = pin.getFrameJacobian(model, data, joint, X_probe, pin.LOCAL_WORLD_ALIGNED)
        comparison.add("point jacobian", state["point_jacobian"], jacobian[:3])
        comparison.add("frame jacobian", state["frame_jacobian"], np.vstack([jacobian[3:], jacobian[:3]]))

        comparison.add("mass matrix", state["mass_matrix"], symmetric(pin.crba(model, data, q)))
        comparison.add("nonlinear effects", state["free"]["bias"], pin.nonLinearEffects(model, data, q, v))
        com = pin.centerOfMass(model, data, q)
        h = pin.computeCentroidalMomentum(model, data, q, v)
        comparison.add("linear momentum", state["momentum"]["linear"], h.linear)
        comparison.add("angular momentum", state["momentum"]["angular"], h.angular + np.cross(com, h.linear))
        # Pinocchio leaves out what is fixed to the world.
        moving, fixed = data.mass[0], model.inertias[0]
        total = moving * com + fixed.mass * fixed.lever
        comparison.add("center of mass", state["center_of_mass"], total / (moving + fixed.mass))
        potential = pin.computePotentialEnergy(model, data, q) - fixed.mass * state["gravity"] @ fixed.lever
        comparison.add("gravity energy", state["gravity_energy"], potential)
        kinetic = pin.computeKineticEnergy(twin.without_rotors, data, q, v) + model.armature @ v**2 / 2
        comparison.add("kinetic energy", state["kinetic_energy"], kinetic)

        no_forces = [pin.Force.Zero() for _ in range(model.njoints)]
        compare_motion(comparison, "free", model, state["free"], q, v, vdot, tau, no_forces)
        compare_motion(comparison, "pushed", model, state["pushed"], q, v, vdot, tau, twin.forces(state["wrenches"]))


@pytest.mark.parametrize("name", ["robosimian", "robosimian-spatial", "hopper", "walker2d", "box"])
def test_robots_agree_at_40_states(name):
    comparison = mechanisms.Comparison(TOLERANCE)
    for case in mechanisms.urdf(name, states=40):
        compare(comparison, case)
    comparison.check()


def test_random_trees_agree():
    cases = mechanisms.dump("--random", 60, "--states", 6, "--seed", 2)
    types = {body["type"] for case in cases for body in case["model"]["bodies"]}
    assert types == {"fixed", "revolute", "continuous", "prismatic", "planar", "ball", "floating"}
    assert any(body["mass"] == 0 for case in cases for body in case["model"]["bodies"])
    comparison = mechanisms.Comparison(TOLERANCE)
    for case in cases:
        compare(comparison, case)
    comparison.check()


def test_pinocchio_reads_the_same_robot_from_the_file():
    """Pinocchio's own URDF reader and free flyer, whose linear velocity is in body axes: v_pin = T v."""
    model = pin.buildModelFromUrdf(str(mechanisms.MODELS / "robosimian.urdf"), pin.JointModelFreeFlyer())
    (case,) = mechanisms.urdf("robosimian", states=20, seed=3)
    bodies = case["model"]["bodies"]
    comparison = mechanisms.Comparison(TOLERANCE)
    for state in case["states"]:
        q, T = pin.neutral(model), np.zeros((model.nv, model.nv))
        assert model.nv == case["model"]["nv"]
        for body in bodies:
            first = body["q_index"]
            if body["type"] == "floating":
                q[:3], q[3:7] = state["q"][first : first + 3], np.roll(state["q"][first + 3 : first + 7], -1)
                R = pin.Quaternion(q[3:7]).toRotationMatrix()
                T[:3, body["v_index"] : body["v_index"] + 3] = R.T
                T[3:6, body["v_index"] + 3 : body["v_index"] + 6] = np.eye(3)
            elif body["type"] != "fixed":
                joint = model.joints[model.getJointId(body["joint"])]
                angle = state["q"][first]
                # Pinocchio keeps a continuous joint as (cos, sin).
                q[joint.idx_q : joint.idx_q + joint.nq] = angle if joint.nq == 1 else (np.cos(angle), np.sin(angle))
                T[joint.idx_v, body["v_index"]] = 1
        data = model.createData()
        model.armature = np.zeros(model.nv)
        model.gravity = pin.Motion(state["gravity"], np.zeros(3))
        M = T.T @ symmetric(pin.crba(model, data, q)) @ T
        comparison.add("mass matrix", state["mass_matrix"], M)
        comparison.add("gravity energy", state["gravity_energy"], pin.computePotentialEnergy(model, data, q))
        pin.framesForwardKinematics(model, data, q)
        for body, pose in zip(bodies, state["poses"]):
            X = data.oMf[model.getFrameId(body["name"])]
            comparison.add("rotations", pose["R"], X.rotation)
            comparison.add("positions", pose["p"], X.translation)
    comparison.check()


def test_followers_agree():
    """Pinocchio reads the same file with `mimic`: its coordinates are ours by name, followers have none."""
    file = mechanisms.MODELS.parent / "tests" / "data" / "mimic.urdf"
    (case,) = mechanisms.dump(file, "--states", 40, "--seed", 7)
    model = pin.buildModelFromUrdf(str(file), mimic=True)
    assert (model.nq, model.nv) == (case["model"]["nq"], case["model"]["nv"]) == (3, 3)
    leaders = [body for body in case["model"]["bodies"] if "mimic" not in body]
    place = [model.idx_vs[model.getJointId(body["joint"])] for body in sorted(leaders, key=lambda b: b["v_index"])]
    assert sorted(place) == [0, 1, 2]
    comparison = mechanisms.Comparison(TOLERANCE)
    data = model.createData()
    for state in case["states"]:
        q, v, vdot = np.zeros(3), np.zeros(3), np.zeros(3)
        q[place], v[place], vdot[place] = state["q"], state["v"], state["vdot"]
        model.gravity = pin.Motion(state["gravity"], np.zeros(3))
        M = symmetric(pin.crba(model, data, q))
        comparison.add("mass matrix", state["mass_matrix"], M[np.ix_(place, place)])
        tau = pin.rnea(model, data, q, v, vdot)
        comparison.add("inverse dynamics", state["free"]["inverse_dynamics"], tau[place])
        comparison.add("kinetic energy", state["kinetic_energy"], v @ M @ v / 2)  # its own knows no mimic
    comparison.check()
