"""The documentation points at things that exist."""

import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = [p for folder in ("include", "src", "tests", "bench", "studies", "apps", "examples") for p in (ROOT / folder).rglob("*") if p.suffix in (".h", ".cpp")]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


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


def theory_sections():
    """Section number -> its page: docs/theory/NN-name.md with the heading `# N. Title`."""
    sections = {}
    for page in sorted((ROOT / "docs/theory").iterdir()):
        (number,) = re.findall(r"^# ([0-9]+)\. ", page.read_text(), re.M)
        assert re.fullmatch(rf"{int(number):02d}-[a-z-]+\.md", page.name), page.name
        assert number not in sections, page.name
        sections[number] = page
    return sections


def tags(page):
    return re.findall(r"\\tag\{([0-9.]+)\}", page.read_text())


def missing_citations(sources, known, sections):
    """What texts, by name, cite and the theory does not have; and how many equations and sections they cite."""
    cited, cited_sections = {}, {}
    for name, text in sources.items():
        for number in cited_equations(text):
            cited.setdefault(number, name)
        for list_of in re.findall(r"theory sections? ((?:[0-9]+(?:, | and )?)+)", comments_joined(text)):
            for number in re.findall(r"[0-9]+", list_of):
                cited_sections.setdefault(number, name)
    missing = {n: p for n, p in cited.items() if n not in known} | {n: p for n, p in cited_sections.items() if n not in sections}
    return missing, len(cited), len(cited_sections)


def test_every_cited_equation_is_in_the_theory():
    sections = theory_sections()
    known = {tag for page in sections.values() for tag in tags(page)}
    assert len(known) > 150 and len(sections) > 10
    missing, equations, cited_sections = missing_citations({p.name: p.read_text() for p in SOURCES + PAGES}, known, sections)
    assert equations > 100 and cited_sections > 5
    assert missing == {}
    assert missing_citations({"a": "// theory (8.4), (8.99)"}, known, sections)[0] == {"8.99": "a"}
    assert missing_citations({"a": "// theory section 99"}, known, sections)[0] == {"99": "a"}


def test_the_index_of_the_theory_says_which_equations_are_where():
    rows = re.findall(r"^\| ([0-9]+) \| \[(.*)\]\(theory/([\w.-]+)\) \| \(([0-9.]+)\) (?:to|and) \(([0-9.]+)\) \|$",
                      (ROOT / "docs/theory.md").read_text(), re.M)
    sections = theory_sections()
    assert {number: name for number, _, name, _, _ in rows} == {number: page.name for number, page in sections.items()}
    for number, title, name, first, last in rows:
        page = sections[number]
        assert page.read_text().startswith(f"# {number}. {title}\n"), name
        assert first == f"{number}.1", name
        whole = [f"{number}.{k}" for k in range(1, int(last.split(".")[1]) + 1)]
        assert sorted(tags(page)) == sorted(whole), f"{name}: every number once"
        assert last == whole[-1], name
    assert tags(ROOT / "docs/theory.md") == []


def test_no_citation_is_split_over_two_lines():
    split = re.compile(r"theory(?: sections?)?\s*\n\s*//\s*(?:\(?[0-9]|section)|theory[^\n]*(?:,| to| and)\n\s*//\s*\([0-9]+\.[0-9]+\)")
    assert [f"{p.relative_to(ROOT)}:{p.read_text()[:m.start()].count(chr(10)) + 1}" for p in SOURCES for m in split.finditer(p.read_text())] == []


def test_every_relative_link_leads_somewhere():
    assert len(PAGES) > 30
    broken = []
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            if not (page.parent / target).exists():
                broken.append(f"{page.name}: {target}")
    assert broken == []


def test_every_page_and_picture_is_linked():
    linked = {(page.parent / target).resolve() for page in PAGES for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())}
    assert [str(p.relative_to(ROOT)) for p in sorted((ROOT / "docs").rglob("*")) if p.is_file() and p.resolve() not in linked] == []


def heading_anchors(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in re.findall(r"^#+ (.*)$", text, re.M)}


def test_every_link_into_a_page_names_a_heading():
    wrong, seen = [], 0
    for page in PAGES:
        for target, anchor in re.findall(r"\]\(([^)#:]*)#([^)]+)\)", page.read_text()):
            seen += 1
            if anchor not in heading_anchors((page.parent / target) if target else page):
                wrong.append(f"{page.name}: {target}#{anchor}")
    assert seen > 20
    assert wrong == []


def wide_prose(text, columns=100):
    """Numbers of lines that are too wide: not those of code, tables and display equations, nor one word, link or picture alone."""
    wide, within = [], None
    for number, line in enumerate(text.splitlines(), 1):
        words = line.strip()
        if within:
            within = None if within in words else within
        elif words.startswith("```"):
            within = "```"
        elif words.startswith("$$"):
            within = "$$" if words.count("$$") == 1 else None
        elif len(line) > columns and not words.startswith("|") and not re.fullmatch(r"(?:[-*] )?(?:\S+|!?\[[^]]*\]\([^)]*\)[.,;:]?)", words):
            wide.append(number)
    return wide


def test_prose_is_at_most_100_columns_wide():
    long = "word " * 25
    assert wide_prose(f"{long}\n# {long}\n* {long}\n[a](b) {long}") == [1, 2, 3, 4]
    assert wide_prose(f"```\n{long}\n```\n| {long} |\n$$ {long} $$\n$$ {long}\n{long} $$\n![{long}](a.png)\n{'w' * 120}") == []
    assert wide_prose(f"```\na\n```\n$$ a\nb $$\n{long}") == [6]
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    assert [f"{p.relative_to(ROOT)}:{n}" for p in pages for n in wide_prose(p.read_text())] == []


