"""What generate.py builds robots from: rigid-body inertia in plain Python, and URDF text. Standard library only."""

import math
import textwrap

COLOURS = {
    "slate": "0.27 0.33 0.41 1",
    "charcoal": "0.16 0.17 0.20 1",
    "steel": "0.72 0.75 0.78 1",
    "orange": "0.93 0.49 0.19 1",
    "teal": "0.13 0.59 0.60 1",
    "red": "0.80 0.20 0.22 1",
    "gold": "0.95 0.75 0.26 1",
    "blue": "0.25 0.47 0.85 1",
}

# --- vectors and 3x3 matrices --------------------------------------------------------------------------------------


def diagonal(x, y, z):
    return [[x, 0, 0], [0, y, 0], [0, 0, z]]


def matmul(A, B):
    return [[sum(A[i][k] * B[k][j] for k in range(3)) for j in range(3)] for i in range(3)]


def transpose(A):
    return [list(column) for column in zip(*A)]


def apply(A, x):
    return tuple(sum(a * b for a, b in zip(row, x)) for row in A)


def add(A, B):
    return [[a + b for a, b in zip(*rows)] for rows in zip(A, B)]


def scale(s, A):
    return [[s * a for a in row] for row in A]


def cos_sin(angle):
    """Exact for multiples of a quarter turn, so that mirrored limbs stay mirrored to the last digit."""
    quarter = angle / (math.pi / 2)
    if abs(quarter - round(quarter)) < 1e-12:
        return ((1, 0), (0, 1), (-1, 0), (0, -1))[round(quarter) % 4]
    return math.cos(angle), math.sin(angle)


def rotation(rpy):
    """R = Rz(yaw) Ry(pitch) Rx(roll), the URDF convention."""
    (cr, sr), (cp, sp), (cy, sy) = map(cos_sin, rpy)
    return matmul([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]],
                  matmul([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]], [[1, 0, 0], [0, cr, -sr], [0, sr, cr]]))


# --- inertia -------------------------------------------------------------------------------------------------------


class Inertial:
    """Mass, com [m] in the link frame, inertia matrix [kg m^2] about the com in axes turned by rpy."""

    def __init__(self, mass, com, matrix, rpy=(0, 0, 0)):
        self.mass, self.com, self.matrix, self.rpy = mass, com, matrix, rpy


def shifted(mass, d):
    """What a mass at d adds to the inertia about the origin: m (d.d 1 - d d^T)."""
    square = sum(x * x for x in d)
    return [[mass * ((square if i == j else 0) - d[i] * d[j]) for j in range(3)] for i in range(3)]


def lump(parts, origin):
    """One Inertial for several (Inertial, R, p), the parts' frames given in common axes; com relative to `origin`."""
    mass = sum(inertial.mass for inertial, _, _ in parts)
    centres = [tuple(a + b for a, b in zip(p, apply(R, inertial.com))) for inertial, R, p in parts]
    com = tuple(sum(part[0].mass * c[i] for part, c in zip(parts, centres)) / mass for i in range(3))
    matrix = diagonal(0, 0, 0)
    for (inertial, R, _), centre in zip(parts, centres):
        axes = matmul(R, rotation(inertial.rpy))
        matrix = add(matrix, matmul(axes, matmul(inertial.matrix, transpose(axes))))
        matrix = add(matrix, shifted(inertial.mass, [a - b for a, b in zip(centre, com)]))
    return Inertial(mass, tuple(a - b for a, b in zip(com, origin)), matrix)


def sphere_inertial(mass, radius, centre=(0, 0, 0)):
    return Inertial(mass, centre, diagonal(*[0.4 * mass * radius**2] * 3))


def capsule_volume(radius, length):
    return math.pi * radius**2 * length + 4 / 3 * math.pi * radius**3


def capsule_inertial(density, radius, length, centre, rpy=(0, 0, 0)):
    """Solid capsule, centre line of `length` along z of the frame turned by rpy."""
    middle = density * math.pi * radius**2 * length
    caps = density * 4 / 3 * math.pi * radius**3  # both half spheres
    axial = (middle / 2 + 0.4 * caps) * radius**2
    transverse = (middle * (radius**2 / 4 + length**2 / 12)
                  + caps * (0.4 * radius**2 + length**2 / 4 + 3 / 8 * length * radius))
    return Inertial(middle + caps, centre, diagonal(transverse, transverse, axial), rpy)


# --- text ----------------------------------------------------------------------------------------------------------


def number(x):
    """12 digits, the same text on every machine; quarter turns in full, so that readers turn by exactly as much."""
    if abs(x) < 1e-15:
        return "0"
    if abs(x) in (math.pi, math.pi / 2):
        return repr(x)
    return f"{x:.12g}"


def numbers(values):
    return " ".join(number(x) for x in values)


def origin(xyz, rpy):
    turned = f' rpy="{numbers(rpy)}"' if any(rpy) else ""
    return f'<origin xyz="{numbers(xyz)}"{turned}/>' if any(xyz) or turned else ""


