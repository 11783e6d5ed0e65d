#!/usr/bin/env python3
"""Many trajectories at once: MuJoCo's threaded rollout and scree's lanes, simulated seconds per wall second.

The robots, motions, gains and gravity of mujoco_contact.py (bench/scenes), each trajectory with other initial velocities:
one table of noise (normal, 0.1 m/s and rad/s) is handed to both programs. Accuracy is measured as there, the mean
over the first trajectories of the error of the task against the same program's own motion at 0.5 ms: MuJoCo's with the
same settings, scree's of second order with the same ground. For every integrator and step of scree MuJoCo gets its
fastest setting and step whose error is no larger, at that step and all smaller ones of the list. `limit`: both programs
at the fastest that keeps the 5 % (squat) or 1 mm (drop) of mujoco_contact.py.

Grounds alike in three respects, which were measured at small steps (--creep repeats the last one): feet rest 16 to 18 mm deep, go 19 to 20 mm deep in
the squat, and creep as fast when pushed aside by mu/sqrt(2) of their load:
  sticking   10 mm/s   MuJoCo: elliptic cones with impratio 10, also with diagexact     scree: creep = 0.01
  creeping   90 mm/s   MuJoCo: elliptic cones, impratio 1                               scree: creep = 0.09
`any` lets MuJoCo choose among all grounds of mujoco_contact.py, hard ones and such that creep at 0.5 m/s too, and is set
beside scree's `creeping`.

Timing: all states are kept by both; thread pool, inputs and outputs of MuJoCo exist before the clock starts, sensors are
off; its trajectories, whose number does not change its speed, are limited to 1 s of work. In turns, medians, best rounds in
brackets. One thread: processor time, which other work on the machine hardly meets; more threads: wall time.
"""

import argparse
import csv
import itertools
import json
import math
import pathlib
import statistics
import sys
import tempfile
import time

import mujoco
import mujoco.rollout
import mujoco_contact as contact
import numpy as np

STEPS = [0.5, 1, 2, 3, 4, 5, 6, 8, 10, 12, 13.5, 15, 16.5, 17.5, 20, 25, 30, 40, 50]  # ms, of MuJoCo
SCREE_STEPS = [20, 50]  # ms
REFERENCE = 0.5e-3  # s
NOISE = 0.1  # m/s, rad/s
SEED = 1
SCREE_GROUNDS = {
    "sticking": {"depth": 0.0157, "creep": 0.01, "damping": 5},
    "creeping": {"depth": 0.0157, "creep": 0.09, "damping": 5},
}
MUJOCO_GROUNDS = {
    "sticking": [("elliptic x10", "soft"), ("elliptic x10 exact", "soft")],
    "creeping": [("elliptic", "soft")],
    "any": list(itertools.product(contact.CONES, contact.CONTACTS)),
}
SCREE_INTEGRATORS = ["pbfd-coulomb", "pbfd-coulomb2"]
TASKS = {task.name.split()[0]: task for task in contact.TASKS if task.name.split()[0] in ("squat", "stand", "drop")}


def mean_error(task, tracks, references):
    return float(np.mean([track.error(task, truth) for track, truth in zip(tracks, references)]))


class Peer(contact.Peer):
    """MuJoCo with one setting on one task, many trajectories."""

    def __init__(self, task, setting, table, noise):
        super().__init__(task, setting, table)
        self.names = [self.model.joint(j).name for j in range(self.model.njnt)][1:]
        self.starts = np.tile(self.start, (len(noise), 1))
        self.starts[:, 1 + self.model.nq :][:, : self.model.nv] += noise  # time, qpos, qvel
        self.us_per_step = None

    def batch(self, dt, count, pool, data, rounds=1):
        """States of `count` trajectories (count, steps, state) and the times [s] of the rounds."""
        steps, controls = self.inputs(dt)
        self.model.opt.timestep = dt
        self.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_SENSOR)
        models = [self.model] * count
        controls = np.ascontiguousarray(np.tile(controls, (count, 1, 1)))
        starts = np.ascontiguousarray(self.starts[:count])
        states = np.zeros((count, steps, starts.shape[1]))
        times = []
        clock = time.process_time if len(data) == 1 else time.perf_counter
        for _ in range(rounds):
            for one in data:
                mujoco.mj_resetData(self.model, one)
            began = clock()
            pool.rollout(models, data, starts, controls, skip_checks=True, nstep=steps, state=states,
                         control_spec=mujoco.mjtState.mjSTATE_CTRL.value)
            times.append(clock() - began)
        return states, times

    def tracks(self, dt, count, pool, data):
        states, _ = self.batch(dt, count, pool, data)
        failed = any(one.warning[int(kind)].number > 0 for one in data
                     for kind in mujoco.mjtWarning.__members__.values() if kind != mujoco.mjtWarning.mjNWARNING)
        times = np.arange(states.shape[1] + 1) * dt
        height = 2 if self.planar else 3
        full = np.concatenate([self.starts[:count, None], states], axis=1)
        return [contact.Track(times, one[:, 1], one[:, height], 0.0, "warning" if failed else "") for one in full]


