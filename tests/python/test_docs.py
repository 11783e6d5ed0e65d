"""The documentation points at things that exist."""

import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = [p for folder in ("include", "src", "tests", "bench") for p in (ROOT / folder).rglob("*") if p.suffix in (".h", ".cpp")]


def test_every_cited_equation_is_in_the_theory():
    known = set(re.findall(r"\\tag\{([0-9.]+)\}", (ROOT / "docs/theory.md").read_text()))
    assert len(known) > 30
    cited = {}
    for path in SOURCES:
        for citation in re.findall(r"theory ((?:\(?[0-9]+\.[0-9]+\)?(?:, | to | and )?)+)", path.read_text()):
            for number in re.findall(r"[0-9]+\.[0-9]+", citation):
                cited.setdefault(number, path.name)
    assert len(cited) > 20
    assert {n: p for n, p in cited.items() if n not in known} == {}


def test_every_relative_link_leads_somewhere():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    assert len(pages) > 5
    broken = []
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            if not (page.parent / target).exists():
                broken.append(f"{page.name}: {target}")
    assert broken == []


def test_every_path_named_in_the_readme_exists():
    named = re.findall(r"`((?:docs|examples|models|src|include|tests|bench|viewer)/[\w./-]*)`", (ROOT / "README.md").read_text())
    assert len(named) >= 3
    assert [p for p in named if not (ROOT / p).exists()] == []


def test_the_first_five_minutes_of_the_readme_run_as_written(tmp_path):
    text = (ROOT / "README.md").read_text().split("## The first five minutes")[1].split("## What is where")[0]
    (scene,) = re.findall(r"```toml\n(.*?)```", text, re.S)
    (tmp_path / "scene.toml").write_text(scene)
    for folder in ("models", "examples"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    commands = [c for block in re.findall(r"```sh\n(.*?)```", text, re.S) for c in block.strip().splitlines()]
    assert len(commands) == 7
    programs = {"build/release/scree": os.environ["SCREE_CLI"], "python3": sys.executable}
    outputs = []
    for command in commands:
        words = shlex.split(command)
        outputs.append(subprocess.run([programs[words[0]], *words[1:]], cwd=tmp_path, check=True, capture_output=True, text=True).stdout)
    assert (tmp_path / "walk.html").exists() and (tmp_path / "batch.h5").exists() and (tmp_path / "disks.html").exists()
    assert outputs[-1].split() == ["(501,", "2)", "s"]
