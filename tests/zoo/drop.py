"""Every robot dropped onto the floor by the one command a newcomer would type, and the same in MuJoCo.

    scree sim robot.urdf --base floating --drop 0.02 --dt 0.01 --out run.h5 --json
"""

import json
import pathlib
import resource
import signal
import subprocess
import tempfile
import time
import xml.etree.ElementTree as ElementTree

import h5py
import numpy as np

import children
import readers

HEIGHT = 0.02  # m
DURATION = 5.0  # s, as the command has it
STEPS = (0.01, 0.05)  # s
AT_REST = 0.05  # m/s and rad/s: the fastest coordinate at the end


def scree(*arguments, seconds=120):
    """(JSON of the summary, processor time [s]) or raises RuntimeError with what it said."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([readers.SCREE, "sim", *map(str, arguments), "--json", "--quiet"], capture_output=True,
                          timeout=3 * seconds, preexec_fn=lambda: children.limits(seconds))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        raise RuntimeError(f"took over {seconds} s" if name in ("SIGXCPU", "SIGKILL") else f"crash: {name}")
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise RuntimeError(said[-1] if said else f"exit code {done.returncode}")
    return json.loads(done.stdout), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def command(file, dt, duration=DURATION):
    return [file.path, "--base", "floating", "--drop", HEIGHT, "--dt", dt, "--duration", duration]


def motors(run, control):
    """Joint -> (kp, kd, target, effort), of the dofs that have one."""
    root = ElementTree.fromstring(run["model/urdf"].asstr()[()])
    effort = {}
    for joint in root.findall("joint"):
        limit = joint.find("limit")
        bound = float(limit.get("effort", 0)) if limit is not None else 0
        effort[joint.get("name")] = bound or np.inf  # 0: no bound
    found = {}
    for name, entry in control.items():
        if name in effort and (entry["kp"] or entry["kd"]):
            found[name] = (entry["kp"], entry["kd"], entry["target"], effort[name])
    return found


def spring_energy(kp, stretch, effort):
    """Of a spring whose force is bounded: quadratic up to the bound, linear beyond. With the damper in the same bound
    the motor takes energy all the same: clamp(s + d) - clamp(s) has the sign of d."""
    most = effort / kp if kp > 0 else np.inf
    inside = np.minimum(np.abs(stretch), most)
    beyond = np.abs(stretch) - inside
    return kp * inside**2 / 2 + np.where(beyond > 0, kp * inside * beyond, 0)


def energies(run, motors):
    """K + potential of gravity and stops + springs of the motors, at every row [J]."""
    total = run["report/kinetic_energy"][:] + run["report/potential_energy"][:]
    q, names = run["q"][:], list(run["model/q_names"].asstr()[:])
    for joint, (kp, _, target, effort) in motors.items():
        total += spring_energy(kp, q[:, names.index(joint)] - target, effort)
    return total


def gain(energy):
    """The most the energy ever rose above an earlier value [J]."""
    return float(np.max(energy - np.minimum.accumulate(energy)))


def measure(file, dt, folder):
    """One drop: what became of it."""
    out = pathlib.Path(folder) / "run.h5"
    summary, _ = scree(*command(file, dt), "--out", out)
    with h5py.File(out) as run:
        own = motors(run, summary["control"])
        energy = energies(run, own)
        v = run["v"][-1]
        # A robot without collision shapes has no floor and falls on.
        ground = "contacts" in run
        depth = run["report/penetration"][:] if ground else np.zeros(1)
        contacts = run["contacts/first"][-1] - run["contacts/first"][-2] if ground else 0
        weight = summary["total_mass"] * 9.81
        return {
            "status": summary["status"],
            "dofs": summary["dofs"],
            "mass": summary["total_mass"],
            "contacts": int(contacts),
            "penetration": float(depth[-1]),
            "deepest": float(depth.max()),
            "speed": float(np.max(np.abs(v), initial=0)),
            "energy": float(energy[0]),
            "gain": gain(energy),
            "scale": weight * HEIGHT,
            "stages": summary.get("stages"),
            "iterations": summary.get("iterations"),
            "wall_time": summary["wall_time"],
        }, own


def cost(file, dt, repeats, twin):
    """Least processor times [s] of the steps alone: scree's whole run less one of a single step; MuJoCo's beside it, in
    turns."""
    _, start = scree(*command(file, dt, duration=dt))
    ours, theirs = [], []
    for _ in range(repeats):
        _, whole = scree(*command(file, dt))
        ours.append(max(whole - start, 1e-9) * DURATION / (DURATION - dt))
        if twin:
            theirs.append(twin.run(DURATION))
    return min(ours), min(theirs) if theirs else None


def robot(file, steps=STEPS, repeats=3):
    """All measurements of one robot."""
    check = readers.scree(file)
    if "error" in check:
        return {"refused": True, "error": check["error"]}
    from twin import Twin

    result = {"repaired": len(check["repaired"])}
    with tempfile.TemporaryDirectory() as folder:
        for dt in steps:
            began = time.monotonic()
            try:
                entry, own = measure(file, dt, folder)
            except (RuntimeError, subprocess.TimeoutExpired, json.JSONDecodeError) as error:  # took too long, too
                result[str(dt)] = {"error": readers.one_line(str(error)), "crash": str(error).startswith("crash")}
                continue
            if repeats:
                twin = None
                try:
                    twin = Twin(pathlib.Path(folder) / "run.h5", own)
                except Exception as error:  # of any kind: MuJoCo refuses some models
                    entry["peer"] = {"error": readers.one_line(f"{type(error).__name__}: {error}")}
                entry["cpu"], entry["peer_cpu"] = cost(file, dt, repeats, twin)
                if twin:
                    entry["peer"] = twin.result()
            entry["took"] = time.monotonic() - began
            result[str(dt)] = entry
    return result


def in_child(file, **options):
    return children.run(lambda: robot(file, **options), seconds=3600)
