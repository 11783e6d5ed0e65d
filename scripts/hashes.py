#!/usr/bin/python3
"""hashes.py A [B]: final state hashes of many runs, at one or two commits or built trees.

A and B are revisions of this repository, or folders with a built tree (build/release/scree). Revisions are checked out
and built under build/hashes. Every scene of examples/scenes is run as it stands; robots, boxes and a ball are run with
every integrator that knows contact, a batch and a fan are run too. With A and B the table has a line for each run, and
where the bits differ by how much: of the state after one step and at the end, relative to its largest entry. Exit code
0: all bits are the same, 1: some differ or a run behaves differently.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

import h5py  # of Debian, as scripts/setup.sh installs it

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Scenes that are run with every integrator, for so long [s] and with this step [s].
SHORT = {
    "robosimian-walk": (0.6, 0.02),
    "robosimian-crawl": (0.4, 0.02),
    "robosimian-terrain": (0.3, 0.01),
    "robosimian-stairs": (0.3, 0.02),
    "spider-jump": (0.5, 0.01),
    "box-drop": (0.8, 0.01),
    "box-on-slope": (0.5, 0.01),
    "box-push": (0.3, 0.01),
}


def tree(name):
    """The folder of a built tree, building it if `name` is a revision."""
    if os.path.isfile(os.path.join(name, "build/release/scree")):
        return os.path.abspath(name)
    revision = subprocess.run(["git", "-C", ROOT, "rev-parse", "--verify", "--quiet", name + "^{commit}"],
                              capture_output=True, text=True).stdout.strip()
    if not revision:
        sys.exit(f"hashes.py: {name} is neither a built tree nor a revision")
    folder = os.path.join(ROOT, "build/hashes", revision[:12])
    if not os.path.isdir(folder):
        subprocess.run(["git", "-C", ROOT, "worktree", "add", "--detach", folder, revision], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print(f"building {revision[:12]}", file=sys.stderr)
    for command in (["cmake", "--preset", "release", "-DSCREE_UNITY=ON", "-DSCREE_TESTS=OFF", "-DSCREE_BENCH=OFF"],
                    ["cmake", "--build", "--preset", "release", "--target", "scree_cli"]):
        subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return folder


def scree(folder, *arguments):
    return subprocess.run([os.path.join(folder, "build/release/scree"), *arguments], cwd=folder, capture_output=True,
                          text=True)


def cases(folder):
    """Names of runs and their arguments."""
    scenes = sorted(f[:-5] for f in os.listdir(os.path.join(folder, "examples/scenes")) if f.endswith(".toml"))
    for scene in scenes:
        yield scene, [f"examples/scenes/{scene}.toml"]
    unknown = scree(folder, "sim", "examples/scenes/pendulum.toml", "--integrator", "?").stderr
    names = re.search(r"one of: ([^\n]*)", unknown).group(1).split(", ")
    for scene, (duration, dt) in SHORT.items():
        for name in names:
            yield f"{scene} {name}", [f"examples/scenes/{scene}.toml", "--integrator", name, "--duration",
                                      str(duration), "--dt", str(dt)]


def single(folder, arguments):
    """Hash and state of a run, or what it said."""
    done = scree(folder, "sim", *arguments, "--json")
    if done.returncode == 2:
        return done.stderr.strip().splitlines()[-1][:60], None
    data = json.loads(done.stdout)
    return data["final_state_hash"], [float("nan") if x is None else x for x in data["final_q"] + data["final_v"]]


def many(folder, arguments, dataset):
    """One hash of the hashes in a file of a batch or fan."""
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "out.h5")
        done = scree(folder, "sim", *arguments, "--out", out, "--quiet")
        if done.returncode:
            return done.stderr.strip().splitlines()[-1][:60], None
        with h5py.File(out) as file:
            return hashlib.sha256(file[dataset][...].tobytes()).hexdigest()[:16], None


def all_runs(folder):
    for name, arguments in cases(folder):
        yield name, single(folder, arguments), arguments
    for lanes in ("1", "4", "8"):
        for integrator in ("pbfd", "pbfd-coulomb", "pbfd2", "pbfd-coulomb2"):
            yield (f"batch of 16, {integrator}, {lanes} lanes",
                   many(folder, ["examples/scenes/robosimian-batch.toml", "--batch", "16", "--lanes", lanes, "--integrator",
                                 integrator, "--duration", "1"], "/final_state_hash"), None)
    yield ("fan of 40", many(folder, ["examples/scenes/fan-landing.toml", "--branches", "40"],
                             "/branches/final_state_hash"), None)


def apart(a, b):
    if a is None or b is None or len(a) != len(b):
        return "?"
    size = max(1e-300, max(abs(x) for x in a))
    return f"{max(abs(x - y) for x, y in zip(a, b)) / size:.1e}"


def one_step(folder, arguments):
    rest = [x for x in arguments]
    if "--duration" in rest:
        k = rest.index("--duration")
        del rest[k:k + 2]
    if "--dt" in rest:
        dt = rest[rest.index("--dt") + 1]
    else:
        text = open(os.path.join(folder, rest[0]), encoding="utf-8").read()
        found = re.search(r"^\s*dt\s*=\s*([0-9.e-]+)", text, re.M)
        if not found:
            return None
        dt = found.group(1)
    return single(folder, rest + ["--duration", dt])[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="+", metavar="A [B]", help="revision, or folder with build/release/scree")
    names = parser.parse_args().trees
    if len(names) > 2:
        parser.error("one or two trees")
    folders = [tree(name) for name in names]
    if len(folders) == 1:
        for name, (value, _), _ in all_runs(folders[0]):
            print(f"{name:44} {value}")
        return 0
    before = {name: (value, state, arguments) for name, (value, state), arguments in all_runs(folders[0])}
    same = differ = 0
    for name, (value, state), arguments in all_runs(folders[1]):
        old, old_state, old_arguments = before.pop(name, ("none", None, None))
        if old == value:
            same += 1
            continue
        differ += 1
        more = ""
        if state and old_state:
            step = apart(one_step(folders[0], old_arguments), one_step(folders[1], arguments))
            more = f"after one step {step}, at the end {apart(old_state, state)}"
        print(f"{name:44} {old} -> {value}  {more}")
    for name in before:
        differ += 1
        print(f"{name:44} {before[name][0]} -> none")
    print(f"{same} runs with the same bits, {differ} that differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
