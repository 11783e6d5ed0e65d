#!/usr/bin/env python3
"""Walking, squatting, standing and falling robots in MuJoCo: how large a step it can take, and how fast it then is.

The same robots, motions, gains, ground and gravity as bench/scenes. Each program is measured against its own answer
at a small step, since the two ground laws differ: MuJoCo's contact is a damped spring, scree's a capacity.

  walk   |x - x_ref| / |x_ref| of the torso after 2.5 and after 10 s                     at most 5 %
  squat  max |z - z_ref| / (max z_ref - min z_ref) of the torso over 4 s                 at most 5 %
  stand  |z - z_ref| of the torso after 5 s                                              at most 1 mm
  drop   the same after a fall of 0.3 m, 5 s after its start                             at most 1 mm

A step counts when it and all smaller ones of the list are within. Of all settings the one that simulates most seconds per
second at its largest such step stands for MuJoCo, and beside it the fastest whose ground is nearest to scree's. Settings:
integrator; cone; contact as MuJoCo has it, or as soft as scree's ground; the time within the step for which targets are
sampled. Everything else is MuJoCo's default: Newton's method, at most 100 iterations, tolerance 1e-8.

Timing: mujoco.rollout, whose loop over steps and targets is C; one thread, sensors off. The settings that are compared are
timed again in turns, so that other work on the machine meets all of them. Speeds are medians; the best round is in brackets.
"""

import argparse
import csv
import dataclasses
import io
import itertools
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

import mujoco
import mujoco.rollout
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS = [0.5, 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50]  # ms
TABLE_STEP = 0.25e-3  # s, of the motion tables: divides all steps and their halves
FLOOR, FRICTION = -0.8, 0.7  # m, 1
INTEGRATORS = {
    "Euler": mujoco.mjtIntegrator.mjINT_EULER,
    "implicit": mujoco.mjtIntegrator.mjINT_IMPLICIT,
    "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
    "RK4": mujoco.mjtIntegrator.mjINT_RK4,
    "discrete": mujoco.mjtIntegrator.mjINT_DISCRETE,  # PD and contact springs at the end of the step
}
# (cone, impratio, diagexact). impratio: how much stiffer friction is than the normal direction; at 1 feet creep on soft
# ground. diagexact: regularisation from the exact inertia at the contact, not from that of the initial pose.
CONES = {
    "pyramidal": (mujoco.mjtCone.mjCONE_PYRAMIDAL, 1, False),
    "elliptic": (mujoco.mjtCone.mjCONE_ELLIPTIC, 1, False),
    "elliptic x10": (mujoco.mjtCone.mjCONE_ELLIPTIC, 10, False),
    "elliptic x10 exact": (mujoco.mjtCone.mjCONE_ELLIPTIC, 10, True),
}
# (solref, solimp). "default": feet rest 0.3 to 1 mm deep. "soft" stiffens with depth; the width is chosen such that the
# 18-dof robot with elliptic cones rests 15.7 mm deep, as on scree's ground.
CONTACTS = {"default": ("0.02 1", "0.9 0.95 0.001 0.5 2"), "soft": ("0.02 1", "0 0.95 0.032 0.5 2")}
MATCHED = [("elliptic x10", "soft"), ("elliptic x10 exact", "soft")]  # as deep as scree's feet, and not creeping
TARGETS = {"start": 0.0, "middle": 0.5, "end": 1.0}  # which part of the step has passed

STANCE = {}  # rad, of the full robot; its limbs 1 and 3 turn the other way
for limb in (1, 2, 3, 4):
    for joint, degrees in ((2, 81), (4, -90), (6, 99)):
        STANCE[f"limb{limb}_joint{joint}"] = math.radians(degrees) * (-1 if limb in (1, 3) else 1)


@dataclasses.dataclass(frozen=True)
class Task:
    name: str
    scene: str
    model: str
    motion: str  # or "": hold the stance
    kp: float  # N m/rad
    kd: float  # N m s/rad
    horizon: float  # s
    measure: str  # "distance", "track" or "height"
    lift: float = 0.0  # m, of the torso at the start
    duration: float = 0.0  # s, of the run this is read from; 0: the horizon

    @property
    def end(self):
        return self.duration or self.horizon

    @property
    def limit(self):
        return 1e-3 if self.measure == "height" else 0.05

    def show(self, error):
        return f"{1e3 * error:.2f} mm" if self.measure == "height" else f"{100 * error:.2f} %"


