"""The robots of models/ against the published numbers, read with a small URDF reader of our own (not scree's)."""

import math
import pathlib
import subprocess
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

MODELS = pathlib.Path(__file__).resolve().parents[2] / "models"

# name: (degrees of freedom, mass [kg] to the printed digits, contact points)
EXPECTED = {
    "robosimian": (34, 99.888, 4),
    "robosimian-planar": (15, 99.888, 4),
    "robosimian-planar-literal": (15, 99.888, 4),
    "robosimian-spatial": (18, 99.888, 4),
    "spider-planar": (15, 100.000, 4),
    "spider-spatial": (18, 100.000, 4),
    "chain-fixed-2d": (10, 44.506, 10),
    "chain-fixed-3d": (20, 44.506, 10),
    "chain-floating-2d": (12, 44.506, 11),
    "chain-floating-3d": (24, 44.506, 11),
    "hopper": (6, 15.820, 2),
    "walker2d": (9, 23.677, 4),
    "box": (6, 1.000, 8),
    "box-planar": (3, 1.000, 2),
    "cube": (6, 0.370, 8),
    "ball": (6, 1.000, 1),
    "rod-planar": (3, 1.000, 2),
    "block": (3, 0.190, 4),
    "block-repo": (3, 1.000, 4),
    "compass-gait": (4, 2.000, 2),
    "pendulum": (1, 1.000, 0),
    "double-pendulum": (2, 2.000, 0),
}
DOFS = {"fixed": 0, "revolute": 1, "continuous": 1, "prismatic": 1, "planar": 3, "floating": 6}

LIMB_SIGNS = {1: (1, -1), 2: (-1, -1), 3: (-1, 1), 4: (1, 1)}  # (front or rear, left or right)
STANCE = np.radians([81, -90, 99])
ROUNDING = 1e-9  # numbers in the files carry 12 digits


# --- a small reader ------------------------------------------------------------------------------------------------


def vector(text):
    return np.array([float(x) for x in text.split()])


def axis_rotation(axis, angle):
    """Rodrigues' formula."""
    x, y, z = axis / np.linalg.norm(axis)
    K = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * K + (1 - math.cos(angle)) * K @ K


def transform(R=np.eye(3), p=(0, 0, 0)):
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = R, p
    return T


def origin_of(element):
    origin = element.find("origin") if element is not None else None
    if origin is None:
        return np.eye(4)
    roll, pitch, yaw = vector(origin.get("rpy", "0 0 0"))
    x, y, z = np.eye(3)
    R = axis_rotation(z, yaw) @ axis_rotation(y, pitch) @ axis_rotation(x, roll)
    return transform(R, vector(origin.get("xyz", "0 0 0")))


