"""docs/architecture.md draws the folders of src/ with arrows: the includes follow them."""

import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SRC = os.path.join(ROOT, "src")


def drawn_arrows():
    """Folder -> folders its arrow names, from the drawing."""
    with open(os.path.join(ROOT, "docs", "architecture.md"), encoding="utf-8") as file:
        drawing = file.read().split("```text\n", 1)[1].split("```", 1)[0]
    arrows = {}
    for entry in re.split(r"\n(?=\S)", drawing):
        folder = re.match(r"src/(\w+)/", entry)
        if folder:
            arrow = re.search(r"<-\s*([\w, ]+)", entry)
            assert arrow, f"src/{folder[1]} has no arrow"
            arrows[folder[1]] = [] if arrow[1].strip() == "nothing" else re.split(r",\s*", arrow[1].strip())
    return arrows


def reachable(arrows, folder):
    found, ahead = set(), [folder]
    while ahead:
        for to in arrows[ahead.pop()]:
            if to not in found:
                found.add(to)
                ahead.append(to)
    return found


def files():
    for folder in sorted(os.listdir(SRC)):
        for name in sorted(os.listdir(os.path.join(SRC, folder))):
            yield folder, name


def test_the_drawing_has_all_folders_and_goes_one_way():
    arrows = drawn_arrows()
    assert sorted(arrows) == sorted(os.listdir(SRC))
    for folder, to in arrows.items():
        assert set(to) <= set(arrows), folder
        assert folder not in reachable(arrows, folder), f"src/{folder} leads back to itself"


def test_includes_follow_the_arrows():
    arrows, wrong, seen = drawn_arrows(), [], 0
    for folder, name in files():
        with open(os.path.join(SRC, folder, name), encoding="utf-8") as file:
            for to in re.findall(r'#include "(\w+)/\w+\.h"', file.read()):
                seen += 1
                if to not in ("scree", folder) and to not in reachable(arrows, folder):
                    wrong.append(f"src/{folder}/{name} includes src/{to}")
    assert seen > 300 and not wrong, wrong


def test_no_two_files_have_one_name():
    owners = {}
    for folder, name in files():
        owners.setdefault(name, []).append(folder)
    assert not {name: of for name, of in owners.items() if len(of) > 1}