TASKS = [
    Task("walk 2.5 s", "robosimian-walk", "robosimian-planar", "robosimian-walk", 1000, 1, 2.5, "distance",
         duration=10),
    Task("walk 10 s", "robosimian-walk", "robosimian-planar", "robosimian-walk", 1000, 1, 10, "distance"),
    Task("squat 4 s", "robosimian-squat", "robosimian-spatial", "robosimian-squat", 1000, 1, 4, "track"),
    Task("stand 5 s", "robosimian-stand", "robosimian", "", 2000, 100, 5, "height"),
    Task("drop 5 s", "robosimian-drop", "robosimian", "", 2000, 100, 5, "height", 0.3),
]


@dataclasses.dataclass(frozen=True)
class Setting:
    integrator: str
    cone: str
    contact: str
    targets: str

    def __str__(self):
        return f"{self.integrator}, {self.cone}, {self.contact} contact, targets at {self.targets}"


class Track:
    """What a run is judged by: time [s], x and z [m] of the torso, deepest contact [m]; `failure` is text or empty."""

    def __init__(self, time, x, z, penetration, failure):
        self.time, self.x, self.z, self.penetration, self.failure = time, x, z, penetration, failure
        if not failure and not (np.isfinite(x).all() and np.isfinite(z).all() and np.abs(z).max() < 10):
            self.failure = "exploded"

    def error(self, task, reference):
        """Against the reference track, by the formula of the task; infinite when either run failed."""
        if self.failure or reference.failure or self.time[-1] < task.horizon - 1e-9:
            return math.inf
        at = lambda track, values: np.interp(task.horizon, track.time, values)
        if task.measure == "distance":
            return abs(at(self, self.x) - at(reference, reference.x)) / abs(at(reference, reference.x))
        if task.measure == "height":
            return abs(at(self, self.z) - at(reference, reference.z))
        inside = self.time <= task.horizon + 1e-9
        difference = self.z[inside] - np.interp(self.time[inside], reference.time, reference.z)
        return np.abs(difference).max() / np.ptp(reference.z[reference.time <= task.horizon + 1e-9])


# --- the robot in MuJoCo -------------------------------------------------------------------------------------------


def text(numbers):
    return " ".join(repr(float(x)) for x in numbers)


def quaternion(rpy):
    """Of R = Rz(yaw) Ry(pitch) Rx(roll), as URDF has it."""
    total, turn = np.array([1.0, 0, 0, 0]), np.empty(4)
    for axis in (2, 1, 0):
        mujoco.mju_axisAngle2Quat(turn, np.eye(3)[axis], float(rpy[axis]))
        product = np.empty(4)
        mujoco.mju_mulQuat(product, total, turn)
        total = product
    return total


def place(element):
    """pos and quat of an URDF origin that may be missing."""
    origin = element.find("origin")
    numbers = lambda key: (origin.get(key, "0 0 0") if origin is not None else "0 0 0").split()
    return {"pos": " ".join(numbers("xyz")), "quat": text(quaternion(numbers("rpy")))}


