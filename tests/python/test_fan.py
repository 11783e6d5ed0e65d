"""Files of fans made by the command line, read with h5py.

The command line's path comes from the environment variable SCREE_CLI, as in test_run_file.py.
"""

import os
import pathlib
import subprocess

import pytest

h5py = pytest.importorskip("h5py", reason="h5py is not installed (Debian: python3-h5py)")
np = pytest.importorskip("numpy")

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCENE = ROOT / "tests/data/scenes/fan.toml"
COUNT = 64


@pytest.fixture(scope="module")
def fan(tmp_path_factory):
    file = tmp_path_factory.mktemp("fan") / "fan.h5"
    subprocess.run(
        [os.environ["SCREE_CLI"], "sim", SCENE, "--branches", str(COUNT), "--quiet", "--out", file], check=True
    )
    with h5py.File(file) as opened:
        yield opened


def test_layout_and_units(fan):
    assert fan.attrs["fan_version"] == 2
    assert fan.attrs["status"] == "complete"
    assert fan.attrs["seed"] == "1"
    rows = len(fan["time"])
    assert fan["q"].shape == fan["v"].shape == (COUNT, rows, 3)
    assert fan["spread"].shape == (rows,)
    assert [name.decode() for name in fan["model/q_names"]] == ["base.x", "base.z", "base.angle"]
    units = {
        "time": "s",
        "q": "m, rad, unit quaternions (w, x, y, z)",
        "v": "m/s, rad/s",
        "spread": "kg^(1/2) m",
        "branches/final_energy": "J",
        "branches/penetration": "m",
        "branches/end_time": "s",
        "impacts/time": "s",
        "impacts/energy_before": "J",
        "impacts/v_after": "m/s, rad/s",
    }
    for name, unit in units.items():
        assert fan[name].attrs["units"] == unit


def test_every_number_says_its_unit(fan):
    def check(name, item):
        if isinstance(item, h5py.Dataset) and item.dtype.kind in "fiu":
            assert "units" in item.attrs, name

    fan.visititems(check)


def test_branches_part_at_the_first_split(fan):
    split = fan.attrs["first_split"]
    assert abs(split - np.sqrt(2 * 0.03 / 9.81)) < 2e-9  # falls 3 cm; located within 1e-9 m at 0.77 m/s
    time, q = fan["time"][()], fan["q"][()]
    before = time < split
    assert (q[:, before] == q[0, before]).all()
    assert (fan["spread"][before] == 0).all()
    # 1 kg and 1/24 kg m^2, as numpy has standard deviations
    weights = np.array([1, 1, 0.0416666666667])
    assert np.allclose(np.sqrt((q.var(axis=0) * weights).sum(axis=1)), fan["spread"], rtol=1e-9, atol=1e-12)


def test_impacts_belong_to_their_branches(fan):
    first, impacts = fan["branches/first_impact"][()], fan["impacts"]
    modes = [mode.decode() for mode in fan["modes"]]
    assert first[0] == 0 and first[-1] == len(impacts["time"])
    for b in range(COUNT):
        mine = slice(first[b], first[b + 1])
        assert (impacts["branch"][mine] == b).all()
        assert (np.diff(impacts["time"][mine]) >= 0).all()
    assert (impacts["energy_after"][()] <= impacts["energy_before"][()] * (1 + 1e-12)).all()
    at_split = [modes[m] for m in impacts["mode"][first[:-1]]]
    for mode, count in zip(fan["split/mode"], fan["split/branches"]):
        assert at_split.count(modes[mode]) == count


def test_clusters_partition_the_branches(fan):
    cluster, size = fan["branches/cluster"][()], fan["clusters/size"][()]
    assert (np.bincount(cluster, minlength=len(size)) == size).all()
    assert size.sum() == COUNT
    assert (np.diff(size) <= 0).all()
    first = fan["clusters/first_mode"][()]
    modes = [tuple(fan["clusters/mode"][first[c] : first[c + 1]]) for c in range(len(size))]
    assert len(set(modes)) == len(modes)
    first_impact, impact_mode = fan["branches/first_impact"][()], fan["impacts/mode"][()]
    ambiguous = fan["impacts/ambiguous"][()] == 1
    for b in range(COUNT):
        mine = slice(first_impact[b], first_impact[b + 1])
        assert tuple(impact_mode[mine][ambiguous[mine]]) == modes[cluster[b]]
