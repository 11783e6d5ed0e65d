#!/usr/bin/env python3
"""Writes every URDF of this folder from the tables below: generate.py [DIRECTORY, default: this folder].

Mirrored limbs, rotated and lumped inertias are computed here, not typed. SI units and radians unless a name says
degrees. Axes: x forward, y left, z up. docs/models.md tells where the numbers come from. Standard library only.
"""

import math
import pathlib
import sys

import urdf
from urdf import Inertial, Link, Robot, box, capsule, cylinder, sphere
from urdf import add, apply, lump, matmul, number, rotation, scale, shifted

HALF_PI = math.pi / 2
DENSITY = 1000.0  # [kg/m^3] of the chain, hopper and walker
UNLIMITED = 1e6  # [N m], [N]; URDF wants a number where the source has no bound on the effort
FAST = 1e3  # [rad/s], [m/s]; the same for the speed

SLATE, CHARCOAL, STEEL, ORANGE, TEAL, RED, GOLD, BLUE = urdf.COLOURS  # the names


def degrees(*angles):
    return tuple(math.radians(a) for a in angles)


def along(axis):
    """rpy that lays the z axis of a cylinder along x or y."""
    return {"x": (0, HALF_PI, 0), "y": (HALF_PI, 0, 0)}[axis]


# --- Robosimian ----------------------------------------------------------------------------------------------------

LIMBS = {1: (+1, -1), 2: (-1, -1), 3: (-1, +1), 4: (+1, +1)}  # limb: (sx, sy), +1 for front, +1 for left
LIMB_PLACES = "Limbs: 1 front right, 2 rear right, 3 rear left, 4 front left."

# mass, com, (ixx, iyy, izz, ixy, ixz, iyz) as the public file prints them
TORSO = (40.0, (-0.00082, -0.00206, -0.02180), (0.24897, 0.70323, 0.77256, 0, 0, 0.00182))
PITCH_LINK = (0.429, (-0.050402, 0.012816, 0), (0.000741, 0.002044, 0.001885, -0.000215, 0, 0))
ROLL_LINK = (3.975, (0.067354, -0.096472, 0.000262), (0.044712, 0.033445, 0.074293, -0.030354, 0.000012, -0.000141))
FOOT_LINK = (1.760, (0.112290, -0.000164, 0), (0.001913, 0.006680, 0.006125, -0.000007, 0, 0))
LIMB_LINKS = {1: PITCH_LINK, 2: ROLL_LINK, 3: PITCH_LINK, 4: ROLL_LINK, 5: PITCH_LINK, 6: ROLL_LINK, 7: FOOT_LINK}

MOUNT = (0.29326, 0.20940, -0.03650)  # joint 0 in the torso, times (sx, sy, 1)
FLANGE = 0.17203  # joint 1 along x of link 0
ELBOW = (0.28650, -0.11700, 0)  # joints 3 and 5 in the roll link before them
ANKLE = (0.19250, -0.11700, 0)  # joint 7 in link 6
FOOT_LENGTH, FOOT_RADIUS, FOOT_COLLISION_RADIUS, FOOT_SPHERE = 0.15, 0.0267, 0.05, 0.025
# Radius and length of parts whose shape is ours: they fill the gaps of the primitive geometry and do not collide.
FLANGE_SIZE, FLANGE_CENTRE, PITCH_SIZE, MOUNT_SIZE = (0.055, 0.12), 0.035, (0.045, 0.1), (0.12, 0.20, 0.10)
JOINT_RANGE = dict(lower=-3.1415, upper=3.1415, effort=1000, velocity=0.5)