def mjcf(task, setting):
    """One of our URDFs on a plane, as MJCF: feet are the spheres of <scree><contact_point>, nothing else touches."""
    robot = ElementTree.parse(ROOT / "models" / f"{task.model}.urdf").getroot()
    root = ElementTree.Element("mujoco", model=task.model)
    add = ElementTree.SubElement
    add(root, "compiler", angle="radian", inertiafromgeom="false", fusestatic="true", autolimits="true")
    world, actuators, sensors = (add(root, name) for name in ("worldbody", "actuator", "sensor"))
    solref, solimp = CONTACTS[setting.contact]
    touch = {"friction": f"{FRICTION} 0.005 0.0001", "condim": "3", "solref": solref, "solimp": solimp}
    add(world, "geom", type="plane", size="0 0 1", pos=f"0 0 {FLOOR}", contype="1", conaffinity="0", **touch)

    links = {link.get("name"): link for link in robot.findall("link")}
    joints = robot.findall("joint")
    (root_link,) = set(links) - {joint.find("child").get("link") for joint in joints}

    def fill(body, name):
        link = links[name]
        inertial = link.find("inertial")
        if inertial is not None:
            I = inertial.find("inertia")
            full = " ".join(I.get(key) for key in ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"))
            add(body, "inertial", mass=inertial.find("mass").get("value"), fullinertia=full,
                pos=place(inertial)["pos"])  # our files never turn inertial axes
        for point in link.iterfind("scree/contact_point"):
            foot = point.get("name")
            add(body, "geom", type="sphere", size=point.get("radius"), pos=point.get("xyz"), contype="0", conaffinity="1",
                **touch)
            add(body, "site", name=foot, pos=point.get("xyz"))
            add(sensors, "framepos", name=foot, objtype="site", objname=foot)
        for joint in joints:
            if joint.find("parent").get("link") != name:
                continue
            child = add(body, "body", name=joint.find("child").get("link"), **place(joint))
            if joint.get("type") in ("revolute", "continuous"):
                hinge = {"name": joint.get("name"), "axis": joint.find("axis").get("xyz")}
                motor = {}
                limit, dynamics = joint.find("limit"), joint.find("dynamics")
                if limit is not None:
                    hinge["range"] = f"{limit.get('lower')} {limit.get('upper')}"
                    motor["forcerange"] = f"-{limit.get('effort')} {limit.get('effort')}"
                if dynamics is not None:
                    hinge["damping"] = dynamics.get("damping")
                add(child, "joint", type="hinge", **hinge)
                add(actuators, "position", name=joint.get("name"), joint=joint.get("name"), kp=repr(task.kp),
                    kv=repr(task.kd), **motor)
            elif joint.get("type") != "fixed":
                sys.exit(f"{task.model}: joint {joint.get('name')} is {joint.get('type')}, expected revolute or fixed")
            fill(child, child.get("name"))

    torso = add(world, "body", name=root_link)
    if robot.find("scree").get("base") == "planar":
        add(torso, "joint", name="x", type="slide", axis="1 0 0")
        add(torso, "joint", name="z", type="slide", axis="0 0 1")
        add(torso, "joint", name="turn", type="hinge", axis="0 1 0")
    else:
        add(torso, "freejoint", name="base")
    fill(torso, root_link)
    return ElementTree.tostring(root, encoding="unicode")


class MotionTable:
    """Targets and their rates on a grid of TABLE_STEP, as scree samples them."""

    def __init__(self, program, task):
        command = [program, "motion", ROOT / "models" / f"{task.model}.urdf", ROOT / "motions" / f"{task.motion}.toml"]
        command += [repr(TABLE_STEP), repr(task.end + 0.1)]
        rows = list(csv.reader(io.StringIO(output_of(command))))
        self.names = [name for name in rows[0][1:] if not name.endswith(".rate")]
        values = np.array(rows[1:], float)[:, 1:]
        self.targets, self.rates = values[:, : len(self.names)], values[:, len(self.names) :]


def output_of(command, exit_codes=(0,)):
    try:
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}, expected a program")
    if done.returncode not in exit_codes or not done.stdout:
        sys.exit(done.stderr.strip() or f"{command[0]}: exit code {done.returncode}")
    return done.stdout


