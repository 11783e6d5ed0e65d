#!/usr/bin/env python3
"""Writes granular-foot.toml: what a bed of sand can exert on one foot. Illustrative, not measured.

  python3 examples/contact/make_granular_table.py examples/contact/granular-foot.toml

Forces are in shares of the robot's weight. The normal capacity grows linearly with depth, as resistive-force theory
has it, and a foot that leans carries less:

  N(d, a) = d / DEPTH (n0 + n1 cos 2a)

At half the normal capacity the sand resists sideways most: by h N across, and along the direction of the lean by

  h N (1 + s1 sin a + s2 cos 2a)   towards +x,     h N (1 - s1 sin a + s2 cos 2a)   towards -x,

more on the side the foot digs into. Without normal load there is no lateral force, and at full normal load nothing is
left for it: a double pyramid, as of shallow foundations. Its corners other than zero are the vertices of a node.
"""

import math
import sys

DEPTH = 0.02                                      # m where an upright foot can carry its share of the weight
N0, N1 = 0.8, 0.2                                 # cosine series of the normal capacity
H, S1, S2 = 0.45, 0.3, 0.1                        # series of the lateral capacity
DEPTHS = [0.01, 0.05, 0.1, 0.2]                   # m
INCLINATIONS = [-0.9, -0.6, -0.3, 0, 0.3, 0.6, 0.9]  # rad
DIRECTIONS = 6


def vertices(depth, inclination):
    normal = depth / DEPTH * (N0 + N1 * math.cos(2 * inclination))
    result = [[0, 0, normal]]
    for k in range(DIRECTIONS):
        angle = 2 * math.pi * k / DIRECTIONS
        x, y = math.cos(angle), math.sin(angle)
        side = math.copysign(S1, x) * math.sin(inclination)
        result.append([H * normal * (1 + side + S2 * math.cos(2 * inclination)) * x, H * normal * y, normal / 2])
    return result


def text(numbers):
    return "[" + ", ".join(f"{round(x, 6) + 0:g}" for x in numbers) + "]"


def main(path):
    lines = [
        "# Sand under one foot: illustrative, not measured. Written by make_granular_table.py; docs/contact.md explains it.",
        'title = "sand under a foot"',
        "share_of_weight = true  # forces in shares of the robot's weight",
        "lateral = [0, 1, 0]     # body axes",
        f"depths = {text(DEPTHS)}  # m",
        f"inclinations = {text(INCLINATIONS)}  # rad",
        "vertices = [",
    ]
    for depth in DEPTHS:
        lines.append("  [")
        for inclination in INCLINATIONS:
            lines.append(f"    [  # {depth:g} m, {inclination:g} rad")
            lines += [f"      {text(v)}," for v in vertices(depth, inclination)]
            lines.append("    ],")
        lines.append("  ],")
    lines.append("]")
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: make_granular_table.py TABLE.toml")
    main(sys.argv[1])
