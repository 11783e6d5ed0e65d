"""The documentation points at things that exist."""

import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = [p for folder in ("include", "src", "tests", "bench", "studies", "apps", "examples") for p in (ROOT / folder).rglob("*") if p.suffix in (".h", ".cpp")]


def comments_joined(text):
    """Comments that go on in the next line in one, so that a citation split over two is seen whole."""
    return re.sub(r"\s+", " ", re.sub(r"\s*\n\s*//", " ", text))


def cited_equations(text):
    for citation in re.findall(r"theory,? ((?:\(?[0-9]+\.[0-9]+\)?(?:, | to | and )?)+)", comments_joined(text)):
        yield from re.findall(r"[0-9]+\.[0-9]+", citation)


def test_citations_are_found_wherever_the_line_ends():
    split = "  // M(q), symmetric. Valid until the next call.            theory\n  // (6.4)\n"
    assert list(cited_equations(split)) == ["6.4"]
    assert list(cited_equations("// theory (14.3),\n// (14.10) to (14.12)")) == ["14.3", "14.10", "14.12"]
    assert list(cited_equations("// theory section 8, 3.5 m")) == []


def test_every_cited_equation_is_in_the_theory():
    theory = (ROOT / "docs/theory.md").read_text()
    known = set(re.findall(r"\\tag\{([0-9.]+)\}", theory))
    sections = set(re.findall(r"^## ([0-9]+)\. ", theory, re.M))
    assert len(known) > 30 and len(sections) > 10
    cited, cited_sections = {}, {}
    for path in SOURCES:
        for number in cited_equations(path.read_text()):
            cited.setdefault(number, path.name)
        for list_of in re.findall(r"theory sections? ((?:[0-9]+(?:, | and )?)+)", comments_joined(path.read_text())):
            for number in re.findall(r"[0-9]+", list_of):
                cited_sections.setdefault(number, path.name)
    assert len(cited) > 100 and len(cited_sections) > 5
    assert {n: p for n, p in cited.items() if n not in known} == {}
    assert {n: p for n, p in cited_sections.items() if n not in sections} == {}


def test_no_citation_is_split_over_two_lines():
    split = re.compile(r"theory(?: sections?)?\s*\n\s*//\s*(?:\(?[0-9]|section)|theory[^\n]*(?:,| to| and)\n\s*//\s*\([0-9]+\.[0-9]+\)")
    assert [f"{p.relative_to(ROOT)}:{p.read_text()[:m.start()].count(chr(10)) + 1}" for p in SOURCES for m in split.finditer(p.read_text())] == []


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