class Robot:
    def __init__(self, name):
        root = ElementTree.parse(MODELS / f"{name}.urdf").getroot()
        self.links = {link.get("name"): link for link in root.findall("link")}
        self.joints = {joint.get("name"): joint for joint in root.findall("joint")}
        base = root.find("scree")
        self.base = base.get("base") if base is not None else "fixed"
        self.base_axis = base.get("axis") if base is not None else None
        self.root = (set(self.links) - {j.find("child").get("link") for j in self.joints.values()}).pop()
        self.points = {p.get("name"): (link, vector(p.get("xyz")), float(p.get("radius")))
                       for link, e in self.links.items() for p in e.findall("scree/contact_point")}
        self.bodies = {}  # link: (mass, com, inertia about the com, in link axes)
        for link, element in self.links.items():
            if (inertial := element.find("inertial")) is not None:
                T, i = origin_of(inertial), inertial.find("inertia").attrib
                xx, yy, zz, xy, xz, yz = (float(i["i" + k]) for k in ("xx", "yy", "zz", "xy", "xz", "yz"))
                R = T[:3, :3]
                I = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
                self.bodies[link] = (float(inertial.find("mass").get("value")), T[:3, 3], I)

    def dofs(self):
        return DOFS[self.base] + sum(DOFS[j.get("type")] for j in self.joints.values())

    def mass(self):
        return sum(mass for mass, _, _ in self.bodies.values())

    def poses(self, q=None):
        """Every link in the frame of the root link; q: joint name -> angle or offset, zero where not named."""
        q = q or {}
        assert set(q) <= set(self.joints)
        poses, waiting = {self.root: np.eye(4)}, list(self.joints.items())
        while waiting:
            name, joint = waiting.pop(0)
            parent = joint.find("parent").get("link")
            if parent not in poses:
                waiting.append((name, joint))
                continue
            T = poses[parent] @ origin_of(joint)
            if joint.get("type") != "fixed":
                axis, value = vector(joint.find("axis").get("xyz")), q.get(name, 0.0)
                slides = joint.get("type") == "prismatic"
                T = T @ (transform(p=axis * value) if slides else transform(axis_rotation(axis, value)))
            poses[joint.find("child").get("link")] = T
        return poses

    def point(self, name, q=None):
        link, xyz, _ = self.points[name]
        return (self.poses(q)[link] @ np.append(xyz, 1))[:3]

    def lumped(self, links, q=None):
        """Mass, com and inertia about the com of several links together, in the frame of the root link.

        By second moments: S = sum R C R^T + m c c^T with C = tr(I)/2 - I, a route other than generate.py's.
        """
        poses, mass, first, second = self.poses(q), 0.0, np.zeros(3), np.zeros((3, 3))
        for link in links:
            m, com, I = self.bodies[link]
            R, p = poses[link][:3, :3], poses[link][:3, 3]
            c = p + R @ com
            C = np.trace(I) / 2 * np.eye(3) - I
            mass, first, second = mass + m, first + m * c, second + R @ C @ R.T + m * np.outer(c, c)
        com = first / mass
        C = second - mass * np.outer(com, com)
        return mass, com, np.trace(C) * np.eye(3) - C


def full_stance(limb):
    """Joint angles of the full model: its pitch axes point along -y on the right limbs, +y on the left ones."""
    sx, sy = LIMB_SIGNS[limb]
    return {f"limb{limb}_joint{n}": sx * sy * a for n, a in zip((2, 4, 6), STANCE)}


def reduced_stance(limb):
    return {f"limb{limb}_joint{n}": LIMB_SIGNS[limb][0] * a for n, a in zip((2, 4, 6), STANCE)}


def stance(name):
    of_limb = full_stance if name == "robosimian" else reduced_stance
    return {joint: angle for limb in LIMB_SIGNS for joint, angle in of_limb(limb).items()}


REDUCED = ["robosimian-planar", "robosimian-planar-literal", "robosimian-spatial"]


# --- every file ----------------------------------------------------------------------------------------------------


def test_the_folder_holds_the_expected_models_and_no_others():
    assert {file.stem for file in MODELS.glob("*.urdf")} == set(EXPECTED)