class Peer:
    """MuJoCo with one setting on one task."""

    def __init__(self, task, setting, table):
        self.task, self.setting = task, setting
        self.model = mujoco.MjModel.from_xml_string(mjcf(task, setting))
        self.model.opt.integrator = INTEGRATORS[setting.integrator]
        self.model.opt.cone, self.model.opt.impratio, exact = CONES[setting.cone]
        if exact:
            self.model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_DIAGEXACT
        self.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET  # a failure shall be seen
        self.data = mujoco.MjData(self.model)
        self.planar = self.model.jnt_type[0] == mujoco.mjtJoint.mjJNT_SLIDE
        names = [self.model.actuator(i).name for i in range(self.model.nu)]
        if table:
            column = [table.names.index(name) for name in names]
            # kp (c - q) - kd v = kp (target - q) + kd (rate - v)
            self.controls = (table.targets + task.kd / task.kp * table.rates)[:, column]
            pose = table.targets[0, column]
        else:
            pose = np.array([STANCE.get(name, 0.0) for name in names])
            self.controls = None
        self.pose = pose
        for name, angle in zip(names, pose):
            self.data.joint(name).qpos[0] = angle
        self.data.qpos[1 if self.planar else 2] += task.lift
        self.start = self.state()

    def state(self):
        kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
        state = np.empty(mujoco.mj_stateSize(self.model, kind))
        mujoco.mj_getState(self.model, self.data, state, kind)
        return state

    def inputs(self, dt):
        """Number of steps and the controls of each."""
        steps = math.ceil(self.task.end / dt - 1e-9)
        if self.controls is None:
            return steps, np.tile(self.pose, (1, steps, 1))
        times = (np.arange(steps) + TARGETS[self.setting.targets]) * dt
        return steps, np.ascontiguousarray(self.controls[np.rint(times / TABLE_STEP).astype(int)][None])

    def rollout(self, dt, controls, sensors, outputs=(None, None)):
        self.model.opt.timestep = dt
        flag = int(mujoco.mjtDisableBit.mjDSBL_SENSOR)
        flags = int(self.model.opt.disableflags)
        self.model.opt.disableflags = flags & ~flag if sensors else flags | flag
        mujoco.mj_resetData(self.model, self.data)
        return mujoco.rollout.rollout(self.model, self.data, self.start[None], controls, state=outputs[0],
                                      sensordata=outputs[1])

    def run(self, dt):
        """The track; a warning of MuJoCo ends a rollout."""
        steps, controls = self.inputs(dt)
        states, feet = self.rollout(dt, controls, sensors=True)
        warnings = [kind.name.removeprefix("mjWARN_") for kind in mujoco.mjtWarning.__members__.values()
                    if kind != mujoco.mjtWarning.mjNWARNING and self.data.warning[int(kind)].number > 0]
        states = np.vstack([self.start, states[0]])
        heights = feet[0].reshape(steps, -1, 3)[:, :, 2]  # at the start of each step
        radius = self.model.geom_size[self.model.geom_type == mujoco.mjtGeom.mjGEOM_SPHERE, 0]
        penetration = max(0.0, float((FLOOR - (heights - radius)).max()))
        track = Track(np.arange(steps + 1) * dt, states[:, 1], states[:, 2 if self.planar else 3], penetration,
                      " ".join(warnings))
        track.rest_depth = float((FLOOR - (heights[-1] - radius)).mean())
        return track

    def wall_times(self, dt, repeats):
        """[s] of the steps of one horizon."""
        steps, controls = self.inputs(dt)
        outputs = (np.empty((1, steps, self.start.size)), np.empty((1, steps, self.model.nsensordata)))
        times = []
        for _ in range(repeats + 1):  # the first one warms up
            began = time.perf_counter()
            self.rollout(dt, controls, sensors=False, outputs=outputs)
            times.append(time.perf_counter() - began)
        return times[1:]

    def plain_wall_times(self, dt, repeats):
        """[s] of the same number of steps by one call of mj_step: targets held, no states kept."""
        steps, controls = self.inputs(dt)
        times = []
        for _ in range(repeats + 1):
            mujoco.mj_resetData(self.model, self.data)
            mujoco.mj_setState(self.model, self.data, self.start, mujoco.mjtState.mjSTATE_FULLPHYSICS)
            self.data.ctrl[:] = controls[0, 0]
            began = time.perf_counter()
            mujoco.mj_step(self.model, self.data, steps)
            times.append(time.perf_counter() - began)
        return times[1:]


class Row(dict):
    """What becomes JSON; `clock()` is one round of timing, a list [s]."""

    clock = None


def largest_step(task, steps, errors):
    """The largest step such that it and all smaller ones are within the limit, or None. `steps` increase."""
    within = list(itertools.takewhile(lambda pair: pair[1] <= task.limit, zip(steps, errors)))
    return within[-1][0] if within else None


