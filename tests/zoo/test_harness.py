"""The zoo's own arithmetic and its children, without any robot."""

import os
import signal
import time
import zipfile

import numpy as np
import pytest

import acceptance
import children
import drop
import robots
import twin
import unpack
import zoo

ROBOT = """<robot name="r"><link name="a"><visual><geometry><mesh filename="{}"/></geometry></visual></link><link name="b"/>
<joint name="j" type="{}"><parent link="a"/><child link="b"/></joint>
<joint name="k" type="revolute"><parent link="b"/><child link="c"/></joint><link name="c"/></robot>"""


@pytest.fixture
def packages(tmp_path, monkeypatch):
    monkeypatch.setattr(robots, "PACKAGES", tmp_path)
    return tmp_path


def write(path, mesh="package://arm/meshes/a.stl", kind="continuous"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(ROBOT.format(mesh, kind))
    return robots.File(path)


def test_meshes_are_found_in_the_folders_around_the_file(packages):
    mesh = packages / "p-1/share/arm/meshes/a.stl"
    mesh.parent.mkdir(parents=True)
    mesh.write_text("solid")
    for name in ("package://arm/meshes/a.stl", "model://arm/meshes/a.stl", "../meshes/a.stl", f"file://{mesh}"):
        file = write(packages / "p-1/share/arm/urdf/arm.urdf", name)
        assert file.resolve(name).resolve() == mesh
    file = write(packages / "p-1/share/other/arm.urdf")
    assert file.resolve("package://arm/meshes/a.stl") == mesh
    assert packages / "p-1/share" in file.search_path()
    assert file.resolve("package://arm/meshes/b.stl") is None
    assert file.resolve("package://leg/meshes/a.stl") is None
    assert "visual mesh missing" not in file.features()
    assert packages not in file.folders() and packages / "p-1" in file.folders()


def test_a_robot_is_a_set_of_joints_two_of_them_moving(packages):
    first = write(packages / "p-1/a.urdf")
    same = write(packages / "p-1/b.urdf", "other.stl")
    other = write(packages / "p-1/c.urdf", kind="prismatic")
    still = write(packages / "p-1/d.urdf", kind="fixed")
    broken = packages / "p-1/e.urdf"
    broken.write_text("<robot")
    broken = robots.File(broken)
    assert broken.error and not broken.urdf
    assert robots.robots([first, same, other, still, broken]) == [first, other]


def test_bounded_springs_have_the_energy_that_their_force_did():
    kp, effort, stretch = 7.0, 3.0, 1.3
    x = np.linspace(0, stretch, 100001)
    force = np.clip(kp * x, -effort, effort)
    work = np.sum((force[1:] + force[:-1]) / 2 * np.diff(x))  # error: one kink, kp dx^2 / 8, 1e-10
    for sign in (1, -1):
        assert drop.spring_energy(kp, np.array([sign * stretch]), effort)[0] == pytest.approx(work, abs=1e-8)
    assert drop.spring_energy(kp, np.array([stretch]), np.inf)[0] == pytest.approx(kp * stretch**2 / 2)
    assert drop.spring_energy(0, np.array([stretch]), effort)[0] == 0


def test_gain_is_the_largest_rise_above_an_earlier_value():
    assert drop.gain(np.array([5.0, 3, 4, 2, 2.5, 1])) == 1
    assert drop.gain(np.array([3.0, 2, 1])) == 0


def test_quartiles():
    assert zoo.quartiles([5, 1, 4, 2, 3]) == [1, 2, 3, 4, 5]
    assert all(np.isnan(zoo.quartiles([])))


def test_reasons_are_counted_without_names_and_numbers():
    one = acceptance.kind('robot/link[arm_1]/inertial: mass is 0.5 in "file"')
    assert one == acceptance.kind('robot/link[leg]/inertial: mass is 12 in "other"')
    assert one != acceptance.kind("robot/link[leg]/inertial: has none")


def test_only_accepted_files_count(packages):
    listed = [write(packages / f"p-1/{k}.urdf", kind=kind) for k, kind in enumerate(["continuous", "prismatic", "fixed"])]
    names = [file.name for file in listed]
    table = {
        "scree": dict(zip(names, [{"ok": True}, {"error": "a: b 1"}, {"ok": True}])),
        "Drake, with geometry": dict(zip(names, [{"error": "x"}, {"ok": True}, {"error": "crash", "crash": True}])),
    }
    counts = acceptance.summary(listed, table)
    assert counts["sizes"] == {"files": 3, "files that move": 3, "robots": 2, "robots any reads": 2}
    assert counts["accepted"]["scree"] == {"files": 2, "files that move": 2, "robots": 1, "robots any reads": 1}
    assert counts["crashes"] == {"scree": 0, "Drake, with geometry": 1}
    assert acceptance.refusals(listed, table) == {"a: b #": [names[1]]}
    assert "| scree | 2 (67 %) | 2 (67 %) | 1 (50 %) | 1 (50 %) | 0 |" in acceptance.markdown(counts)


def test_children_answer_whatever_happens_to_them():
    assert children.run(lambda: {"ok": 1}) == {"ok": 1}
    assert children.run(lambda: {}["x"]) == {"error": "KeyError: 'x'"}
    assert children.run(lambda: os.kill(os.getpid(), signal.SIGSEGV)) == {"error": "crash: SIGSEGV", "crash": True}
    assert children.run(lambda: bytearray(children.MEMORY))["error"].startswith("MemoryError")

    def forever():
        while True:
            pass

    assert children.run(forever, seconds=1) == {"error": "timeout"}
    assert children.run(lambda: time.sleep(60), seconds=0.3) == {"error": "timeout"}


def test_packages_are_unpacked_without_what_runs(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.whl", "w") as wheel:
        for name in ("a/robot.URDF", "a/mesh.stl", "a/code.py", "a/lib.so", "../out.stl"):
            wheel.writestr(name, "x")
    unpack.unpack(tmp_path / "a.whl", tmp_path / "to")
    found = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert found == {"a.whl", "to/a/robot.URDF", "to/a/mesh.stl", "to/out.stl"}


def test_the_meshes_of_a_twin_are_those_of_the_run(tmp_path):
    vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]], float)
    triangles = np.array([[0, 2, 1], [0, 1, 3]])
    twin.write_stl(tmp_path / "a.stl", vertices, triangles)
    data = (tmp_path / "a.stl").read_bytes()
    assert len(data) == 84 + 50 * 2 and int.from_bytes(data[80:84], "little") == 2
    numbers = np.frombuffer(data[84 : 84 + 48], "<f4").reshape(4, 3)
    assert numbers[0].tolist() == [0, 0, -2]
    assert numbers[1:].tolist() == vertices[triangles[0]].tolist()
