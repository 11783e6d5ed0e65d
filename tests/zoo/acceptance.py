"""Which program reads which file: every file by every program, each time in a child process of its own."""

import collections
import json
import os
import pathlib
import re
import subprocess
import sys

import readers
import robots

HERE = pathlib.Path(__file__).resolve().parent


def answers(program, listed):
    """What the program says of each file."""
    command = [sys.executable, str(HERE / "readers.py"), program]
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}
    names = "".join(f"{file.path}\n" for file in listed)
    done = subprocess.run(command, input=names, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return [json.loads(line) for line in done.stdout.splitlines()]


def run(listed, programs=tuple(readers.PROGRAMS)):
    """{program: {file name: answer}}."""
    table = {}
    for program in programs:
        table[program] = {file.name: answer for file, answer in zip(listed, answers(program, listed), strict=True)}
        accepted = sum("ok" in answer for answer in table[program].values())
        print(f"{program}: {accepted} of {len(listed)} files", file=sys.stderr, flush=True)
    return table


def kind(reason):
    """A reason without the names and numbers of its file, to count by."""
    reason = re.sub(r"\[[^\]]*\]", "", reason)
    reason = re.sub(r"\"[^\"]*\"|'[^']*'", "…", reason)
    reason = re.sub(r"/\S+/\S+", "PATH", reason) if "robot/" not in reason else reason
    return re.sub(r"[-+]?\d[\d.]*(e[-+]?\d+)?", "#", reason)[:140]


def summary(listed, table):
    """Counts: of all files, of those with a joint that moves, of robots; and of the robots that any program reads with
    its geometry."""
    found = robots.robots(listed)
    readable = [f for f in found if any("ok" in table[p][f.name] for p in readers.WITH_GEOMETRY if p in table)]
    moving = [file for file in listed if file.urdf and file.moving]
    groups = {"files": listed, "files that move": moving, "robots": found, "robots any reads": readable}
    count = lambda program, group: sum("ok" in table[program][file.name] for file in group)
    return {
        "sizes": {name: len(group) for name, group in groups.items()},
        "accepted": {program: {name: count(program, group) for name, group in groups.items()} for program in table},
        "crashes": {p: sum(bool(answer.get("crash")) for answer in table[p].values()) for p in table},
        "missing": [f.name for f in readable if "ok" not in table["scree"][f.name]] if "scree" in table else [],
    }


def refusals(listed, table, program="scree"):
    """Reason -> robots, most frequent first; a robot may have several."""
    counts = collections.defaultdict(list)
    for file in robots.robots(listed):
        answer = table[program][file.name]
        if "ok" not in answer:
            for reason in sorted({kind(reason) for reason in answer.get("reasons", [answer["error"]])}):
                counts[reason].append(file.name)
    return dict(sorted(counts.items(), key=lambda item: -len(item[1])))


def markdown(counts, before=None):
    """The table of docs/zoo.md; `before`: the summary of an older build, its scree as a row of its own."""
    sizes = counts["sizes"]
    percent = lambda n, group: f"{n} ({100 * n / max(1, sizes[group]):.0f} %)"
    lines = [
        "| program | " + " | ".join(f"{sizes[group]} {group}" for group in sizes) + " | crashes |",
        "| --- | " + " | ".join("---" for _ in sizes) + " | --- |",
    ]
    rows = [(program, counts["accepted"][program], counts["crashes"][program]) for program in counts["accepted"]]
    if before:
        rows = [(f"{p}, before", before["accepted"][p], before["crashes"][p]) for p in before["accepted"]] + rows
    for program, accepted, crashes in rows:
        lines.append(f"| {program} | " + " | ".join(percent(accepted[g], g) for g in sizes) + f" | {crashes} |")
    return "\n".join(lines)
