"""A run file made by the command line, read with h5py as a user would.

The command line's path comes from the environment variable SCREE_CLI. Run by CTest, or by hand:
    SCREE_CLI=build/release/scree python3 -m pytest tests/python
"""

import os
import pathlib
import subprocess

import pytest

h5py = pytest.importorskip("h5py", reason="h5py is not installed (Debian: python3-h5py)")
np = pytest.importorskip("numpy")

SCENES = pathlib.Path(__file__).parents[1] / "data" / "scenes"
UNITS = {
    "time": "s",
    "q": "m, rad, unit quaternions (w, x, y, z)",
    "v": "m/s, rad/s",
    "report/kinetic_energy": "J",
    "report/potential_energy": "J",
    "report/residual": "m/s^2, rad/s^2",
    "report/iterations": "1",
    "report/substeps": "1",
    "report/rejected": "1",
}


def simulate(folder, scene, *options):
    file = folder / "run.h5"
    subprocess.run([os.environ["SCREE_CLI"], "sim", SCENES / scene, "--out", file, "--quiet", *options], check=True)
    return h5py.File(file, "r")


@pytest.fixture
def pendulum(tmp_path):
    with simulate(tmp_path, "pendulum.toml") as run:
        yield run


@pytest.fixture
def joints(tmp_path):
    with simulate(tmp_path, "joints.toml") as run:
        yield run


def test_every_numeric_dataset_has_units_and_one_row_per_step(joints):
    for name, units in UNITS.items():
        assert joints[name].attrs["units"] == units
        assert joints[name].shape[0] == 11
    assert joints["q"].shape == (11, 16) and joints["q"].dtype == np.float64
    assert joints["v"].shape == (11, 14)


def test_attributes_are_python_strings_and_numbers(joints):
    assert joints.attrs["title"] == "Joints"
    assert joints.attrs["status"] == "complete"
    assert joints.attrs["format_version"] == 3
    assert joints.attrs["scree_version"].count(".") == 2
    assert joints.attrs["wall_time"] > 0
    assert len(joints.attrs["final_state_hash"]) == 16 and int(joints.attrs["final_state_hash"], 16) > 0


def test_columns_have_names(joints):
    q_names = list(joints["model/q_names"].asstr()[:])
    assert len(q_names) == 16 and q_names[:4] == ["base.x", "base.y", "base.z", "base.qw"] and q_names[-1] == "hinge"
    assert list(joints["model/v_names"].asstr()[:])[-2:] == ["top.w", "hinge"]
    assert list(joints["model/joint_names"].asstr()[:]) == ["base", "shoulder", "slide", "top", "hinge"]


def test_first_row_is_the_initial_state(joints):
    q = dict(zip(joints["model/q_names"].asstr()[:], joints["q"][0]))
    v = dict(zip(joints["model/v_names"].asstr()[:], joints["v"][0]))
    assert (q["base.z"], q["slide"], q["top.angle"], q["hinge"]) == (2, 0.05, 0.3, 0.4)
    assert q["base.qx"] == pytest.approx(0.8, abs=1e-15)
    assert (v["base.vx"], v["base.wy"], v["hinge"]) == (1, 2, -0.5)


def test_times_are_multiples_of_dt_and_end_at_the_duration(pendulum):
    time = pendulum["time"][:]
    assert np.array_equal(time[:-1], np.arange(13) * 0.02)
    assert time[-1] == 0.25


def test_energy_of_a_pendulum(pendulum):
    q, v = pendulum["q"][:, 0], pendulum["v"][:, 0]
    kinetic, potential = pendulum["report/kinetic_energy"][:], pendulum["report/potential_energy"][:]
    # (m l^2 + I) v^2 / 2 and -m g l cos q with m = l = 1, I = 0.001: the recorded energies to rounding
    assert np.allclose(kinetic, 0.5 * 1.001 * v**2, rtol=1e-13, atol=1e-13)
    assert np.allclose(potential, -9.81 * np.cos(q), rtol=1e-13, atol=1e-13)
    # rk4 at w h = 3.1 * 0.02 keeps energy to about (w h)^4 = 1.5e-5 of its 10 J
    assert np.ptp(kinetic + potential) < 1.5e-4


def test_a_run_without_an_environment_has_no_contacts(joints):
    assert "contacts" not in joints and "environment" not in joints and "outer" not in joints["report"]


def test_the_model_and_the_scene_are_inside(joints):
    assert joints["model/urdf"][()].decode().lstrip().startswith("<")
    assert joints["scene"][()].decode() == (SCENES / "joints.toml").read_text()
    assert list(joints["model/meshes"]) == ["0"]
    mesh = joints["model/meshes/0"]
    assert mesh.attrs["uri"] == "wedge.obj"
    assert mesh["vertices"].shape == (4, 3) and mesh["triangles"].shape == (4, 3)
    assert mesh["vertices"][3, 2] == 0.3333333333333333
    settings = dict(joints["settings"].asstr()[:])
    assert settings["integrator"] == "pbd" and settings["steps"] == "10"
