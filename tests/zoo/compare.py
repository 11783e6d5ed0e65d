"""The same file read by scree and by Pinocchio: dimensions, total mass, mass matrix at random configurations.

Only where scree changed nothing of them: a repaired inertia is another robot. Followers of other joints (mimic) have no
coordinate of their own in either program.
"""

import pathlib
import re
import sys

import numpy as np
import pinocchio as pin

import children
import readers
import robots

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "oracles"))
import mechanisms  # noqa: E402

TOLERANCE = 1e-9  # relative; rounding leaves about 1e-14, numbers of a file with 15 digits 1e-15
STATES = 5


def position(model, bodies, q):
    """Pinocchio's q. It keeps a continuous joint as (cos, sin)."""
    result = pin.neutral(model)
    for body in bodies:
        if body["type"] == "fixed" or not model.existJointName(body["joint"]):
            continue
        joint = model.joints[model.getJointId(body["joint"])]
        if not joint.nv or joint.shortname().startswith("JointModelMimic"):
            continue
        value = q[body["q_index"]]
        result[joint.idx_q : joint.idx_q + joint.nq] = value if joint.nq == 1 else (np.cos(value), np.sin(value))
    return result


def order(model, bodies):
    """Rows of Pinocchio's matrices in the order of scree's velocities."""
    rows = {}
    for body in bodies:
        if body["type"] == "fixed":
            continue
        joint = model.joints[model.getJointId(body["joint"])]
        if not joint.shortname().startswith("JointModelMimic"):
            rows[body["v_index"]] = joint.idx_v
    return [rows[k] for k in sorted(rows)]


def changes_inertia(repair):
    """Of "place: note". What is seen, what touches and how far a joint may go have no part in the mass matrix."""
    place = repair.split(": ")[0]
    return not re.search(r"/(visual|collision|material|limit)\b", place)


def compare(file):
    """{"worst": {quantity: relative difference}} or {"error": ...} or {"skipped": why}."""
    check = readers.scree(file)
    if "error" in check:
        return {"skipped": "scree refuses it"}
    if any(changes_inertia(entry) for entry in check["repaired"]):
        return {"skipped": "repaired"}
    if any(kind in ("floating", "planar") for _, kind in file.joints):
        return {"skipped": "floating or planar joint"}
    try:
        model = pin.buildModelFromUrdf(str(file.path), mimic=file.mimic)
    except Exception as error:
        return {"skipped": f"Pinocchio refuses it: {readers.one_line(str(error))}"}
    (case,) = mechanisms.dump(file.path, "--states", STATES, "--seed", 1)
    bodies = case["model"]["bodies"]
    comparison = mechanisms.Comparison(TOLERANCE)
    if case["model"]["nv"] != model.nv:
        return {"error": f"nv {case['model']['nv']}, Pinocchio {model.nv}"}
    circles = sum(joint.nq == 2 for joint in model.joints)
    if case["model"]["nq"] != model.nq - circles:
        return {"error": f"nq {case['model']['nq']}, Pinocchio {model.nq} with {circles} circles"}
    comparison.add("total mass", sum(b["mass"] for b in bodies), sum(inertia.mass for inertia in model.inertias))
    model.armature = np.zeros(model.nv)
    data = model.createData()
    rows = order(model, bodies)
    for state in case["states"]:
        M = pin.crba(model, data, position(model, bodies, state["q"]))
        M = np.triu(M) + np.triu(M, 1).T
        comparison.add("mass matrix", state["mass_matrix"], M[np.ix_(rows, rows)])
    return {"nv": model.nv, "mimic": file.mimic, "worst": comparison.worst}


def run(listed):
    result = {}
    for file in listed:
        result[file.name] = children.run(compare, file)
    return result


def wrong(result):
    """Files that differ, and how."""
    found = {}
    for name, answer in result.items():
        if "error" in answer:
            found[name] = answer["error"]
        elif any(value > TOLERANCE for value in answer.get("worst", {}).values()):
            found[name] = ", ".join(f"{quantity} {value:.1e}" for quantity, value in answer["worst"].items())
    return found
