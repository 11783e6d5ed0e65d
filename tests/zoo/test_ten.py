"""Ten robots of the zoo (docs/zoo.md): read, compared with Pinocchio, dropped. scripts/setup-zoo.sh --ten fetches them."""

import pathlib

import pytest

import drop
import readers
import robots
import zoo

TEN = (pathlib.Path(__file__).parent / "ten.txt").read_text().split()


@pytest.fixture(params=TEN)
def file(request):
    path = robots.PACKAGES / request.param
    if not path.exists():
        pytest.skip(f"{request.param} is not there; scripts/setup-zoo.sh --ten fetches it")
    return robots.File(path)


def test_ten_different_robots():
    assert len(set(TEN)) == 10
    there = [robots.File(robots.PACKAGES / name) for name in TEN if (robots.PACKAGES / name).exists()]
    assert len(robots.robots(there)) == len(there)


def test_is_read(file):
    answer = readers.scree(file)
    assert answer.get("ok"), answer
    assert answer["model"]["dofs"] >= 1


def test_is_what_pinocchio_reads(file):
    compare = pytest.importorskip("compare")
    answer = compare.compare(file)
    if "skipped" in answer:
        pytest.skip(answer["skipped"])
    assert compare.wrong({file.name: answer}) == {}


@pytest.mark.parametrize("dt", drop.STEPS)
def test_falls_and_rests(file, dt, tmp_path):
    entry, motors = drop.measure(file, dt, tmp_path)
    assert entry["status"] == "complete"
    assert entry["contacts"] > 0
    assert entry["penetration"] <= zoo.DEEP
    assert entry["gain"] <= zoo.GAINED * entry["scale"]
    assert entry["speed"] < drop.AT_REST
    if dt == drop.STEPS[0]:
        is_its_twin(tmp_path / "run.h5", motors, entry, len(file.root.findall("link")))


def is_its_twin(run, motors, entry, links):
    """In MuJoCo: as heavy, as many dofs, followers included, and it ends about where scree's robot does."""
    peer = pytest.importorskip("twin")
    twin = peer.Twin(run, motors)
    assert twin.model.nv == entry["dofs"] + len(twin.mimics)
    # A link of less than the least mass that MuJoCo takes has that.
    assert twin.model.body_mass.sum() == pytest.approx(entry["mass"], rel=1e-9, abs=links * peer.SMALLEST)
    assert twin.run(1.0) > 0
    result = twin.result()
    assert result["finite"] and result["penetration"] < zoo.DEEP