def test_every_path_named_in_the_readme_exists():
    named = re.findall(r"`((?:docs|examples|models|src|include|tests|bench|viewer)/[\w./-]*)`", (ROOT / "README.md").read_text())
    assert len(named) >= 3
    assert [p for p in named if not (ROOT / p).exists()] == []


README = (ROOT / "README.md").read_text()


def sh_lines(text):
    lines = [line.split(" #")[0].strip() for block in re.findall(r"```sh\n(.*?)```", text, re.S) for line in block.splitlines()]
    return [line for line in lines if line]


def run_as_written(command, folder):
    words = shlex.split(command)
    programs = {"build/release/scree": os.environ["SCREE_CLI"], "scree": os.environ["SCREE_CLI"], "python3": sys.executable}
    return subprocess.run([programs[words[0]], *words[1:]], cwd=folder, check=True, capture_output=True, text=True).stdout


def tree_in(folder):
    for name in ("models", "motions", "examples"):
        (folder / name).symlink_to(ROOT / name)


def test_the_commands_of_the_readme_run_as_written(tmp_path):
    (scene,) = re.findall(r"```toml\n(.*?)```", README, re.S)
    (tmp_path / "scene.toml").write_text(scene)
    tree_in(tmp_path)
    commands = sh_lines(README)
    assert [c for c in commands if c.startswith("make ")] == ["make demo", "make test"]
    outputs = {command: run_as_written(command, tmp_path) for command in commands if not command.startswith("make ")}
    assert len(outputs) == 11
    written = {"walk.html", "robot.html", "batch.h5", "fan.html", "run.h5", "disks.html", "compare.html"}
    assert written <= {path.name for path in tmp_path.iterdir()}
    (shape,) = [output for command, output in outputs.items() if command.startswith("python3 ")]
    assert shape.split() == ["(101,", "35)", "s"]


# Lines of code blocks that no test runs as written.
NOT_RUN = {
    "cd build/release/viewer": "how to work on the viewer",
    "cp -r ../../../viewer/src . && npm run check && npm run build": "the build bundles, viewer.types checks",
}


def test_the_commands_of_the_docs_run_as_written(tmp_path):
    tree_in(tmp_path)
    commands = [line for page in sorted((ROOT / "docs").rglob("*.md")) for line in sh_lines(page.read_text())]
    assert set(NOT_RUN) <= set(commands), "no exception without its command"
    commands = [c for c in commands if c not in NOT_RUN and not c.startswith("make ")]
    assert len(commands) >= 5
    for command in commands:
        run_as_written(command, tmp_path)


def make_rules():
    """Targets of the Makefile and all that each of them asks for, by prerequisites or by $(MAKE)."""
    rules, target = {}, None
    for line in (ROOT / "Makefile").read_text().replace("\\\n", " ").splitlines():
        if rule := re.match(r"([\w-]+):([^=]*?)(##.*)?$", line):
            target = rule[1]
            rules[target] = set(rule[2].split())
        elif line.startswith("\t"):
            rules[target] |= {word for part in line.split("$(MAKE)")[1:] for word in re.findall(r"(?<=\s)[a-z][\w-]*(?![\w=-])", part)[:1]}
    return rules


# Targets that `make verify` leaves out.
NOT_VERIFIED = {
    "studies": "a part of what `build` builds",
    "format": "rewrites sources; the test style.clang_format asks whether it would",
    "clean": "deletes",
}


def test_every_target_of_the_makefile_is_part_of_verify_and_named_ones_exist():
    rules = make_rules()
    reached, new = set(), {"verify"}
    while new:
        reached |= new
        new = {t for target in new for t in rules[target] if t in rules} - reached
    assert {"test", "campaigns", "bench", "demo"} <= reached
    assert set(rules) - reached == set(NOT_VERIFIED)
    named = {name for page in PAGES for name in re.findall(r"(?:^|`)make ([a-z][a-z-]*)", page.read_text(), re.M)}
    assert len(named) >= 5
    assert named - set(rules) == set()


def test_every_program_that_make_runs_is_built():
    programs = set(re.findall(r"scree_\w+(?= |$)|(?<=/)scree_\w+", (ROOT / "Makefile").read_text()))
    assert len(programs) >= 7
    known = "\n".join(path.read_text() for path in ROOT.glob("*/**/CMakeLists.txt") if "build" not in path.parts)
    known += (ROOT / "CMakeLists.txt").read_text()
    assert {p for p in programs if not re.search(rf"(add_executable|scree_add_reader_program)\({p}\b", known)} == set()


def test_every_verb_option_and_study_named_in_the_docs_exists():
    cli = os.environ["SCREE_CLI"]
    ask = lambda *words: subprocess.run([cli, *words], check=True, capture_output=True, text=True).stdout
    studies = {line.split()[0] for line in ask("study", "list").splitlines()}
    helps, wrong, seen = {}, [], 0
    for page in [path for path in PAGES if path.name != "CHANGELOG.md"]:
        for command in re.findall(r"`((?:build/release/)?scree (?!VERB)[a-z][^`]*)`", page.read_text()) + sh_lines(page.read_text()):
            words = command.split()
            if not words[0].endswith("scree"):
                continue
            seen += 1
            verb = words[1]
            helps[verb] = helps.get(verb) or ask(verb, "--help")
            unknown = [w for w in re.findall(r"(?<= )--[a-z-]+", command) if not re.search(rf"{w}\b", helps[verb])]
            if verb == "study" and words[2:] and re.fullmatch("[a-z0-9-]+", words[2]) and words[2] not in studies | {"list"}:
                unknown.append(words[2])
            wrong += [f"{page.name}: {command}: {word}" for word in unknown]
    assert seen > 20
    assert wrong == []