def test_the_generator_writes_exactly_the_files_in_the_folder(tmp_path):
    subprocess.run([sys.executable, "-B", MODELS / "generate.py", tmp_path], check=True)
    for file in MODELS.glob("*.urdf"):
        assert (tmp_path / file.name).read_bytes() == file.read_bytes(), file.name
    assert len(list(tmp_path.iterdir())) == len(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_degrees_of_freedom_mass_and_contact_points(name):
    robot = Robot(name)
    dofs, mass, points = EXPECTED[name]
    assert robot.dofs() == dofs
    assert robot.mass() == pytest.approx(mass, abs=6e-4)
    assert len(robot.points) == points
    assert len(robot.poses()) == len(robot.links)  # one tree
    if robot.base == "planar":
        assert robot.base_axis == "0 1 0"


@pytest.mark.parametrize("name", EXPECTED)
def test_inertias_belong_to_real_bodies(name):
    for link, (mass, _, inertia) in Robot(name).bodies.items():
        a, b, c = np.linalg.eigvalsh(inertia)
        assert mass > 0 and a > 0 and a + b >= c * (1 - 1e-9), link


@pytest.mark.parametrize("name", EXPECTED)
def test_the_opening_comment_states_the_dof_count(name):
    dofs = Robot(name).dofs()
    comment = (MODELS / f"{name}.urdf").read_text(encoding="utf-8").split("-->")[0]
    assert sum(int(part) for part in comment.split(":", 1)[1].split(" dof")[0].split("+")) == dofs


# --- Robosimian ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["robosimian", *REDUCED])
def test_robosimian_stands_where_the_published_stance_says(name):
    robot, q = Robot(name), stance(name)
    for limb, (sx, sy) in LIMB_SIGNS.items():
        np.testing.assert_allclose(robot.point(f"limb{limb}_foot", q), [sx * 0.6211, sy * 0.5604, -0.7892], atol=6e-5)
        knee = robot.poses(q)[f"limb{limb}_link4"][:3, 3]
        third = robot.poses(q)[f"limb{limb}_link6"][:3, 3]
        np.testing.assert_allclose(knee[[0, 2]], [sx * 0.3381, -0.4915], atol=6e-5)
        np.testing.assert_allclose(third[[0, 2]], [sx * 0.6211, -0.4467], atol=6e-5)
    mass, com, _ = robot.lumped(robot.bodies, q)
    # The published com has x = 0; the torso's own offset, -0.00082 m of 40 kg, moves it to -0.0003 m.
    np.testing.assert_allclose(com, [-0.00082 * 40 / 99.888, -0.0008, -0.2820], atol=6e-5)


@pytest.mark.parametrize("name", ["robosimian", *REDUCED])
def test_robosimian_feet_are_mirror_images(name):
    robot, q = Robot(name), stance(name)
    reference = robot.point("limb4_foot", q)
    for limb, (sx, sy) in LIMB_SIGNS.items():
        np.testing.assert_allclose(robot.point(f"limb{limb}_foot", q), reference * [sx, sy, 1], atol=1e-12)


def test_robosimian_whole_body_inertia_of_the_literal_reading():
    robot = Robot("robosimian-planar-literal")
    _, _, inertia = robot.lumped(robot.bodies, stance("robosimian-planar-literal"))
    np.testing.assert_allclose(np.diag(inertia), [18.7, 20.8, 27.0], atol=0.06)


# mass, com times (sx, sy, 1), (Ixx, Iyy, Izz, Ixy times sx sy): the published reduced model
LIMB_TABLE = {
    "literal": {2: (4.404, (0.08379, 0.09722, 0), (0.04548, 0.04652, 0.08723, 0.03007)),
                4: (4.404, (0.08379, 0.09722, 0), (0.04548, 0.04652, 0.08723, 0.03007)),
                6: (5.735, (0.14022, 0.10282, 0), (0.04715, 0.10890, 0.14971, 0.02437))},
    "corrected": {2: (4.404, (0.08379, 0.09722, 0), (0.00841, 0.02739, 0.03104, -0.00497)),
                  4: (4.404, (0.08379, 0.09722, 0), (0.00841, 0.02739, 0.03104, -0.00497)),
                  6: (5.735, (0.14022, 0.10282, 0), (0.01015, 0.09086, 0.09468, -0.01051))},
}
TORSO_TABLE = {"literal": (0.35341, 0.88957, 0.98943, 0), "corrected": (0.34877, 0.88521, 0.98914, 0)}
DIGIT = 6e-6  # half a unit of the fifth digit, plus a little
DROPPED = 3e-4  # the table leaves out entries below this


@pytest.mark.parametrize("name", REDUCED)
def test_reduced_robosimian_matches_the_published_table(name):
    robot = Robot(name)
    reading = "literal" if name.endswith("literal") else "corrected"
    mass, com, inertia = robot.bodies["torso"]
    assert mass == pytest.approx(41.716)
    np.testing.assert_allclose(com, [-0.00079, -0.00198, -0.02741], atol=DIGIT)
    np.testing.assert_allclose(np.diag(inertia), TORSO_TABLE[reading][:3], atol=DIGIT)
    assert inertia[1, 2] == pytest.approx(0.00228, abs=DIGIT)
    assert abs(inertia[0, 1]) < DROPPED and abs(inertia[0, 2]) < DROPPED
    for limb, (sx, sy) in LIMB_SIGNS.items():
        for number, (table_mass, table_com, table_inertia) in LIMB_TABLE[reading].items():
            mass, com, inertia = robot.bodies[f"limb{limb}_link{number}"]
            assert mass == pytest.approx(table_mass)
            np.testing.assert_allclose(com[:2], [sx * table_com[0], sy * table_com[1]], atol=DIGIT)
            assert abs(com[2]) < DROPPED
            np.testing.assert_allclose(np.diag(inertia), table_inertia[:3], atol=DIGIT)
            assert inertia[0, 1] == pytest.approx(sx * sy * table_inertia[3], abs=DIGIT)
            assert abs(inertia[0, 2]) < DROPPED and abs(inertia[1, 2]) < DROPPED
        poses = robot.poses()
        np.testing.assert_allclose(poses[f"limb{limb}_link2"][:3, 3], [sx * 0.29326, sy * 0.20940, -0.20853], atol=1e-9)
        foot, point, radius = robot.points[f"limb{limb}_foot"]
        assert foot == f"limb{limb}_link6" and radius == 0.025
        np.testing.assert_allclose(point, [sx * 0.3425, sy * 0.1170, 0], atol=ROUNDING)


@pytest.mark.parametrize("limb", LIMB_SIGNS)
def test_corrected_inertias_of_the_limb_links(limb):
    bodies = Robot("robosimian").bodies
    for link, (xx, yy, zz, xy, xz, yz) in {1: (0.000671, 0.000954, 0.000725, -0.000062, 0, 0),
                                           2: (0.007717, 0.015412, 0.019265, 0.004525, 0.000058, 0.000041)}.items():
        for number in (link, link + 2, link + 4):
            inertia = bodies[f"limb{limb}_link{number}"][2]
            np.testing.assert_allclose(inertia, [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], atol=6e-7)
    np.testing.assert_allclose(np.linalg.eigvalsh(inertia), [0.005625, 0.017502, 0.019268], atol=6e-7)


@pytest.mark.parametrize("name", ["robosimian-planar", "robosimian-spatial"])
def test_full_robosimian_with_frozen_joints_equals_the_reduced_one(name):
    full, reduced = Robot("robosimian"), Robot(name)
    rng = np.random.default_rng(7)
    q_full, q_reduced = {}, {}
    for limb, (_, sy) in LIMB_SIGNS.items():
        for number in (2, 4, 6):
            angle = rng.uniform(-2, 2)
            q_reduced[f"limb{limb}_joint{number}"] = angle
            q_full[f"limb{limb}_joint{number}"] = sy * angle  # the full model's axis is sy times +y
    groups = {"torso": ["torso"] + [f"limb{limb}_link1" for limb in LIMB_SIGNS]}
    for limb in LIMB_SIGNS:
        for number in (2, 4, 6):
            groups[f"limb{limb}_link{number}"] = [f"limb{limb}_link{number}", f"limb{limb}_link{number + 1}"]
    for lump, links in groups.items():
        for a, b in zip(full.lumped(links, q_full), reduced.lumped([lump], q_reduced)):
            np.testing.assert_allclose(a, b, atol=ROUNDING)
    for point in full.points:
        np.testing.assert_allclose(full.point(point, q_full), reduced.point(point, q_reduced), atol=ROUNDING)


@pytest.mark.parametrize("name", REDUCED)
def test_limbs_are_half_turns_of_each_other_and_nearly_mirror_images(name):
    robot = Robot(name)
    for number in (2, 4, 6):
        mass, com, inertia = robot.bodies[f"limb4_link{number}"]
        for limb, (sx, sy) in LIMB_SIGNS.items():
            other_mass, other_com, other_inertia = robot.bodies[f"limb{limb}_link{number}"]
            turn = np.diag([sx, sy, sx * sy])  # the same parts, turned by pi about x, y or z: exact
            assert other_mass == mass
            np.testing.assert_allclose(other_com, turn @ com, atol=ROUNDING)
            np.testing.assert_allclose(other_inertia, turn @ inertia @ turn, atol=ROUNDING)
            mirror = np.diag([sx, sy, 1])  # left-right and front-rear, but for a com 0.24 mm off the plane of the limb
            np.testing.assert_allclose(other_com, mirror @ com, atol=2 * DROPPED)
            np.testing.assert_allclose(other_inertia, mirror @ inertia @ mirror, atol=2 * DROPPED)
            assert other_inertia[1, 1] == pytest.approx(inertia[1, 1], abs=ROUNDING)  # all that a planar base feels


# --- the others ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["spider-planar", "spider-spatial"])
def test_spider_rest_shape_masses_and_inertias(name):
    robot = Robot(name)
    poses = robot.poses()
    np.testing.assert_allclose(poses["leg0_thigh"][:3, 3], [0.1768, 0.1768, 0], atol=6e-5)
    np.testing.assert_allclose(poses["leg0_shank"][:3, 3], [0.4852, 0.4852, 0.0769], atol=6e-5)
    for leg, (sx, sy) in enumerate([(1, 1), (-1, 1), (-1, -1), (1, -1)]):
        foot = robot.point(f"leg{leg}_foot")
        np.testing.assert_allclose(foot, [sx * 0.5395, sy * 0.5395, -0.3592], atol=6e-5)
        assert foot[2] - robot.points[f"leg{leg}_foot"][2] == pytest.approx(-0.4392, abs=6e-5)
    mass, com, inertia = robot.bodies["body"]
    assert mass == pytest.approx(42.545, abs=6e-4)
    np.testing.assert_allclose(inertia, 1.0636 * np.eye(3), atol=6e-5)
    for leg in range(4):
        for part in ("thigh", "shank"):
            mass, com, inertia = robot.bodies[f"leg{leg}_{part}"]
            assert mass == pytest.approx(7.182, abs=6e-4)
            axis = com / np.linalg.norm(com)
            assert np.linalg.norm(com) == pytest.approx(0.44284 / 2, abs=6e-6)
            np.testing.assert_allclose(inertia @ axis, 0.02209 * axis, atol=6e-6)  # along the capsule
            np.testing.assert_allclose(np.linalg.eigvalsh(inertia)[1:], 0.19429, atol=6e-6)
    _, com, _ = robot.lumped(robot.bodies)
    np.testing.assert_allclose(com[:2], 0, atol=ROUNDING)


@pytest.mark.parametrize("name", ["spider-planar", "spider-spatial"])
def test_spider_positive_angles_lower_the_foot_and_swing_it_counter_clockwise(name):
    robot = Robot(name)
    rest = robot.point("leg0_foot")
    assert robot.point("leg0_foot", {"leg0_pitch": 0.1})[2] < rest[2]
    swung = robot.point("leg0_foot", {"leg0_swing": 0.1})
    assert swung[0] < rest[0] and swung[1] > rest[1] and swung[2] == pytest.approx(rest[2])
    for joint, bound in {"swing": 45, "pitch": 45, "knee": 60}.items():
        limit = robot.joints[f"leg2_{joint}"].find("limit")
        np.testing.assert_allclose([float(limit.get("lower")), float(limit.get("upper"))], np.radians([-bound, bound]))


# link: mass, inertia about the hinge direction, (from, to) of the centre line (x, z) at rest
HOPPER_TABLE = {"torso": (3.6652, 0.06925, (0, 1.45), (0, 1.05)), "thigh": (4.0579, 0.09330, (0, 1.05), (0, 0.60)),
                "leg": (2.7814, 0.07230, (0, 0.60), (0, 0.10)), "foot": (5.3156, 0.10352, (-0.13, 0.10), (0.26, 0.10))}
WALKER_FOOT = (3.1667, 0.02400, (0, 0.10), (0.20, 0.10))
RANGES = {"hip": (-150, 0), "knee": (-150, 0), "ankle": (-45, 45)}


def check_capsule(robot, link, row):
    mass, transverse, start, end = row
    m, com, inertia = robot.bodies[link]
    assert m == pytest.approx(mass, abs=6e-5)
    assert inertia[1, 1] == pytest.approx(transverse, abs=6e-6)
    centre = (robot.poses()[link] @ np.append(com, 1))[[0, 2]] + [0, 1.25]
    np.testing.assert_allclose(centre, np.add(start, end) / 2, atol=ROUNDING)
    capsule = robot.links[link].find("collision/geometry/scree/capsule")
    assert float(capsule.get("length")) == pytest.approx(math.dist(start, end))
    along_x = origin_of(robot.links[link].find("collision"))[:3, 2]
    np.testing.assert_allclose(np.abs(along_x), np.abs(np.subtract(end, start) @ [[1, 0, 0], [0, 0, 1]]) /
                               math.dist(start, end), atol=1e-12)


def check_hinge(robot, name, effort, damping, armature):
    joint = robot.joints[name]
    limit = joint.find("limit").attrib
    assert joint.find("axis").get("xyz") == "0 -1 0"
    lower, upper = np.radians(RANGES[name.split("_")[-1]])
    assert (float(limit["lower"]), float(limit["upper"])) == pytest.approx((lower, upper))
    assert float(limit["effort"]) == effort
    assert float(joint.find("dynamics").get("damping")) == damping
    assert float(joint.find("scree").get("armature")) == armature


def test_hopper_matches_the_benchmark():
    robot = Robot("hopper")
    for link, row in HOPPER_TABLE.items():
        check_capsule(robot, link, row)
    for joint in RANGES:
        check_hinge(robot, joint, effort=200, damping=1, armature=1)
    for name, x in (("heel", -0.13), ("toe", 0.26)):
        np.testing.assert_allclose(robot.point(name), [x, 0, 0.10 - 1.25], atol=ROUNDING)
        assert robot.points[name][2] == 0.06


def test_walker2d_matches_the_benchmark():
    robot = Robot("walker2d")
    check_capsule(robot, "torso", HOPPER_TABLE["torso"])
    for side in ("right_", "left_"):
        for link in ("thigh", "leg"):
            check_capsule(robot, side + link, HOPPER_TABLE[link])
        check_capsule(robot, side + "foot", WALKER_FOOT)
        for joint, effort in (("hip", 150), ("knee", 100), ("ankle", 100)):
            check_hinge(robot, side + joint, effort, damping=0.1, armature=0.01)


@pytest.mark.parametrize("name", [name for name in EXPECTED if name.startswith("chain")])
def test_chain_lies_along_x_and_bends_downwards(name):
    robot = Robot(name)
    for i in range(1, 11):
        np.testing.assert_allclose(robot.point(f"end{i}"), [0.5 * i, 0, 0], atol=ROUNDING)
        assert robot.bodies[f"link{i}"][0] == pytest.approx(4.4506, abs=6e-5)
    last = "joint10_y" if name.endswith("3d") else "joint10"
    np.testing.assert_allclose(robot.point("end10", {last: math.pi / 2}), [4.5, 0, -0.5], atol=ROUNDING)
    assert float(robot.joints[last].find("limit").get("upper")) == pytest.approx(math.radians(120))
    if name.endswith("3d"):
        np.testing.assert_allclose(robot.point("end10", {"joint10_z": math.pi / 2}), [4.5, 0.5, 0], atol=ROUNDING)


@pytest.mark.parametrize("name, edge, mass, inertia", [("box", 0.5, 1.0, 0.5**2 / 6), ("cube", 0.1048, 0.37, 8.1e-4)])
def test_box_and_cube_carry_their_corners(name, edge, mass, inertia):
    robot = Robot(name)
    m, com, I = robot.bodies[name]
    assert m == mass and not com.any()
    np.testing.assert_allclose(I, inertia * np.eye(3), rtol=1e-11)
    corners = np.array([xyz for _, xyz, radius in robot.points.values() if radius == 0])
    np.testing.assert_allclose(np.abs(corners), edge / 2, rtol=1e-11)
    assert len({tuple(np.sign(c)) for c in corners}) == 8
    np.testing.assert_allclose(vector(robot.links[name].find("collision/geometry/box").get("size")), edge)


def test_planar_box_touches_with_its_two_lower_corners():
    points = {name: tuple(xyz) for name, (_, xyz, _) in Robot("box-planar").points.items()}
    assert points == {"rear_bottom": (-0.25, 0, -0.25), "front_bottom": (0.25, 0, -0.25)}


def test_compass_gait_has_the_published_mass_matrix_and_contact_jacobians():
    robot, joints = Robot("compass-gait"), ("hip_x", "hip_z", "leading", "trailing")
    q = dict(zip(joints, (0.3, 0.7, math.radians(-78), math.radians(78))))

    def slope(function, joint, h=1e-6):
        """Central difference; truncation h^2/6 = 2e-13, rounding 1e-16/h = 1e-10."""
        ahead, behind = dict(q), dict(q)
        ahead[joint] += h
        behind[joint] -= h
        return (function(ahead) - function(behind)) / (2 * h)

    M = np.zeros((4, 4))
    for leg in ("leading_leg", "trailing_leg"):
        m, com, _ = robot.bodies[leg]
        J = np.column_stack([slope(lambda q: robot.poses(q)[leg] @ np.append(com, 1), joint)[:3] for joint in joints])
        M += m * J.T @ J
    expected = [[2, 0, 0.103956, 0.103956], [0, 2, -0.489074, 0.489074],
                [0.103956, -0.489074, 0.25, 0], [0.103956, 0.489074, 0, 0.25]]
    np.testing.assert_allclose(M, expected, atol=6e-7)
    for foot, normal, tangent in (("leading_foot", (0, 1, -0.978148, 0), (1, 0, 0.207912, 0)),
                                  ("trailing_foot", (0, 1, 0, 0.978148), (1, 0, 0, 0.207912))):
        J = np.column_stack([slope(lambda q: robot.point(foot, q), joint) for joint in joints])
        np.testing.assert_allclose(J[2], normal, atol=6e-7)
        np.testing.assert_allclose(J[0], tangent, atol=6e-7)


@pytest.mark.parametrize("name, joints", [("pendulum", ["shoulder"]), ("double-pendulum", ["shoulder", "elbow"])])
def test_pendulums_hang_down_and_swing_about_y(name, joints):
    robot = Robot(name)
    assert list(robot.joints) == joints
    _, com, _ = robot.bodies["rod1"]
    np.testing.assert_allclose(com, [0, 0, -1])
    swung = robot.poses({"shoulder": math.pi / 2})["rod1"] @ np.append(com, 1)
    np.testing.assert_allclose(swung[:3], [-1, 0, 0], atol=1e-12)


# --- another reader ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXPECTED)
def test_pinocchio_reads_the_same_robot(name):
    pin = pytest.importorskip("pinocchio", reason="the PyPI package pin is not installed")
    robot = Robot(name)
    bases = {"planar": pin.JointModelPlanar, "floating": pin.JointModelFreeFlyer}
    base = [bases[robot.base]()] if robot.base in bases else []
    model = pin.buildModelFromUrdf(str(MODELS / f"{name}.urdf"), *base)
    data = model.createData()
    assert model.nv == robot.dofs()
    mass, com, inertia = robot.lumped(robot.bodies)
    pin.ccrba(model, data, pin.neutral(model), np.zeros(model.nv))
    np.testing.assert_allclose(pin.computeTotalMass(model), mass)
    np.testing.assert_allclose(data.com[0], com, atol=1e-12)
    np.testing.assert_allclose(data.Ig.inertia, inertia, atol=1e-10)