class Shape:
    def __init__(self, geometry, xyz, rpy, material):
        self.geometry, self.xyz, self.rpy, self.material = geometry, xyz, rpy, material

    def lines(self, tag):
        yield f"    <{tag}>"
        if place := origin(self.xyz, self.rpy):
            yield f"      {place}"
        yield f"      <geometry>{self.geometry}</geometry>"
        if tag == "visual":
            yield f'      <material name="{self.material}"/>'
        yield f"    </{tag}>"


def box(size, xyz=(0, 0, 0), rpy=(0, 0, 0), material=None):
    return Shape(f'<box size="{numbers(size)}"/>', xyz, rpy, material)


def sphere(radius, xyz=(0, 0, 0), material=None):
    return Shape(f'<sphere radius="{number(radius)}"/>', xyz, (0, 0, 0), material)


def cylinder(radius, length, xyz=(0, 0, 0), rpy=(0, 0, 0), material=None):
    return Shape(f'<cylinder radius="{number(radius)}" length="{number(length)}"/>', xyz, rpy, material)


def capsule(radius, length, xyz=(0, 0, 0), rpy=(0, 0, 0), material=None):
    """A capsule for scree; the cylinder that encloses it for readers that know no capsule."""
    return Shape(f'<cylinder radius="{number(radius)}" length="{number(length + 2 * radius)}"/>'
                 f'<scree><capsule radius="{number(radius)}" length="{number(length)}"/></scree>', xyz, rpy, material)


class Link:
    def __init__(self, name, inertial=None):
        self.name, self.inertial = name, inertial
        self.view, self.collision, self.points = [], [], []

    def show_and_collide(self, shape):
        self.view.append(shape)
        self.collision.append(shape)

    def point(self, name, xyz, radius):
        self.points.append((name, xyz, radius))

    def lines(self):
        if not (self.inertial or self.view or self.collision or self.points):
            yield f'  <link name="{self.name}"/>'
            return
        yield f'  <link name="{self.name}">'
        if self.inertial:
            m = self.inertial.matrix
            entries = dict(ixx=m[0][0], ixy=m[0][1], ixz=m[0][2], iyy=m[1][1], iyz=m[1][2], izz=m[2][2])
            yield "    <inertial>"
            if place := origin(self.inertial.com, self.inertial.rpy):
                yield f"      {place}"
            yield f'      <mass value="{number(self.inertial.mass)}"/>'
            yield "      <inertia " + " ".join(f'{k}="{number(v)}"' for k, v in entries.items()) + "/>"
            yield "    </inertial>"
        for shape in self.view:
            yield from shape.lines("visual")
        for shape in self.collision:
            yield from shape.lines("collision")
        if self.points:
            yield "    <scree>"
            for name, xyz, radius in self.points:
                yield f'      <contact_point name="{name}" xyz="{numbers(xyz)}" radius="{number(radius)}"/>'
            yield "    </scree>"
        yield "  </link>"


class Robot:
    def __init__(self, name, base, comment):
        """base: fixed, planar (plane normal y) or floating; None if the file's root is the world itself."""
        self.name, self.base, self.comment = name, base, textwrap.dedent(comment)
        self.links, self.joints = [], []

    def add(self, link):
        self.links.append(link)
        return link

    def join(self, name, type, parent, child, xyz=(0, 0, 0), rpy=(0, 0, 0), axis=None, limit=None, damping=0,
             armature=0):
        lines = [f'  <joint name="{name}" type="{type}">', f'    <parent link="{parent}"/>',
                 f'    <child link="{child}"/>']
        if place := origin(xyz, rpy):
            lines.append(f"    {place}")
        if axis:
            lines.append(f'    <axis xyz="{numbers(axis)}"/>')
        if limit:
            lines.append("    <limit " + " ".join(f'{k}="{number(v)}"' for k, v in limit.items()) + "/>")
        if damping:
            lines.append(f'    <dynamics damping="{number(damping)}"/>')
        if armature:
            lines.append(f'    <scree armature="{number(armature)}"/>')
        self.joints.append(lines + ["  </joint>"])

    def text(self):
        materials = dict.fromkeys(shape.material for link in self.links for shape in link.view)
        lines = ['<?xml version="1.0"?>', "<!--", *("  " + line for line in self.comment.splitlines()),
                 "  Written by models/generate.py: change the tables there, not this file.", "-->",
                 f'<robot name="{self.name}">']
        if self.base:
            axis = ' axis="0 1 0"' if self.base == "planar" else ""
            lines.append(f'  <scree base="{self.base}"{axis}/>')
        lines += [f'  <material name="{name}"><color rgba="{COLOURS[name]}"/></material>' for name in materials]
        for link in self.links:
            lines += link.lines()
        for joint in self.joints:
            lines += joint
        return "\n".join(lines + ["</robot>", ""])
