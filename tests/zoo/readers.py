"""What reads a file: scree, Pinocchio, MuJoCo, Drake. Each answers {"ok": ...} or {"error": ...} in a child process.

    python readers.py PROGRAM  # names of files on stdin, a line of JSON for each on stdout
"""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import children
import robots

SCREE = os.environ.get("SCREE_CLI", str(robots.ROOT / "build/release/scree"))


def scree(file, *options):
    """`scree check`: every element mapped, ignored, repaired or rejected, each with a reason."""
    done = subprocess.run(
        [SCREE, "check", "--json", *options, str(file.path)],
        capture_output=True,
        timeout=3 * children.SECONDS,
        preexec_fn=children.limits,
    )
    if done.returncode < 0 or done.returncode > 2:
        return {"error": f"crash: exit code {done.returncode}", "crash": True}
    report = json.loads(done.stdout) if done.stdout else {}
    entries = report.pop("entries", [])
    worst = [entry for entry in entries if entry["verdict"] in ("rejected", "error")]
    if done.returncode != 0:
        reasons = [f"{entry['place']}: {entry['note']}" for entry in worst]
        message = done.stderr.decode(errors="replace").strip()
        return {"error": (reasons or [message or "refused"])[0], "reasons": reasons or [message]}
    repaired = [entry for entry in entries if entry["verdict"] not in ("mapped", "ignored")]
    return {"ok": True, "repaired": [f"{e['place']}: {e['note']}" for e in repaired], "model": report.get("model")}


def scree_told(file):
    """The same, told where the packages are."""
    return scree(file, *(word for folder in file.search_path() for word in ("--search-path", str(folder))))


def pinocchio_model(file):
    import pinocchio

    return {"ok": pinocchio.buildModelFromUrdf(str(file.path)).nv >= 0}


def pinocchio_geometry(file):
    import pinocchio

    os.chdir(file.path.parent)
    model = pinocchio.buildModelFromUrdf(str(file.path))
    folders = [str(folder) for folder in file.search_path()]
    for kind in (pinocchio.GeometryType.COLLISION, pinocchio.GeometryType.VISUAL):
        pinocchio.buildGeomFromUrdf(model, str(file.path), kind, package_dirs=folders)
    return {"ok": True}


def mujoco_raw(file):
    import mujoco

    return {"ok": mujoco.MjModel.from_xml_path(str(file.path)).nv >= 0}


def mujoco_resolved(file):
    """Mesh names made absolute, visuals dropped."""
    import mujoco

    root = ElementTree.fromstring(file.path.read_bytes())
    for mesh in root.iter("mesh"):
        found = file.resolve(mesh.get("filename") or "")
        if found:
            mesh.set("filename", str(found))
    extension = root.find("mujoco")
    extension = ElementTree.SubElement(root, "mujoco") if extension is None else extension
    compiler = extension.find("compiler")
    compiler = ElementTree.SubElement(extension, "compiler") if compiler is None else compiler
    compiler.attrib.pop("meshdir", None)
    compiler.set("strippath", "false")
    compiler.set("discardvisual", "true")
    return {"ok": mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode")).nv >= 0}


def drake_parse(file, plant):
    from pydrake.multibody.parsing import Parser

    parser = Parser(plant)
    for name, folder in file.roots().items():
        if not parser.package_map().Contains(name):
            parser.package_map().Add(name, str(folder))
    parser.AddModels(str(file.path))
    plant.Finalize()
    return {"ok": plant.num_positions() >= 0}


def drake_plant(file):
    from pydrake.multibody.plant import MultibodyPlant

    return drake_parse(file, MultibodyPlant(0.0))


def drake_geometry(file):
    from pydrake.multibody.plant import AddMultibodyPlantSceneGraph
    from pydrake.systems.framework import DiagramBuilder

    return drake_parse(file, AddMultibodyPlantSceneGraph(DiagramBuilder(), 0.0)[0])


PROGRAMS = {
    "scree": (scree, []),
    "scree, told the folders": (scree_told, []),
    "Pinocchio, model": (pinocchio_model, ["pinocchio"]),
    "Pinocchio, with geometry": (pinocchio_geometry, ["pinocchio"]),
    "MuJoCo, as it is": (mujoco_raw, ["mujoco"]),
    "MuJoCo, meshes found, no visuals": (mujoco_resolved, ["mujoco"]),
    "Drake, plant": (drake_plant, ["pydrake.multibody.parsing", "pydrake.multibody.plant"]),
    "Drake, with geometry": (drake_geometry, ["pydrake.multibody.parsing", "pydrake.multibody.plant"]),
}
WITH_GEOMETRY = [
    "scree",
    "scree, told the folders",
    "Pinocchio, with geometry",
    "MuJoCo, as it is",
    "MuJoCo, meshes found, no visuals",
    "Drake, with geometry",
]


def one_line(text):
    return re.sub(r"\s+", " ", text)[:400]


def main(program):
    function, modules = PROGRAMS[program]
    for module in modules:
        __import__(module)  # once: children are copies
    for line in sys.stdin:
        answer = children.run(function, robots.File(line.rstrip("\n")))
        if "error" in answer:
            answer["error"] = one_line(answer["error"])
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
