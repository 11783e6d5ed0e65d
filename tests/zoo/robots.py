"""The zoo: URDF files of public packages, what is in them, and where their meshes are."""

import os
import pathlib
import re
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "build/zoo/packages"
MESHES = (".stl", ".dae", ".obj", ".glb", ".gltf")


def installed(packages=PACKAGES):
    """Folders of the packages that are there, NAME-VERSION."""
    return sorted(folder for folder in packages.glob("*") if folder.is_dir())


def files(packages=PACKAGES):
    return sorted(path for path in packages.rglob("*") if path.suffix.lower() == ".urdf" and path.is_file())


class File:
    """One URDF file. Only what counting needs: the programs do the reading."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.error = None
        try:
            text = self.path.read_bytes()
            self.root = ElementTree.fromstring(text)
        except (ElementTree.ParseError, OSError, ValueError) as error:
            self.error, self.root = str(error), ElementTree.Element("none")
        joints = self.root.findall("joint")
        self.joints = tuple(sorted((joint.get("name") or "", joint.get("type") or "") for joint in joints))
        self.moving = sum(kind != "fixed" for _, kind in self.joints)
        self.mimic = any(joint.find("mimic") is not None for joint in joints)
        self.urdf = self.error is None and self.root.tag == "robot"

    @property
    def name(self):
        return str(self.path.relative_to(PACKAGES)) if self.path.is_relative_to(PACKAGES) else str(self.path)

    def package(self):
        return self.name.split("/")[0]

    def meshes(self):
        """(file name as written, of a collision?) of every mesh."""
        return [
            (mesh.get("filename") or "", kind == "collision")
            for link in self.root.findall("link")
            for kind in ("visual", "collision")
            for part in link.findall(kind)
            for mesh in part.findall("geometry/mesh")
        ]

    def folders(self):
        """Of the file and its ancestors up to its package."""
        return [self.path.parent, *(p for p in self.path.parent.parents if p.is_relative_to(PACKAGES) and p != PACKAGES)]

    def roots(self):
        """Name in package:// or model:// -> folder that is meant: the first ancestor, or folder in an ancestor, of that
        name in which the mesh exists; if it exists nowhere, the first that is there at all."""
        found, guess = {}, {}
        for name, _ in self.meshes():
            match = re.match(r"(?:package|model)://([^/]+)/(.*)", name)
            if not match or match[1] in found:
                continue
            for folder in self.folders():
                for candidate in ([folder] if folder.name == match[1] else []) + [folder / match[1]]:
                    if (candidate / match[2]).is_file():
                        found.setdefault(match[1], candidate)
                    elif candidate.is_dir():
                        guess.setdefault(match[1], candidate)
        return {**guess, **found}

    def resolve(self, name):
        """The file a mesh name means, or None."""
        match = re.match(r"(?:package|model)://([^/]+)/(.*)", name)
        if match:
            root = self.roots().get(match[1])
            candidates = [root / match[2]] if root else []
        else:
            plain = re.sub(r"^file://", "", name)
            candidates = [folder / plain for folder in self.folders()] if plain else []
        return next((path for path in candidates if path.is_file()), None)

    def search_path(self):
        """Folders for programs that are told where to look: those that hold the packages, and the file's own ancestors."""
        return list(dict.fromkeys([*(root.parent for root in self.roots().values()), *self.folders()]))

    def features(self):
        words = set()
        for name, collides in self.meshes():
            suffix = os.path.splitext(name)[1].lower().lstrip(".") or "no suffix"
            words.add(f"{'collision' if collides else 'visual'} {suffix}")
            if self.resolve(name) is None:
                words.add(f"{'collision' if collides else 'visual'} mesh missing")
            if "://" in name:
                words.add(name.split("://")[0] + "://")
        if self.mimic:
            words.add("mimic")
        words.update(kind for _, kind in self.joints if kind not in ("fixed", "revolute"))
        if self.root.find("link/inertial") is None:
            words.add("no inertia at all")
        if self.root.find("joint/dynamics[@friction]") is not None:
            words.add("joint friction")
        return sorted(words)


def robots(listed):
    """One file for each robot: of those with the same joints, names and types, and at least two that move, the first."""
    first = {}
    for file in listed:
        if file.urdf and file.moving >= 2:
            first.setdefault(file.joints, file)
    return list(first.values())