def sweep_mujoco(task, settings, steps, reference, table, tracks):
    """One row per setting: the error of every step, the largest step within the limit and its speed. `tracks` keeps runs:
    two horizons share them."""
    rows = []
    for setting in settings:
        peer = Peer(task, setting, table)

        def run(dt):
            key = (task.scene, setting, dt)
            if key not in tracks:
                tracks[key] = peer.run(dt)
            return tracks[key]

        truth = run(reference)
        row = first_row(task, "MuJoCo", str(setting), reference, truth)
        row.update(dataclasses.asdict(setting), rest_depth=truth.rest_depth)
        for dt in steps:
            if len(row["runs"]) >= 2 and all(run["failure"] for run in row["runs"][-2:]):
                break  # twice in a row: no hope for larger steps
            track = run(dt)
            row["runs"].append(run_entry(task, dt, track, track.error(task, truth)))
        finish(task, row, lambda dt, peer=peer: peer.wall_times(dt, 1))
        rows.append(row)
    return rows


def first_row(task, program, setting, reference_step, truth):
    at_end = lambda values: float(np.interp(task.horizon, truth.time, values))
    return Row(task=task.name, program=program, setting=setting, reference_step=reference_step, runs=[],
               reference_x=at_end(truth.x), reference_z=at_end(truth.z), reference_penetration=truth.penetration)


def run_entry(task, dt, track, error):
    at_end = lambda values: float(np.interp(task.horizon, track.time, values)) if not track.failure else None
    return {"dt": dt, "error": error if math.isfinite(error) else None, "x": at_end(track.x), "z": at_end(track.z),
            "penetration": track.penetration if not track.failure else None, "failure": track.failure or None}


def finish(task, row, wall_times):
    """Adds the largest step within the limit, and what it costs. `wall_times(dt)` is one round, a list [s]."""
    errors = [math.inf if run["error"] is None else run["error"] for run in row["runs"]]
    dt = largest_step(task, [run["dt"] for run in row["runs"]], errors)
    if dt is not None and dt <= row["reference_step"]:
        dt = None  # the reference agrees with itself
    row["largest_step"], row["speed"], row["steps"] = dt, None, None
    if dt is not None:
        best = next(run for run in row["runs"] if run["dt"] == dt)
        row["steps"] = math.ceil(task.end / dt - 1e-9)
        row["error"], row["penetration"] = best["error"], best["penetration"]
        row.clock = lambda: wall_times(dt)
        time_in_turns(task, [row], 2)  # enough to choose the settings to compare


def time_in_turns(task, rows, repeats):
    times = [[] for _ in rows]
    for _ in range(repeats):
        for row, of_row in zip(rows, times):
            of_row += row.clock()
    for row, of_row in zip(rows, times):
        wall = statistics.median(of_row)
        row["speed"], row["step_time"], row["wall_times"] = task.end / wall, wall / row["steps"], of_row
        row["best_speed"] = task.end / min(of_row)


# --- scree ---------------------------------------------------------------------------------------------------------


class Scree:
    def __init__(self, program, tables, scenes):
        self.program, self.tables, self.scenes = program, tables, scenes
        self.tracks = {}

    def simulate(self, task, integrator, dt, *more):
        name, _, accuracy = integrator.partition(":")
        command = [self.program, "sim", self.scenes / f"{task.scene}.toml", "--integrator", name, "--dt", repr(dt),
                   "--duration", repr(float(task.end)), "--json", *more]
        if accuracy:
            command += ["--accuracy", accuracy]
        return json.loads(output_of(command, exit_codes=(0, 1)))  # 1: a step failed

    def run(self, task, integrator, dt):
        key = (task.scene, integrator, dt)
        if key not in self.tracks:
            with tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder) / "run.h5"
                result = self.simulate(task, integrator, dt, "--out", file)
                failure = "" if result["status"] == "complete" else result["status"]
                rows = list(csv.reader(io.StringIO(output_of([self.tables, "run", file]))))
            table = np.array(rows[1:], float)
            height = 2 if "planar" in task.model else 3
            self.tracks[key] = Track(table[:, 0], table[:, 1], table[:, height], float(table[:, -1].max()), failure)
        return self.tracks[key]

    def wall_times(self, task, integrator, dt):
        return [self.simulate(task, integrator, dt)["wall_time"]]


def sweep_scree(scree, task, integrators, steps, reference):
    truth = scree.run(task, *reference)
    rows = []
    for integrator in integrators:
        row = first_row(task, "scree", integrator, reference[1], truth)
        row.update(integrator=integrator, reference_integrator=reference[0])
        for dt in steps:
            track = scree.run(task, integrator, dt)
            row["runs"].append(run_entry(task, dt, track, track.error(task, truth)))
        finish(task, row, lambda dt, name=integrator: scree.wall_times(task, name, dt))
        rows.append(row)
    return rows


