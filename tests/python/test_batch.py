"""Batch files made by the command line, read with h5py; killed at any moment, a batch can be resumed.

The command line's path comes from the environment variable SCREE_CLI, as in test_run_file.py.
"""

import os
import pathlib
import random
import re
import signal
import subprocess
import time

import pytest

h5py = pytest.importorskip("h5py", reason="h5py is not installed (Debian: python3-h5py)")
np = pytest.importorskip("numpy")

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCENE = f"""
model = "{ROOT}/models/box.urdf"
duration = 1
[step]
dt = 0.02
[[environment]]
shape = "plane"
[initial.position]
base = [0, 0, 0.3, 1, 0, 0, 0]
[initial.velocity]
base = [2, 0, 0, 0, 0, 0]
[batch]
seed = 7
friction = [0.1, 0.9]
[batch.position]
base = [0, 0, 0.02, 0.2, 0.2, 0.2]  # some start too deep
[batch.velocity]
base = 0.5
"""
COUNT, CHUNK = 2000, 100
OPTIONS = ["--batch", str(COUNT), "--chunk", str(CHUNK), "--rows-every", "5", "--threads", "2", "--quiet"]


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    file = tmp_path_factory.mktemp("batch") / "boxes.toml"
    file.write_text(SCENE)
    return file


@pytest.fixture(scope="module")
def whole(scene):
    file = scene.parent / "whole.h5"
    subprocess.run([os.environ["SCREE_CLI"], "sim", scene, *OPTIONS, "--out", file], check=True)
    return file


def contents(file):
    """All datasets as bytes, attributes as they are."""
    found = {}
    with h5py.File(file) as batch:
        found["/"] = dict(batch.attrs)

        def add(name, item):
            found[name] = dict(item.attrs)
            if isinstance(item, h5py.Dataset):
                found[name + " data"] = (item.shape, str(item.dtype), item[()].tobytes())

        batch.visititems(add)
    return found


def test_every_dataset_has_units_and_one_entry_per_trajectory(whole):
    with h5py.File(whole) as batch:
        assert batch["time"][:] == pytest.approx(np.arange(11) * 0.1, abs=1e-12)
        assert batch["q"].shape == (COUNT, 11, 7) and batch["v"].shape == (COUNT, 11, 6)
        for name in ("end_time", "steps", "substeps", "iterations", "final_state_hash", "parameters/friction"):
            assert batch[name].shape == (COUNT,) and batch[name].attrs["units"]
        assert batch["end_time"].attrs["units"] == "s" and batch["q"].attrs["units"].startswith("m, rad")
        assert batch["status"].attrs["values"] == "0 complete, 1 step_failed, 2 invalid"
        assert batch.attrs["trajectories"] == COUNT and batch.attrs["first"] == 0
        assert batch["scene"][()].decode() == SCENE
        assert batch["model/urdf"][()].decode().lstrip().startswith("<")
        assert dict(batch["settings"].asstr()[:])["seed"] == "7"


def test_trajectories_that_were_not_run_say_why_and_hold_nan(whole):
    with h5py.File(whole) as batch:
        status, failure = batch["status"][:], batch["failure"].asstr()[:]
        invalid = status == 2
        assert 0 < invalid.sum() < COUNT / 10
        assert all("m in the ground" in text for text in failure[invalid])
        assert all(text == "" for text in failure[status == 0])
        assert np.isnan(batch["q"][:][invalid]).all() and np.isfinite(batch["q"][:][status == 0]).all()
        assert np.isfinite(batch["initial/q"][:]).all()


def test_trajectory_0_is_the_scene_itself(scene, whole, tmp_path):
    run_file = tmp_path / "run.h5"
    subprocess.run([os.environ["SCREE_CLI"], "sim", scene, "--integrator", "pbfd-coulomb", "--out", run_file, "--quiet"], check=True)
    with h5py.File(run_file) as run, h5py.File(whole) as batch:
        assert np.array_equal(batch["q"][0], run["q"][::5]) and np.array_equal(batch["v"][0], run["v"][::5])
        assert f"{batch['final_state_hash'][0]:016x}" == run.attrs["final_state_hash"]
        assert batch["parameters/friction"][0] == 0.7