def robosimian_inertial(part, reading):
    mass, com, (xx, yy, zz, xy, xz, yz) = part
    if reading == "literal" or part in (TORSO, FOOT_LINK):
        return Inertial(mass, com, [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    # Limb links 1 to 6: printed about the link origin with products +integral(xy), as docs/models.md argues.
    about_origin = [[xx, -xy, -xz], [-xy, yy, -yz], [-xz, -yz, zz]]
    return Inertial(mass, com, add(about_origin, scale(-1, shifted(mass, com))))


def limb_joint_origins(sx, sy):
    """(xyz, rpy) of joints 0 to 7: child frame = parent frame * origin at zero angles."""
    mount = ((sx * MOUNT[0], sy * MOUNT[1], MOUNT[2]), (0, HALF_PI, math.pi if sy < 0 else 0))
    turn = ((0, 0, 0), (0, -HALF_PI if sx * sy < 0 else HALF_PI, 0))
    straight = ((0, 0, 0), (0, 0, 0))
    elbow, ankle = (ELBOW, (0, 0, 0)), (ANKLE, (0, 0, 0))
    return [mount, ((FLANGE, 0, 0), (math.pi, 0, 0)), turn, elbow, straight, elbow, straight, ankle]


def limb_shapes(number, material, mirror=(1, -1, 1), offset=(0, 0, 0)):
    """View and collision shapes of link `number`, in frames mirrored by signs (limb 1 of the public file: 1 -1 1)."""

    def at(x, y, z=0):
        return tuple(s * p + o for s, p, o in zip(mirror, (x, y, z), offset))

    if number == 7:
        rod = at(FOOT_LENGTH / 2, 0)
        view = [cylinder(FOOT_RADIUS, FOOT_LENGTH, rod, along("x"), RED), sphere(FOOT_SPHERE, at(FOOT_LENGTH, 0), RED)]
        return view, [cylinder(FOOT_COLLISION_RADIUS, FOOT_LENGTH, rod, along("x"))]
    if number % 2:  # the pitch link reaches back to the roll link that carries it
        return [cylinder(*PITCH_SIZE, at(-PITCH_SIZE[1] / 2, 0), along("x"), CHARCOAL)], []
    arm = (0.055, 0.24, at(0.065, 0.12), along("x"))
    stub = (0.055, 0.075, at(0, 0.035), along("y"))
    return [cylinder(*arm, material), cylinder(*stub, material)], [cylinder(*arm), cylinder(*stub)]


def add_torso(robot, inertial):
    torso = robot.add(Link("torso", inertial))
    for size in ((0.93, 0.23, 0.238), (0.257, 0.50, 0.238)):
        torso.view.append(box(size, material=SLATE))
        torso.collision.append(box(size))
    for sx, sy in LIMBS.values():
        torso.view.append(box(MOUNT_SIZE, (sx * MOUNT[0], sy * 0.165, MOUNT[2]), material=CHARCOAL))


def limb_colour(sx):
    return ORANGE if sx > 0 else TEAL


def robosimian():
    robot = Robot("robosimian", base="floating", comment=f"""\
        JPL Robosimian, all limb joints: 6 + 28 dof, 99.888 kg. Metres, kilograms, radians.
        Numbers: the public robot file, with its yaw typo and the reference point of the limb inertias corrected
        (docs/models.md). Link 0 is massless and rigid with the torso. {LIMB_PLACES}
        Stance: joints 2, 4, 6 at (-81, 90, -99) deg on limbs 1 and 3, (81, -90, 99) deg on limbs 2 and 4.""")
    add_torso(robot, robosimian_inertial(TORSO, "corrected"))
    for limb, (sx, sy) in LIMBS.items():
        parent = "torso"
        for number, (xyz, rpy) in enumerate(limb_joint_origins(sx, sy)):
            link = robot.add(Link(f"limb{limb}_link{number}"))
            joint = dict(parent=parent, child=link.name, xyz=xyz, rpy=rpy)
            if number == 0:
                robot.join(f"limb{limb}_joint0", "fixed", **joint)
                link.view.append(cylinder(*FLANGE_SIZE, (FLANGE_CENTRE, 0, 0), along("x"), CHARCOAL))
            else:
                axis = (1, 0, 0) if number % 2 else (0, -1, 0)
                robot.join(f"limb{limb}_joint{number}", "revolute", **joint, axis=axis, limit=JOINT_RANGE, damping=1)
                link.inertial = robosimian_inertial(LIMB_LINKS[number], "corrected")
                link.view, link.collision = limb_shapes(number, limb_colour(sx))
            parent = link.name
        link.point(f"limb{limb}_foot", (FOOT_LENGTH, 0, 0), FOOT_SPHERE)
    return robot


def limb_parts(sx, sy, reading):
    """(inertial, rotation, position) of links 1 to 7 in the torso frame with all joints at zero."""
    R, p = rotation((0, 0, 0)), (0, 0, 0)
    parts = {}
    for number, (xyz, rpy) in enumerate(limb_joint_origins(sx, sy)):
        p = tuple(a + b for a, b in zip(p, apply(R, xyz)))
        R = matmul(R, rotation(rpy))
        if number:
            parts[number] = (robosimian_inertial(LIMB_LINKS[number], reading), R, p)
    return parts


def reduced_robosimian(name, base, reading="corrected"):
    dofs = {"planar": "3 + 12", "floating": "6 + 12"}[base]
    reading_note = {
        "corrected": "the public robot file, with its yaw typo and the reference point of the limb inertias corrected",
        "literal": "the public robot file, yaw typo corrected, limb inertias read as if printed about the com",
    }[reading]
    robot = Robot(name, base=base, comment=f"""\
        JPL Robosimian, pitch joints only: {dofs} dof, 99.888 kg. Metres, kilograms, radians.
        Numbers: {reading_note}
        (docs/models.md); joints 0, 1, 3, 5, 7 are frozen at zero and their links lumped. Link 2 stands for
        links 2 + 3, link 4 for 4 + 5, link 6 for 6 + 7. {LIMB_PLACES}
        All frames are parallel to the torso's at zero angles, all axes are +y; no joint has a range or a bound.
        Stance: joints 2, 4, 6 at (81, -90, 99) deg on the front limbs, (-81, 90, -99) deg on the rear limbs.""")
    limbs = {limb: limb_parts(sx, sy, reading) for limb, (sx, sy) in LIMBS.items()}
    upright = rotation((0, 0, 0))
    torso_parts = [(robosimian_inertial(TORSO, reading), upright, (0, 0, 0))] + [parts[1] for parts in limbs.values()]
    add_torso(robot, lump(torso_parts, (0, 0, 0)))
    torso = robot.links[-1]
    for limb, parts in limbs.items():
        sx, sy = LIMBS[limb]
        hip = parts[2][2]
        torso.view += [cylinder(*FLANGE_SIZE, (hip[0], hip[1], MOUNT[2] - FLANGE_CENTRE), material=CHARCOAL),
                       cylinder(*PITCH_SIZE, (hip[0], hip[1], hip[2] + PITCH_SIZE[1] / 2), material=CHARCOAL)]
        parent, parent_origin = "torso", (0, 0, 0)
        for number in (2, 4, 6):
            origin = parts[number][2]
            mirror = (sx, sy, 1)
            link = robot.add(Link(f"limb{limb}_link{number}", lump([parts[number], parts[number + 1]], origin)))
            next_origin = tuple(b - a for a, b in zip(origin, parts[number + 1][2]))
            for shapes in (limb_shapes(number, limb_colour(sx), mirror),
                           limb_shapes(number + 1, limb_colour(sx), mirror, next_origin)):
                link.view += shapes[0]
                link.collision += shapes[1]
            robot.join(f"limb{limb}_joint{number}", "continuous", parent=parent, child=link.name,
                       xyz=tuple(b - a for a, b in zip(parent_origin, origin)), axis=(0, 1, 0))
            parent, parent_origin = link.name, origin
        link.point(f"limb{limb}_foot", (next_origin[0] + sx * FOOT_LENGTH, next_origin[1], next_origin[2]), FOOT_SPHERE)
    return robot


# --- Spider --------------------------------------------------------------------------------------------------------

SPIDER_MASS, SPIDER_BODY_RADIUS, SPIDER_LEG_RADIUS = 100.0, 0.25, 0.08
SPIDER_LEG_LENGTH = 0.2 * math.sqrt(2) + 0.16  # centre line of either capsule of a leg
SPIDER_THIGH_PITCH, SPIDER_SHANK_PITCH = degrees(-10, 80)  # of the capsules about the leg's y axis, at rest


def spider(name, base):
    dofs = {"planar": "3 + 12", "floating": "6 + 12"}[base]
    robot = Robot(name, base=base, comment=f"""\
        Spider, a quadruped of one sphere and eight capsules: {dofs} dof, 100 kg. Metres, kilograms, radians.
        Numbers: the procedural robot of the NMDP experiments, with exact volumes and uniform density (docs/models.md).
        Leg i points along azimuth 45 + 90 i deg; x of its frames is outward, z up. Hip: swing about z, then pitch
        about y; knee about y; positive pitch and knee angles lower the foot. All angles are zero at rest.
        The source bounds no effort and no speed: the bounds below are far beyond what a motion needs.""")
    body_volume = 4 / 3 * math.pi * SPIDER_BODY_RADIUS**3
    leg_volume = urdf.capsule_volume(SPIDER_LEG_RADIUS, SPIDER_LEG_LENGTH)
    density = SPIDER_MASS / (body_volume + 8 * leg_volume)
    body = robot.add(Link("body", urdf.sphere_inertial(density * body_volume, SPIDER_BODY_RADIUS)))
    body.show_and_collide(sphere(SPIDER_BODY_RADIUS, material=SLATE))

    def segment(link, pitch, material):
        direction = (math.cos(pitch), 0, -math.sin(pitch))
        centre = tuple(SPIDER_LEG_LENGTH / 2 * d for d in direction)
        rpy = (0, pitch + HALF_PI, 0)  # z of the capsule along `direction`
        link.inertial = urdf.capsule_inertial(density, SPIDER_LEG_RADIUS, SPIDER_LEG_LENGTH, centre, rpy)
        link.show_and_collide(capsule(SPIDER_LEG_RADIUS, SPIDER_LEG_LENGTH, centre, rpy, material))
        return tuple(SPIDER_LEG_LENGTH * d for d in direction)

    hip_range = dict(lower=-math.pi / 4, upper=math.pi / 4, effort=UNLIMITED, velocity=FAST)
    knee_range = dict(lower=-math.pi / 3, upper=math.pi / 3, effort=UNLIMITED, velocity=FAST)
    for leg in range(4):
        azimuth = math.radians((45, 135, -135, -45)[leg])
        hip = (SPIDER_BODY_RADIUS * math.cos(azimuth), SPIDER_BODY_RADIUS * math.sin(azimuth), 0)
        robot.add(Link(f"leg{leg}_hip"))
        robot.join(f"leg{leg}_swing", "revolute", parent="body", child=f"leg{leg}_hip", xyz=hip, rpy=(0, 0, azimuth),
                   axis=(0, 0, 1), limit=hip_range)
        thigh = robot.add(Link(f"leg{leg}_thigh"))
        knee = segment(thigh, SPIDER_THIGH_PITCH, ORANGE if leg % 2 else TEAL)
        robot.join(f"leg{leg}_pitch", "revolute", parent=f"leg{leg}_hip", child=thigh.name, axis=(0, 1, 0),
                   limit=hip_range)
        shank = robot.add(Link(f"leg{leg}_shank"))
        foot = segment(shank, SPIDER_SHANK_PITCH, GOLD if leg % 2 else BLUE)
        robot.join(f"leg{leg}_knee", "revolute", parent=thigh.name, child=shank.name, xyz=knee, axis=(0, 1, 0),
                   limit=knee_range)
        shank.point(f"leg{leg}_foot", foot, SPIDER_LEG_RADIUS)
    return robot


# --- chains --------------------------------------------------------------------------------------------------------

CHAIN_LINKS, CHAIN_LENGTH, CHAIN_RADIUS = 10, 0.5, 0.05
CHAIN_RANGE = dict(lower=math.radians(-120), upper=math.radians(120), effort=UNLIMITED, velocity=FAST)


def chain(name, floating, spatial):
    base = ("floating" if spatial else "planar") if floating else "fixed"
    place = "floating" if floating else "one end fixed"
    per_joint = 2 if spatial else 1
    count = {"floating": "6 + ", "planar": "3 + ", "fixed": ""}[base] + str(per_joint * (CHAIN_LINKS - floating))
    robot = Robot(name, base=base, comment=f"""\
        Chain of ten capsules, {place}: {count} dof, 44.506 kg. Metres, kilograms, radians.
        Links 0.5 m long, 0.05 m in radius, 1000 kg/m^3; range 120 deg either way between links (docs/models.md).
        At zero angles the links lie along x. Joints turn about {"z, then y" if spatial else "y"}.""")
    parent, position = None, (0, 0, 0)
    if not floating:
        robot.add(Link("anchor")).view.append(sphere(1.4 * CHAIN_RADIUS, material=CHARCOAL))
        parent = "anchor"
    centre = (CHAIN_LENGTH / 2, 0, 0)
    for i in range(1, CHAIN_LINKS + 1):
        inertial = urdf.capsule_inertial(DENSITY, CHAIN_RADIUS, CHAIN_LENGTH, centre, along("x"))
        link = Link(f"link{i}", inertial)
        link.show_and_collide(capsule(CHAIN_RADIUS, CHAIN_LENGTH, centre, along("x"), ORANGE if i % 2 else TEAL))
        if parent:
            kind = dict(type="revolute", limit=CHAIN_RANGE) if i > 1 else dict(type="continuous")
            if spatial:
                robot.add(Link(f"cross{i}"))
                robot.join(f"joint{i}_z", parent=parent, child=f"cross{i}", xyz=position, axis=(0, 0, 1), **kind)
                robot.join(f"joint{i}_y", parent=f"cross{i}", child=link.name, axis=(0, 1, 0), **kind)
            else:
                robot.join(f"joint{i}", parent=parent, child=link.name, xyz=position, axis=(0, 1, 0), **kind)
        else:
            link.point("end0", (0, 0, 0), CHAIN_RADIUS)
        robot.add(link)
        link.point(f"end{i}", (CHAIN_LENGTH, 0, 0), CHAIN_RADIUS)
        parent, position = link.name, (CHAIN_LENGTH, 0, 0)
    return robot


# --- hopper and walker ---------------------------------------------------------------------------------------------

# (length of the centre line, radius); the upright pose is zero, hinges turn about -y
HOPPER_TORSO, HOPPER_THIGH, HOPPER_LEG = (0.40, 0.05), (0.45, 0.05), (0.50, 0.04)
HOPPER_FOOT, WALKER_FOOT = (-0.13, 0.26, 0.06), (0.0, 0.20, 0.06)  # heel x, toe x, radius
HINGE_DEGREES = {"hip": (-150, 0), "knee": (-150, 0), "ankle": (-45, 45)}


def upright_capsule(link, size, top, material):
    length, radius = size
    centre = (0, 0, top - length / 2)
    link.inertial = urdf.capsule_inertial(DENSITY, radius, length, centre)
    link.show_and_collide(capsule(radius, length, centre, material=material))


def add_leg(robot, prefix, foot_size, effort, damping, armature, colours):
    def hinge(kind, parent, child, z):
        lower, upper = degrees(*HINGE_DEGREES[kind])
        robot.join(prefix + kind, "revolute", parent=parent, child=child, xyz=(0, 0, z), axis=(0, -1, 0),
                   limit=dict(lower=lower, upper=upper, effort=effort[kind], velocity=FAST), damping=damping,
                   armature=armature)

    thigh, leg, foot = (robot.add(Link(prefix + part)) for part in ("thigh", "leg", "foot"))
    upright_capsule(thigh, HOPPER_THIGH, 0, colours[0])
    upright_capsule(leg, HOPPER_LEG, 0, colours[1])
    heel, toe, radius = foot_size
    centre = ((heel + toe) / 2, 0, 0)
    foot.inertial = urdf.capsule_inertial(DENSITY, radius, toe - heel, centre, along("x"))
    foot.show_and_collide(capsule(radius, toe - heel, centre, along("x"), colours[2]))
    foot.point(prefix + "heel", (heel, 0, 0), radius)
    foot.point(prefix + "toe", (toe, 0, 0), radius)
    hinge("hip", "torso", thigh.name, -HOPPER_TORSO[0] / 2)
    hinge("knee", thigh.name, leg.name, -HOPPER_THIGH[0])
    hinge("ankle", leg.name, foot.name, -HOPPER_LEG[0])


def hopper():
    robot = Robot("hopper", base="planar", comment="""\
        Hopper of the rllab and gym benchmarks: 3 + 3 dof, 15.820 kg. Metres, kilograms, radians.
        Capsules of 1000 kg/m^3 with exact volumes, ranges, damping, armature and torque bounds of rllab
        (docs/models.md). Upright at zero angles; the torso origin is its centre, 1.25 m up in the rest pose, where the
        foot is 0.04 m above the floor.""")
    torso = robot.add(Link("torso"))
    upright_capsule(torso, HOPPER_TORSO, HOPPER_TORSO[0] / 2, SLATE)
    add_leg(robot, "", HOPPER_FOOT, dict(hip=200, knee=200, ankle=200), 1, 1, (ORANGE, GOLD, RED))
    return robot


def walker2d():
    robot = Robot("walker2d", base="planar", comment="""\
        Walker2D of the rllab and gym benchmarks: 3 + 6 dof, 23.677 kg. Metres, kilograms, radians.
        Capsules of 1000 kg/m^3 with exact volumes, ranges, damping, armature and torque bounds of rllab
        (docs/models.md). Upright at zero angles; the torso origin is its centre, 1.25 m up in the rest pose.""")
    torso = robot.add(Link("torso"))
    upright_capsule(torso, HOPPER_TORSO, HOPPER_TORSO[0] / 2, SLATE)
    effort = dict(hip=150, knee=100, ankle=100)
    add_leg(robot, "right_", WALKER_FOOT, effort, 0.1, 0.01, (ORANGE, GOLD, RED))
    add_leg(robot, "left_", WALKER_FOOT, effort, 0.1, 0.01, (TEAL, BLUE, CHARCOAL))
    return robot


# --- single bodies and small mechanisms ----------------------------------------------------------------------------


def corners(half):
    """Names and places of the corners of a cube of half edge `half`."""
    for x in (+1, -1):
        for y in (+1, -1):
            for z in (+1, -1):
                sides = ("front" if x > 0 else "rear", "left" if y > 0 else "right", "top" if z > 0 else "bottom")
                yield "_".join(sides), (x * half, y * half, z * half)


BOX_EDGE, BOX_MASS = 0.5, 1.0
CUBE_EDGE, CUBE_MASS, CUBE_INERTIA = 0.1048, 0.37, 8.1e-4  # as measured; a solid cube would have 6.8e-4


def cube_shaped(robot, link_name, edge, mass, inertia, material):
    link = robot.add(Link(link_name, Inertial(mass, (0, 0, 0), urdf.diagonal(inertia, inertia, inertia))))
    link.show_and_collide(box((edge, edge, edge), material=material))
    return link


def box_spatial():
    robot = Robot("box", base="floating", comment="""\
        Solid box, 0.5 m edges: 6 dof, 1 kg. Metres, kilograms, radians. Eight corners as contact points.
        Numbers: our choice for the sliding-box benchmark (docs/models.md).""")
    link = cube_shaped(robot, "box", BOX_EDGE, BOX_MASS, BOX_MASS * BOX_EDGE**2 / 6, ORANGE)
    for name, xyz in corners(BOX_EDGE / 2):
        link.point(name, xyz, 0)
    return robot


def box_planar():
    robot = Robot("box-planar", base="planar", comment="""\
        Solid box, 0.5 m edges, in the x-z plane: 3 dof, 1 kg. Metres, kilograms, radians. The two lower corners are
        contact points. Numbers: our choice for the sliding-box benchmark (docs/models.md).""")
    link = cube_shaped(robot, "box", BOX_EDGE, BOX_MASS, BOX_MASS * BOX_EDGE**2 / 6, ORANGE)
    link.point("rear_bottom", (-BOX_EDGE / 2, 0, -BOX_EDGE / 2), 0)
    link.point("front_bottom", (BOX_EDGE / 2, 0, -BOX_EDGE / 2), 0)
    return robot


def cube():
    robot = Robot("cube", base="floating", comment="""\
        The acrylic cube of the ContactNets tosses, 0.1048 m edges: 6 dof, 0.37 kg. Metres, kilograms, radians.
        Mass, inertia and edge as published with the recordings (docs/models.md). Eight corners as contact points.""")
    link = cube_shaped(robot, "cube", CUBE_EDGE, CUBE_MASS, CUBE_INERTIA, TEAL)
    for name, xyz in corners(CUBE_EDGE / 2):
        link.point(name, xyz, 0)
    return robot


# Bodies of the studies of event-driven runs: (width, height, mass) of blocks as in the simultaneous-impact example.
BLOCK, BLOCK_REPO = (0.07444, 0.16094, 0.19), (1.0, 2.0, 1.0)
BALL_RADIUS, BALL_MASS = 0.1, 1.0
THIN_ROD_LENGTH, THIN_ROD_MASS, THIN_ROD_WIDTH = 1.0, 1.0, 0.02  # the width is for the eye only


def ball():
    robot = Robot("ball", base="floating", comment="""\
        Solid ball of 0.1 m radius: 6 dof, 1 kg. Metres, kilograms, radians. The ball is one contact sphere.
        Numbers: our choice for bouncing (docs/models.md).""")
    link = robot.add(Link("ball", urdf.sphere_inertial(BALL_MASS, BALL_RADIUS)))
    link.show_and_collide(sphere(BALL_RADIUS, material=ORANGE))
    link.point("ball", (0, 0, 0), BALL_RADIUS)
    return robot


def rod_planar():
    robot = Robot("rod-planar", base="planar", comment="""\
        Thin uniform rod of 1 m in the x-z plane, the rod of Painleve's paradox: 3 dof, 1 kg. Metres, kilograms,
        radians. It lies along x at zero angle, where a positive angle lowers the front end. Both ends are contact
        points. Inertia m L^2/12 = m l^2/3, l half its length; about its own axis, which never turns, 1e-9 kg m^2.
        Numbers: our choice (docs/models.md).""")
    across = THIN_ROD_MASS * THIN_ROD_LENGTH**2 / 12
    link = robot.add(Link("rod", Inertial(THIN_ROD_MASS, (0, 0, 0), urdf.diagonal(POINT_INERTIA, across, across))))
    link.view.append(box((THIN_ROD_LENGTH, THIN_ROD_WIDTH, THIN_ROD_WIDTH), material=STEEL))
    link.point("rear", (-THIN_ROD_LENGTH / 2, 0, 0), 0)
    link.point("front", (THIN_ROD_LENGTH / 2, 0, 0), 0)
    return robot


def block(name, size, source):
    width, height, mass = size
    robot = Robot(name, base="planar", comment=f"""\
        Uniform block, {number(width)} m wide and {number(height)} m high, in the x-z plane: 3 dof, {number(mass)} kg.
        Metres, kilograms, radians. As deep as wide. Its corners are contact points, the lower ones first.
        Numbers: the simultaneous-impact example, {source} (docs/models.md).""")
    about = [mass * (a**2 + b**2) / 12 for a, b in ((width, height), (width, height), (width, width))]
    link = robot.add(Link("block", Inertial(mass, (0, 0, 0), urdf.diagonal(*about))))
    link.show_and_collide(box((width, width, height), material=TEAL))
    for z, place in ((-1, "bottom"), (1, "top")):
        for x, side in ((-1, "rear"), (1, "front")):
            link.point(f"{side}_{place}", (x * width / 2, 0, z * height / 2), 0)
    return robot


COMPASS_LEG, COMPASS_MASS, COMPASS_MASS_AT = 1.0, 1.0, 0.5
POINT_INERTIA = 1e-9  # [kg m^2] stands for the zero of a point mass; a body's inertia must be positive


def compass_gait():
    robot = Robot("compass-gait", base=None, comment="""\
        Compass gait in the x-z plane: 4 dof, 2 kg. Metres, kilograms, radians.
        Coordinates (x, z) of the hip, then the absolute angle of either leg: foot = hip + (sin q, -cos q), that is,
        turning about -y. Legs of 1 m without mass but for 1 kg at their middle, whose own inertia of 1e-9 kg m^2
        stands for zero. Numbers: the simultaneous-impact example (docs/models.md).
        The source bounds no position and no effort: the bounds below are far beyond what a motion needs.""")
    robot.add(Link("world"))
    robot.add(Link("slider"))
    hip = robot.add(Link("hip"))
    hip.view.append(sphere(0.05, material=CHARCOAL))
    far = dict(lower=-1e3, upper=1e3, effort=UNLIMITED, velocity=FAST)
    robot.join("hip_x", "prismatic", parent="world", child="slider", axis=(1, 0, 0), limit=far)
    robot.join("hip_z", "prismatic", parent="slider", child="hip", axis=(0, 0, 1), limit=far)
    for name, material in (("leading", ORANGE), ("trailing", TEAL)):
        at = (0, 0, -COMPASS_MASS_AT)
        leg = robot.add(Link(f"{name}_leg", Inertial(COMPASS_MASS, at, urdf.diagonal(*[POINT_INERTIA] * 3))))
        leg.view += [cylinder(0.015, COMPASS_LEG, (0, 0, -COMPASS_LEG / 2), material=material),
                     sphere(0.06, at, material)]
        leg.point(f"{name}_foot", (0, 0, -COMPASS_LEG), 0)
        robot.join(name, "continuous", parent="hip", child=leg.name, axis=(0, -1, 0))
    return robot


ROD_LENGTH, BOB_MASS, BOB_RADIUS = 1.0, 1.0, 0.05


def pendulum(name, joint_names):
    count = len(joint_names)
    robot = Robot(name, base="fixed", comment=f"""\
        {"Pendulum" if count == 1 else "Double pendulum"}: {count} dof, {count} kg. Metres, kilograms, radians.
        Solid bobs of 1 kg, 0.05 m in radius, on massless rods of 1 m; hanging straight down at zero angles, turning
        about y. Numbers: our choice.""")
    robot.add(Link("pivot")).view.append(box((0.12, 0.12, 0.04), (0, 0, 0.02), material=CHARCOAL))
    parent, at = "pivot", (0, 0, 0)
    for i, joint in enumerate(joint_names):
        bob = (0, 0, -ROD_LENGTH)
        link = robot.add(Link(f"rod{i + 1}", urdf.sphere_inertial(BOB_MASS, BOB_RADIUS, bob)))
        link.view += [cylinder(0.012, ROD_LENGTH, (0, 0, -ROD_LENGTH / 2), material=STEEL),
                      sphere(BOB_RADIUS, bob, TEAL if i else ORANGE)]
        robot.join(joint, "continuous", parent=parent, child=link.name, xyz=at, axis=(0, 1, 0))
        parent, at = link.name, bob
    return robot


def robots():
    return [
        robosimian(),
        reduced_robosimian("robosimian-planar", "planar"),
        reduced_robosimian("robosimian-planar-literal", "planar", reading="literal"),
        reduced_robosimian("robosimian-spatial", "floating"),
        spider("spider-planar", "planar"),
        spider("spider-spatial", "floating"),
        chain("chain-fixed-2d", floating=False, spatial=False),
        chain("chain-fixed-3d", floating=False, spatial=True),
        chain("chain-floating-2d", floating=True, spatial=False),
        chain("chain-floating-3d", floating=True, spatial=True),
        hopper(),
        walker2d(),
        box_spatial(),
        box_planar(),
        cube(),
        ball(),
        rod_planar(),
        block("block", BLOCK, "its dissertation"),
        block("block-repo", BLOCK_REPO, "its published code"),
        compass_gait(),
        pendulum("pendulum", ["shoulder"]),
        pendulum("double-pendulum", ["shoulder", "elbow"]),
    ]


def main():
    directory = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent
    for robot in robots():
        (directory / f"{robot.name}.urdf").write_text(robot.text(), encoding="utf-8")


if __name__ == "__main__":
    main()
