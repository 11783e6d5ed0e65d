"""The zoo of real robots (docs/zoo.md).

    python tests/zoo/zoo.py inventory    # what files and robots there are
    python tests/zoo/zoo.py acceptance   # who reads them: scree, Pinocchio, MuJoCo, Drake
    python tests/zoo/zoo.py compare      # what scree read, against Pinocchio
    python tests/zoo/zoo.py drop         # every robot on the floor by one command, processor time beside MuJoCo
    python tests/zoo/zoo.py all

Results go to build/zoo/results as JSON and Markdown. Exit code 1 if a goal is missed. SCREE_CLI and SCREE_DYNAMICS_DUMP
name the programs, else those of build/release are taken.
"""

import argparse
import collections
import json
import os
import pathlib
import statistics
import sys

import acceptance
import readers
import robots

GOAL = 0.95  # of the robots that any program reads with its geometry
DEEP = 0.005  # m, of any robot at rest
DEEP_MEDIAN = 0.002  # m
GAINED = 0.01  # of the weight times the height of the fall: what the steps may add
SLOW = 2.0  # times MuJoCo's processor time, in the middle: told, not judged, for machines are noisy


def quartiles(values):
    """Five numbers: least, quartiles, most."""
    if not values:
        return [float("nan")] * 5
    values = sorted(values)
    pick = lambda share: values[min(len(values) - 1, round(share * (len(values) - 1)))]
    return [values[0], pick(0.25), statistics.median(values), pick(0.75), values[-1]]


def inventory(listed, options, tell):
    found = robots.robots(listed)
    tell(f"{len(listed)} URDF files, {sum(f.urdf and f.moving > 0 for f in listed)} of them with a joint that moves; "
         f"{len(found)} robots: distinct sets of joints, at least two of them moving")
    packages = collections.Counter(file.package() for file in listed)
    own = collections.Counter(file.package() for file in found)
    tell("\n| package | files | robots |\n| --- | --- | --- |")
    for package, count in sorted(packages.items()):
        tell(f"| {package} | {count} | {own[package]} |")
    features = collections.Counter(word for file in found for word in file.features())
    tell("\n| feature | robots |\n| --- | --- |")
    for word, count in features.most_common():
        tell(f"| {word} | {count} |")
    return {"files": len(listed), "robots": [file.name for file in found], "features": dict(features)}, []


def accept(listed, options, tell):
    programs = options.programs.split(";") if options.programs else list(readers.PROGRAMS)
    table = acceptance.run(listed, programs)
    counts = acceptance.summary(listed, table)
    before = json.loads(pathlib.Path(options.before).read_text())["summary"] if options.before else None
    tell(acceptance.markdown(counts, before))
    refusals = acceptance.refusals(listed, table) if "scree" in table else {}
    tell("\n| robots | why scree refuses |\n| --- | --- |" if refusals else "\nscree refuses no robot")
    for reason, names in refusals.items():
        tell(f"| {len(names)} | {reason} |")
    missed = []
    if "scree" in table:
        any_reads, ours = counts["sizes"]["robots any reads"], counts["accepted"]["scree"]["robots any reads"]
        if ours < GOAL * any_reads:
            missed.append(f"scree reads {ours} of {any_reads} robots that any program reads, goal {GOAL:.0%}")
        if counts["crashes"]["scree"]:
            missed.append(f"scree crashed on {counts['crashes']['scree']} files")
    return {"summary": counts, "refusals": refusals, "answers": table}, missed


def compare(listed, options, tell):
    import compare as against

    result = against.run(robots.robots(listed))
    compared = {name: answer for name, answer in result.items() if "worst" in answer}
    skipped = collections.Counter(a["skipped"].split(":")[0] for a in result.values() if "skipped" in a)
    worst = lambda quantity: max((answer["worst"][quantity] for answer in compared.values()), default=float("nan"))
    wrong = against.wrong(result)
    tell(f"{len(compared)} robots compared with Pinocchio: nq, nv, mass, and mass matrix at {against.STATES} random "
         f"configurations; {sum(answer['mimic'] for answer in compared.values())} of them have joints that follow others. "
         f"{len(wrong)} differ; largest relative difference of the mass {worst('total mass'):.1e}, of the mass matrix "
         f"{worst('mass matrix'):.1e}")
    for reason, count in skipped.items():
        tell(f"not compared, {reason}: {count}")
    return result, [f"{name}: {how}" for name, how in wrong.items()]