def test_noise_has_the_spread_asked_for(whole):
    with h5py.File(whole) as batch:
        z, v, mu = batch["initial/q"][1:, 2], batch["initial/v"][1:, :], batch["parameters/friction"][1:]
        angle = 2 * np.arccos(np.clip(batch["initial/q"][1:, 3], -1, 1))
    n = COUNT - 1
    # Four standard errors: sigma/sqrt(n) of a mean, sigma/sqrt(2n) of a deviation.
    assert abs(z.mean() - 0.3) < 4 * 0.02 / n**0.5 and abs(z.std() - 0.02) < 4 * 0.02 / (2 * n) ** 0.5
    for k, mean in enumerate([2, 0, 0, 0, 0, 0]):
        assert abs(v[:, k].mean() - mean) < 4 * 0.5 / n**0.5 and abs(v[:, k].std() - 0.5) < 4 * 0.5 / (2 * n) ** 0.5
    # |w|^2 / sigma^2 has mean 3 and variance 6.
    assert abs((angle**2).mean() / 0.04 - 3) < 4 * (6 / n) ** 0.5
    assert mu.min() >= 0.1 and mu.max() < 0.9 and abs(mu.mean() - 0.5) < 4 * 0.8 / 12**0.5 / n**0.5


@pytest.mark.parametrize("seed", range(10))
def test_killed_at_any_moment_it_resumes_to_the_same_bits(scene, whole, tmp_path, seed):
    out, chunks = tmp_path / "batch.h5", tmp_path / "batch.h5.chunks"
    command = [os.environ["SCREE_CLI"], "sim", scene, *OPTIONS, "--out", out]
    draw = random.Random(seed)
    wanted, pause = draw.randrange(COUNT // CHUNK), draw.uniform(0, 0.02)
    process = subprocess.Popen(command)
    while process.poll() is None and len(list(chunks.glob("[0-9]*.h5"))) < wanted:
        time.sleep(0.001)
    time.sleep(pause)
    process.send_signal(signal.SIGKILL)
    process.wait()
    found = sorted(chunks.glob("[0-9]*.h5"))
    assert out.exists() or len(found) >= wanted or not chunks.exists()
    for file in found:
        with h5py.File(file) as chunk:
            first = int(file.stem) * CHUNK
            assert chunk.attrs["first"] == first and chunk["q"].shape == (CHUNK, 11, 7)
            with h5py.File(whole) as batch:
                assert chunk["final/q"][:].tobytes() == batch["final/q"][first : first + CHUNK].tobytes()
    if not out.exists() and chunks.exists():
        refused = subprocess.run(command, capture_output=True, text=True)
        assert refused.returncode == 2 and re.fullmatch(r"scree: error: .*--resume.*\n", refused.stderr)
    subprocess.run([*command, "--resume"], check=True)
    assert not chunks.exists() and [f.name for f in tmp_path.iterdir()] == ["batch.h5"]
    assert contents(out) == contents(whole)


def test_an_interrupt_keeps_finished_chunks(scene, whole, tmp_path):
    out, chunks = tmp_path / "batch.h5", tmp_path / "batch.h5.chunks"
    command = [os.environ["SCREE_CLI"], "sim", scene, *OPTIONS, "--out", out]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and len(list(chunks.glob("[0-9]*.h5"))) < 3:
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    message = process.communicate()[1]
    if process.returncode == 1:  # 0: it had ended before the signal came
        assert re.fullmatch(r"scree: error: interrupted; .*--resume.*\n", message)
        assert not out.exists() and len(list(chunks.glob("[0-9]*.h5"))) >= 3 and not list(chunks.glob(".*"))
    subprocess.run([*command, "--resume"], check=True)
    assert contents(out) == contents(whole)


def test_lanes_threads_and_chunks_do_not_change_the_motion(scene, whole, tmp_path):
    out = tmp_path / "batch.h5"
    options = [*OPTIONS[:2], "--rows-every", "5", "--threads", "1", "--lanes", "1", "--quiet"]
    subprocess.run([os.environ["SCREE_CLI"], "sim", scene, *options, "--out", out], check=True)
    mine, other = contents(out), contents(whole)
    assert [k for k in mine if mine[k] != other[k]] == ["settings data"]  # the size of a chunk