# --- the report ----------------------------------------------------------------------------------------------------


def describe(task, row):
    if row["largest_step"] is None:
        beyond = lambda run: run["error"] is None or run["error"] > task.limit
        first = next((run for run in row["runs"] if beyond(run)), row["runs"][-1])
        what = first["failure"] or ("-" if first["error"] is None else task.show(first["error"]))
        return f"  {row['setting']:<62} no step within the limit ({1e3 * first['dt']:g} ms: {what})"
    return (f"  {row['setting']:<62} {1e3 * row['largest_step']:>5g} ms  error {task.show(row['error']):>8}"
            f"  {1e6 * row['step_time']:>7.1f} us/step  {row['speed']:>6.0f} s/s ({row['best_speed']:.0f})"
            f"  deepest {1e3 * row['penetration']:>5.1f} mm")


def fastest(rows):
    able = [row for row in rows if row["speed"]]
    return max(able, key=lambda row: row["best_speed"]) if able else None


def reference_text(row):
    return (f"x {row['reference_x']:.4f} m, z {row['reference_z']:.4f} m, "
            f"deepest {1e3 * row['reference_penetration']:.1f} mm")


def errors_line(task, row):
    show = lambda run: run["failure"] or ("-" if run["error"] is None else task.show(run["error"]))
    return "    " + ", ".join(f"{1e3 * run['dt']:g}: {show(run)}" for run in row["runs"])


def report(task, mujoco_rows, scree_rows, repeats):
    print(f"\n{task.name}: error at most {task.show(task.limit)}")
    able = sorted((row for row in mujoco_rows if row["speed"]), key=lambda row: -row["best_speed"])
    shown = []  # the fastest of every integrator, then those that can do nothing
    for integrator in INTEGRATORS:
        of_it = [row for row in mujoco_rows if row["integrator"] == integrator]
        shown += [next((row for row in able if row["integrator"] == integrator), of_it[0])] if of_it else []
    best = fastest(mujoco_rows)
    matched = fastest([row for row in mujoco_rows if (row["cone"], row["contact"]) in MATCHED])
    peers = [best, matched] if matched is not best else [best]
    compared = {id(row): row for row in shown + peers + scree_rows if row and row["speed"]}
    time_in_turns(task, list(compared.values()), repeats)
    print("  MuJoCo, the fastest setting of each integrator:")
    for row in shown:
        print(describe(task, row))
    for what, row in zip(("at its fastest", "on ground like scree's"), peers):
        if row:
            rest = "" if task.measure == "distance" else f", feet at the end {1e3 * row['rest_depth']:.1f} mm deep"
            print(f"  MuJoCo {what}, errors by step [ms] against {1e3 * row['reference_step']:g} ms "
                  f"({reference_text(row)}{rest}):")
            print(describe(task, row))
            print(errors_line(task, row))
    if scree_rows:
        first = scree_rows[0]
        print(f"  scree, against {first['reference_integrator']} at {1e3 * first['reference_step']:g} ms "
              f"({reference_text(first)}):")
        for row in scree_rows:
            print(describe(task, row))
            print(errors_line(task, row))
    for row, peer in itertools.product(scree_rows, peers):
        if row["speed"] and peer:
            print(f"  simulated s per wall s: scree {row['integrator']} at {1e3 * row['largest_step']:g} ms "
                  f"({task.show(row['error'])}) / MuJoCo {peer['integrator']}, {peer['cone']}, {peer['contact']} at "
                  f"{1e3 * peer['largest_step']:g} ms ({task.show(peer['error'])}) "
                  f"= {row['speed']:.0f} / {peer['speed']:.0f} = {row['speed'] / peer['speed']:.2f} "
                  f"(best rounds {row['best_speed'] / peer['best_speed']:.2f})")