def drop(listed, options, tell):
    import drop as falling

    path = pathlib.Path(options.out) / "drop-robots.json"
    done = json.loads(path.read_text()) if options.resume and path.exists() else {}
    for file in robots.robots(listed):
        if file.name not in done:
            done[file.name] = falling.in_child(file, repeats=options.repeats)
            path.write_text(json.dumps(done, indent=1))
            print(file.name, json.dumps(done[file.name])[:1200], file=sys.stderr, flush=True)
    missed = []
    tell("| step | robots | fall to the end | touch, at rest at the end | deepest at rest: median, worst | energy gained over weight x height: median, "
         "worst | processor time over MuJoCo's: least, quartiles, most | MuJoCo has | crashes |\n"
         "| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for dt in map(str, falling.STEPS):
        entries = {name: answer.get(dt, answer) for name, answer in done.items()}
        read = {n: e for n, e in entries.items() if not e.get("refused")}
        complete = {n: e for n, e in read.items() if e.get("status") == "complete"}
        touching = {n: e for n, e in complete.items() if e["contacts"]}
        resting = sum(entry["speed"] < falling.AT_REST for entry in touching.values())
        depth = quartiles([entry["penetration"] for entry in touching.values()])
        gained = quartiles([entry["gain"] / entry["scale"] for entry in complete.values()])
        ratios = [e["cpu"] / e["peer_cpu"] for e in complete.values() if e.get("peer_cpu")]
        ratio = quartiles(ratios)
        tell(f"| {1000 * float(dt):g} ms | {len(read)} | {len(complete)} | {len(touching)}, {resting} | {1e3 * depth[2]:.2f}, {1e3 * depth[4]:.2f} mm | "
             f"{gained[2]:.1e}, {gained[4]:.1e} | " + ", ".join(f"{value:.2f}" for value in ratio)
             + f" | {len(ratios)} | {sum(bool(e.get('crash')) for e in read.values())} |")
        missed += [f"{dt} s, {n}: {e.get('error') or e.get('status')}" for n, e in read.items() if n not in complete]
        missed += [f"{dt} s, {n}: {1e3 * e['penetration']:.1f} mm deep" for n, e in touching.items() if e["penetration"] > DEEP]
        if touching and depth[2] > DEEP_MEDIAN:
            missed.append(f"{dt} s: {1e3 * depth[2]:.1f} mm deep in the middle, goal {1e3 * DEEP_MEDIAN:g}")
        missed += [f"{dt} s, {n}: gains {e['gain']:.2g} J, {e['gain'] / e['scale']:.2g} of weight x height"
                   for n, e in complete.items() if e["gain"] > GAINED * e["scale"]]
        if ratios and ratio[2] > SLOW:
            tell(f"\nslower than wanted: {ratio[2]:.2f} times MuJoCo's time in the middle, goal {SLOW:g}\n")
    return done, missed


VERBS = {"inventory": inventory, "acceptance": accept, "compare": compare, "drop": drop}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=[*VERBS, "all"])
    parser.add_argument("--out", default=str(robots.ROOT / "build/zoo/results"), help="folder of the results")
    parser.add_argument("--only", default="", help="files whose name has this part")
    parser.add_argument("--programs", help="of acceptance, separated by ;")
    parser.add_argument("--before", help="acceptance.json of another build, for a table before and after")
    parser.add_argument("--repeats", type=int, default=3, help="of every time of drop, the least counts; 0: no times")
    parser.add_argument("--resume", action="store_true", help="of drop: keep the robots that are measured already")
    options = parser.parse_args()
    listed = [file for file in map(robots.File, robots.files()) if options.only in file.name]
    if not listed:
        sys.exit("zoo: no robots; scripts/setup-zoo.sh installs them")
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("SCREE_DYNAMICS_DUMP", str(robots.ROOT / "build/release/tests/oracles/dynamics_dump"))
    missed = []
    for verb in VERBS if options.verb == "all" else [options.verb]:
        lines = []
        print(f"\n{verb}\n")
        result, own = VERBS[verb](listed, options, lambda line: (lines.append(line), print(line, flush=True)))
        (out / f"{verb}.json").write_text(json.dumps(result, indent=1))
        (out / f"{verb}.md").write_text("\n".join(lines) + "\n")
        missed += own
    for line in missed:
        print(f"zoo: missed: {line}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