def creep_speed(peer):
    """[m/s] of the torso with its legs held, gravity tilted until feet carry mu/sqrt(2) of their load sideways: mean from 2
    to 3 s. scree's `creep` is the same speed."""
    model, data = peer.model, peer.data
    model.opt.timestep = 1e-3
    mujoco.mj_resetData(model, data)
    mujoco.mj_setState(model, data, peer.start, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    data.ctrl[:] = peer.pose
    tilt = math.atan(contact.FRICTION / math.sqrt(2))
    model.opt.gravity[:] = [9.81 * math.sin(tilt), 0, -9.81 * math.cos(tilt)]
    mujoco.mj_step(model, data, 2000)
    start = data.qpos[0]
    mujoco.mj_step(model, data, 1000)
    return data.qpos[0] - start


class Pools:
    def __init__(self, model, threads):
        self.of = {n: (mujoco.rollout.Rollout(nthread=n if n > 1 else 0), [mujoco.MjData(model) for _ in range(n)])
                   for n in threads}

    def __getitem__(self, threads):
        return self.of[threads]


def sweep_mujoco(task, settings, steps, table, noise, count, threads):
    """Per setting: the peer and the error of every step up to the first that fails."""
    rows = []
    for setting in settings:
        peer = Peer(task, setting, table, noise)
        pool, data = Pools(peer.model, [threads])[threads]
        truth = peer.tracks(REFERENCE, count, pool, data)
        errors = []
        for dt in steps:
            errors.append(0.0 if dt == REFERENCE else mean_error(task, peer.tracks(dt, count, pool, data), truth))
            if not math.isfinite(errors[-1]) or errors[-1] > 4 * task.limit:
                break
        rows.append((setting, peer, errors))
    return rows


def best_within(rows, steps, limit, grounds):
    """The setting and step that simulate most seconds per second with an error of at most `limit`, or None."""
    best = None
    for setting, peer, errors in rows:
        if (setting.cone, setting.contact) not in grounds:
            continue
        within = list(itertools.takewhile(lambda pair: pair[1] <= limit, zip(steps, errors)))
        if not within or within[-1][0] <= REFERENCE:
            continue
        dt, error = within[-1]
        if peer.us_per_step is None:  # a guess to choose by
            pool, data = Pools(peer.model, [1])[1]
            times = peer.batch(dt, 4, pool, data, rounds=4)[1]
            peer.us_per_step = 1e6 * min(times) / 4 / peer.inputs(dt)[0]
        speed = dt / peer.us_per_step
        if best is None or speed > best[0]:
            best = (speed, setting, peer, dt, error)
    return best


class Scree:
    def __init__(self, program, scenes, folder, noise):
        self.program, self.scenes, self.folder = program, scenes, pathlib.Path(folder)
        self.noise = self.folder / "noise.txt"
        np.savetxt(self.noise, noise, fmt="%.17g")

    def run(self, task, integrator, dt, ground, tolerance, **more):
        keys = {"integrator": integrator, "dt": repr(dt), "duration": repr(float(task.end)), "tolerance": tolerance,
                "noise": self.noise} | ground | more
        command = [self.program, self.scenes / f"{task.scene}.toml", *(f"{key}={value}" for key, value in keys.items())]
        return json.loads(contact.output_of(command))

    def tracks(self, task, integrator, dt, ground, tolerance, count, threads):
        file = self.folder / "tracks.csv"
        result = self.run(task, integrator, dt, ground, tolerance, count=count, threads=threads, tracks=file)
        if result["failed"]:
            return result, None
        table = np.array(list(csv.reader(file.open()))[1:], float).reshape(count, -1, 5)
        height = 3 if "planar" in task.model else 4
        return result, [contact.Track(one[:, 1], one[:, 2], one[:, height], 0.0, "") for one in table]


def peer_count(pair, count):
    """Trajectories of MuJoCo that are timed: fewer than `count` where these would take more than 1 s, at least 32."""
    return min(count, max(32, int(1e6 / (pair["peer"].us_per_step * pair["peer"].inputs(pair["peer_dt"])[0]))))


def time_in_turns(task, pairs, scree, counts, threads, repeats, tolerance):
    """Adds {(count, threads): [s per trajectory]} to every pair, by program."""
    for count, n in itertools.product(counts, threads):
        clocks = {}
        for pair in pairs:
            ours = (pair["integrator"], pair["dt"], pair["ground"])
            clocks[("scree", *ours)] = lambda ours=ours: scree.run(
                task, ours[0], ours[1], SCREE_GROUNDS[ours[2]], tolerance, count=count, threads=n, repeats=2
            )["processor_times" if n == 1 else "wall_times"][-1] / count  # the first one warms up
            peer = pair["peer"]
            if peer:
                pool, data = Pools(peer.model, [n])[n]
                peer.batch(pair["peer_dt"], 2 * n, pool, data)  # warms up
                clocks[("MuJoCo", id(peer), pair["peer_dt"])] = \
                    lambda peer=peer, dt=pair["peer_dt"], pool=pool, data=data, some=peer_count(pair, count): \
                    peer.batch(dt, some, pool, data)[1][0] / some
        times = {key: [] for key in clocks}
        for _ in range(repeats):
            for key, clock in clocks.items():
                times[key].append(clock())
        for pair in pairs:
            pair["scree_times"][count, n] = times["scree", pair["integrator"], pair["dt"], pair["ground"]]
            if pair["peer"]:
                pair["peer_times"][count, n] = times["MuJoCo", id(pair["peer"]), pair["peer_dt"]]


def report(task, pairs, counts, threads):
    for count, n in itertools.product(counts, threads):
        print(f"  {count} trajectories, {n} thread{'s' if n > 1 else ''}: simulated s per s of {'processor' if n == 1 else 'wall'} time")
        for pair in pairs:
            speed = lambda times, pick: task.end / pick(times)
            ours, best = (speed(pair["scree_times"][count, n], pick) for pick in (statistics.median, min))
            line = (f"    {pair['what']:<8} {pair['integrator']:<14} {1e3 * pair['dt']:>3.0f} ms {task.show(pair['error']):>8}"
                    f" {ours:>7.0f} ({best:.0f})")
            if pair["peer"]:
                theirs, their_best = (speed(pair["peer_times"][count, n], pick) for pick in (statistics.median, min))
                line += (f" | {pair['setting']} {1e3 * pair['peer_dt']:g} ms {task.show(pair['peer_error'])}"
                         f" {theirs:.0f} ({their_best:.0f}) | ratio {ours / theirs:.2f} ({best / their_best:.2f})")
                pair["ratios"][f"{count} trajectories, {n} threads"] = ours / theirs
            else:
                line += " | MuJoCo is as accurate at no step of the list"
            print(line)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", required=True, type=pathlib.Path, help="the program scree_contact_tables")
    parser.add_argument("--peer", required=True, type=pathlib.Path, help="the program scree_batch_peer")
    parser.add_argument("--scenes", type=pathlib.Path, default=contact.ROOT / "bench/scenes", help="folder of the scenes")
    parser.add_argument("--tasks", default="squat", help=f"comma-separated, of {', '.join(TASKS)}; default %(default)s")
    parser.add_argument("--grounds", default=",".join(MUJOCO_GROUNDS), help="comma-separated; default %(default)s")
    parser.add_argument("--integrators", default="implicitfast,discrete", help="MuJoCo's; default %(default)s")
    parser.add_argument("--scree-steps", default=",".join(f"{step:g}" for step in SCREE_STEPS), help="[ms]; default %(default)s")
    parser.add_argument("--tolerance", type=float, default=1e-3, help="[m/s^2] of scree's steps; default %(default)s")
    parser.add_argument("--accuracy-count", type=int, default=8, help="trajectories the error is the mean of")
    parser.add_argument("--counts", default="256", help="comma-separated numbers of trajectories that are timed")
    parser.add_argument("--threads", default="1,2", help="comma-separated; default %(default)s")
    parser.add_argument("--repeats", type=int, default=5, help="of every timing; the median counts")
    parser.add_argument("--json", type=pathlib.Path, help="write all rows to this file")
    parser.add_argument("--creep", action="store_true", help="only print how fast feet creep on MuJoCo's grounds")
    arguments = parser.parse_args()
    tasks = contact.chosen(arguments.tasks, TASKS, "--tasks")
    grounds = contact.chosen(arguments.grounds, MUJOCO_GROUNDS, "--grounds")
    integrators = contact.chosen(arguments.integrators, contact.INTEGRATORS, "--integrators")
    try:
        counts, threads = ([int(n) for n in text.split(",")] for text in (arguments.counts, arguments.threads))
        scree_steps = [1e-3 * float(step) for step in arguments.scree_steps.split(",")]
    except ValueError:
        sys.exit("--counts, --threads, --scree-steps: expected numbers, separated by commas")
    if min(counts + threads + [arguments.repeats, arguments.accuracy_count]) < 1:
        sys.exit("--counts, --threads, --repeats, --accuracy-count: expected at least 1")
    steps = [1e-3 * step for step in STEPS]
    mujoco.set_mju_user_warning(lambda message: None)

    if arguments.creep:
        for cone, soft in MUJOCO_GROUNDS["any"]:
            task = TASKS["squat"]
            peer = Peer(task, contact.Setting("implicitfast", cone, soft, "end"), contact.MotionTable(arguments.tables, task),
                        np.zeros((1, 18)))
            print(f"{cone}, {soft}: {1e3 * creep_speed(peer):.1f} mm/s")
        return

    print(f"MuJoCo {mujoco.__version__}; medians of {arguments.repeats}, best rounds in brackets; errors are means over "
          f"{arguments.accuracy_count} trajectories")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in tasks:
            task = TASKS[name]
            table = contact.MotionTable(arguments.tables, task) if task.motion else None
            probe = contact.Peer(task, contact.Setting("implicitfast", "elliptic", "soft", "end"), table)
            noise = NOISE * np.random.default_rng(SEED).standard_normal((max(counts + [16]), probe.model.nv))
            scree = Scree(arguments.peer, arguments.scenes, folder, noise)
            pairs_of = {(cone, soft) for ground in grounds for cone, soft in MUJOCO_GROUNDS[ground]}
            settings = [contact.Setting(integrator, cone, soft, targets)
                        for integrator, (cone, soft), targets in itertools.product(
                            integrators, sorted(pairs_of), contact.TARGETS if task.motion else ["end"])]
            peers = sweep_mujoco(task, settings, steps, table, noise, arguments.accuracy_count, max(threads))
            print(f"\n{task.name}, {probe.model.nv} dofs", flush=True)
            candidates = {}
            for ground in dict.fromkeys("creeping" if g == "any" else g for g in grounds):
                law = SCREE_GROUNDS[ground]
                result, truth = scree.tracks(task, "pbfd-coulomb2", REFERENCE, law, arguments.tolerance,
                                             arguments.accuracy_count, max(threads))
                if result["joints"] != peers[0][1].names:
                    sys.exit("joints are in another order in MuJoCo: the noise would not be the same")
                candidates[ground] = []
                for integrator, dt in itertools.product(SCREE_INTEGRATORS, scree_steps):
                    result, tracks = scree.tracks(task, integrator, dt, law, arguments.tolerance,
                                                  arguments.accuracy_count, max(threads))
                    error = mean_error(task, tracks, truth) if tracks else math.inf
                    print(f"  {ground}: {integrator} {1e3 * dt:g} ms: error {task.show(error)}, iterations per step "
                          f"{result['iterations_per_step']:.2f}, deepest {1e3 * result['penetration']:.1f} mm "
                          f"{result['failure']}")
                    candidates[ground].append((integrator, dt, error))
            for ground in grounds:
                ours = "creeping" if ground == "any" else ground
                allowed = MUJOCO_GROUNDS[ground]
                pairs = []

                def add(what, candidate, limit):
                    best = best_within(peers, steps, limit, allowed)
                    pairs.append({"task": task.name, "ground": ours, "mujoco_ground": ground, "what": what,
                                  "integrator": candidate[0], "dt": candidate[1], "error": candidate[2],
                                  "scree_times": {}, "peer_times": {}, "ratios": {}, "peer": best and best[2],
                                  "setting": str(best[1]) if best else None, "peer_dt": best and best[3],
                                  "peer_error": best and best[4]})

                able = [one for one in candidates[ours] if one[2] <= task.limit]
                for candidate in able:
                    add("as exact", candidate, candidate[2])
                if able:
                    add("limit", max(able, key=lambda one: (one[1], one[0] == "pbfd-coulomb")), task.limit)
                print(f"  ground: {ground}")
                time_in_turns(task, pairs, scree, counts, threads, arguments.repeats, arguments.tolerance)
                report(task, pairs, counts, threads)
                sys.stdout.flush()
                for pair in pairs:
                    pair.pop("peer")
                    for key in ("scree_times", "peer_times"):
                        pair[key] = {f"{count} trajectories, {n} threads": times for (count, n), times in pair[key].items()}
                rows += pairs
    if arguments.json:
        arguments.json.write_text(json.dumps({"mujoco": mujoco.__version__, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
