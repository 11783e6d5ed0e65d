"""The robot of a run file in MuJoCo: the same links, joints, meshes, start, floor, friction and motors.

The model is what scree wrote into the run file, so robots that MuJoCo does not read by itself (COLLADA, package://,
repaired inertias) have a twin, too, and both programs simulate the same thing.
"""

import pathlib
import tempfile
import time
import xml.etree.ElementTree as ElementTree

import h5py
import mujoco
import numpy as np

SMALLEST = 1e-6  # kg, kg m^2: MuJoCo takes no massless moving bodies
FRICTION = 0.7  # of scree's ground


def write_stl(path, vertices, triangles):
    """Binary STL."""
    corners = vertices[triangles].astype("<f4")
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    record = np.zeros(len(triangles), dtype=[("numbers", "<f4", (4, 3)), ("attribute", "<u2")])
    record["numbers"][:, 0] = normals
    record["numbers"][:, 1:] = corners
    with open(path, "wb") as file:
        file.write(b"\0" * 80 + np.uint32(len(triangles)).tobytes() + record.tobytes())


def urdf(run, folder):
    """The model's text for MuJoCo: visuals dropped, meshes in `folder`."""
    root = ElementTree.fromstring(run["model/urdf"].asstr()[()])
    files = {}
    for key, mesh in run.get("model/meshes", {}).items():
        files[mesh.attrs["uri"]] = f"mesh{key}.stl"
        if len(mesh["triangles"]) <= 200000:  # the most MuJoCo takes
            write_stl(folder / f"mesh{key}.stl", mesh["vertices"][:], mesh["triangles"][:])
    mimics = []
    for link in root.findall("link"):
        for visual in link.findall("visual"):
            link.remove(visual)
    for mesh in root.iter("mesh"):
        mesh.set("filename", files[mesh.get("filename")])
    for joint in root.findall("joint"):
        mimic = joint.find("mimic")
        if mimic is not None:
            mimics.append((joint.get("name"), mimic.get("joint"), float(mimic.get("multiplier", 1)),
                           float(mimic.get("offset", 0))))
            joint.remove(mimic)
    extension = ElementTree.SubElement(root, "mujoco")
    ElementTree.SubElement(extension, "compiler", meshdir=str(folder), strippath="false", fusestatic="true",
                           inertiafromgeom="false", balanceinertia="true", boundmass=str(SMALLEST),
                           boundinertia=str(SMALLEST))
    return ElementTree.tostring(root, encoding="unicode"), mimics


class Twin:
    """MuJoCo's model and data at the start of the run. `motors`: joint -> (kp, kd, target, effort)."""

    def __init__(self, path, motors, step=0.002):
        with h5py.File(path) as run, tempfile.TemporaryDirectory() as folder:
            text, mimics = urdf(run, pathlib.Path(folder))
            names, q = run["model/q_names"].asstr()[:], run["q"][0]
            spec = mujoco.MjSpec.from_string(text)
            for mesh in spec.meshes:  # inertia is not asked of them: they may be open
                mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
            for geom in spec.geoms:
                geom.contype, geom.conaffinity = 0, 1  # bodies do not touch bodies, as in scree
                geom.friction[0] = FRICTION
            spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 1], contype=1, conaffinity=0,
                                    friction=[FRICTION, 0.005, 0.0001])
            for follower, leader, multiplier, offset in mimics:
                spec.add_equality(type=mujoco.mjtEq.mjEQ_JOINT, name1=follower, name2=leader,
                                  objtype=mujoco.mjtObj.mjOBJ_JOINT, data=[offset, multiplier] + [0] * (mujoco.mjNEQDATA - 2))
            for joint, (kp, kd, _, effort) in motors.items():
                limited = np.isfinite(effort)
                spec.add_actuator(name=f"{joint} motor", target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT,
                                  gaintype=mujoco.mjtGain.mjGAIN_FIXED, biastype=mujoco.mjtBias.mjBIAS_AFFINE,
                                  gainprm=[kp] + [0] * 9, biasprm=[0, -kp, -kd] + [0] * 7, forcelimited=limited,
                                  forcerange=[-effort, effort] if limited else [0, 0])
            spec.option.timestep = step
            spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
            self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.values, self.mimics, self.motors = dict(zip(names, q)), mimics, motors

    def place(self):
        mujoco.mj_resetData(self.model, self.data)
        values = self.values
        for index in range(self.model.njnt):
            name, first = self.model.joint(index).name, self.model.jnt_qposadr[index]
            if self.model.jnt_type[index] == mujoco.mjtJoint.mjJNT_FREE:
                self.data.qpos[first : first + 7] = [values[f"{name}.{c}"] for c in ("x", "y", "z", "qw", "qx", "qy", "qz")]
            elif name in values:
                self.data.qpos[first] = values[name]
        for follower, leader, multiplier, offset in self.mimics:
            self.data.joint(follower).qpos[0] = multiplier * self.data.joint(leader).qpos[0] + offset
        for joint, (_, _, target, _) in self.motors.items():
            self.data.ctrl[self.model.actuator(f"{joint} motor").id] = target

    def run(self, duration):
        """From the start: processor time [s] of the steps alone, all of them in one call."""
        self.place()
        count = round(duration / self.model.opt.timestep)
        start = time.process_time()
        mujoco.mj_step(self.model, self.data, count)
        return time.process_time() - start

    def result(self):
        depths = [-contact.dist for contact in self.data.contact]
        return {
            "nv": int(self.model.nv),
            "penetration": float(max(depths, default=0)),
            "warnings": int(sum(warning.number for warning in self.data.warning)),
            "finite": bool(np.isfinite(self.data.qpos).all()),
        }