def chosen(value, known, what):
    names = value.split(",")
    for name in names:
        if name not in known:
            sys.exit(f"{what}: '{name}', expected some of {', '.join(known)}")
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", required=True, type=pathlib.Path, help="the program scree_contact_tables")
    parser.add_argument("--scree", type=pathlib.Path, help="the scree executable: compare with it")
    parser.add_argument("--scenes", type=pathlib.Path, default=ROOT / "bench/scenes", help="folder of the scenes")
    parser.add_argument("--scree-integrators", default="pbd-nmdp2,pbd-nmdp2:1e-3,pbd-nmdp2:0,ne-mdp",
                        help="comma-separated, each with an accuracy [m] behind a colon or not; default %(default)s")
    parser.add_argument("--scree-reference", default="pbd-nmdp2:0@0.25", help="integrator@step [ms]; default %(default)s")
    parser.add_argument("--mujoco-reference", type=float, default=0.5,
                        help="step [ms] of MuJoCo's own answer; default %(default)s")
    parser.add_argument("--tasks", default=",".join(task.name.split()[0] for task in TASKS[1:]),
                        help="comma-separated; default %(default)s")
    parser.add_argument("--integrators", default=",".join(INTEGRATORS), help="MuJoCo's; default %(default)s")
    parser.add_argument("--steps", default=",".join(f"{step:g}" for step in STEPS),
                        help="[ms], increasing; default %(default)s")
    parser.add_argument("--repeats", type=int, default=5, help="of every timing; the median counts")
    parser.add_argument("--json", type=pathlib.Path, help="write all rows to this file")
    arguments = parser.parse_args()

    tasks = chosen(arguments.tasks, dict.fromkeys(task.name.split()[0] for task in TASKS), "--tasks")
    integrators = chosen(arguments.integrators, INTEGRATORS, "--integrators")
    try:
        steps = [1e-3 * float(step) for step in arguments.steps.split(",")]
        name, step = arguments.scree_reference.split("@")
        scree_reference = (name, 1e-3 * float(step))
    except ValueError:
        sys.exit("--steps, --scree-reference: expected numbers of ms, as 0.5,1,2 and pbd-nmdp2:0@0.25")
    if arguments.repeats < 1:
        sys.exit(f"--repeats: {arguments.repeats}, expected at least 1")
    grid = lambda step: abs(step / (2 * TABLE_STEP) - round(step / (2 * TABLE_STEP))) < 1e-9
    if not all(step > 0 and grid(step) for step in steps) or steps != sorted(steps):
        sys.exit(f"--steps: {arguments.steps}, expected increasing multiples of {2e3 * TABLE_STEP:g} ms")
    if not (arguments.mujoco_reference > 0 and grid(1e-3 * arguments.mujoco_reference)):
        sys.exit(f"--mujoco-reference: {arguments.mujoco_reference}, expected a multiple of {2e3 * TABLE_STEP:g} ms")
    scree = Scree(arguments.scree, arguments.tables, arguments.scenes) if arguments.scree else None
    mujoco.set_mju_user_warning(lambda message: None)  # data.warning counts them

    print(f"MuJoCo {mujoco.__version__}, one thread; speeds in simulated s per wall s, medians of {arguments.repeats}")
    tracks = {}
    results = {"mujoco": mujoco.__version__, "rows": []}
    for task in TASKS:
        if task.name.split()[0] not in tasks:
            continue
        table = MotionTable(arguments.tables, task) if task.motion else None
        settings = [Setting(*parts) for parts in
                    itertools.product(integrators, CONES, CONTACTS, TARGETS if task.motion else ["end"])]
        mujoco_rows = sweep_mujoco(task, settings, steps, 1e-3 * arguments.mujoco_reference, table, tracks)
        scree_rows = []
        if scree:
            scree_rows = sweep_scree(scree, task, arguments.scree_integrators.split(","), steps, scree_reference)
        report(task, mujoco_rows, scree_rows, arguments.repeats)
        sys.stdout.flush()
        best = fastest(mujoco_rows)
        if best and not task.motion:
            peer = Peer(task, Setting(*(best[key] for key in ("integrator", "cone", "contact", "targets"))), None)
            dt, rounds = best["largest_step"], range(arguments.repeats)
            times = [(peer.wall_times(dt, 1)[0], peer.plain_wall_times(dt, 1)[0]) for _ in rounds]  # same options
            best["rollout_over_plain"] = min(both[0] for both in times) / min(both[1] for both in times)
            print(f"  wall time of rollout / of one mj_step for all steps: {best['rollout_over_plain']:.3f} (best rounds)")
        results["rows"] += mujoco_rows + scree_rows
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
