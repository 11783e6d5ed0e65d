// Impacts with known answers: the problems tests, studies and campaigns share. Normals as geometry gives them, not of
// unit length in the metric of M.
#pragma once

#include <vector>

#include "scree/impact.h"

namespace scree {

// n equal balls in a row, all touching, the first `moving` of them with 1 m/s.
ImpactProblem cradle_impact(int balls, int moving = 1);
// A disk runs between two that touch, Bernoulli's problem: contacts 01, 02, 12; coordinates x, y of each.
ImpactProblem bernoulli_impact(double mass0 = 1, double mass1 = 1, double mass2 = 1);
// A ball hits a rack of 15 in five rows; contacts are pairs at distance 1 in lexicographic order, 31 of them.
ImpactProblem rack_impact();
// Unit boxes of 1 kg on each other and the ground, without friction: x, y, angle of each; per interface, from the
// ground up, the left corner and the right one.
enum class StackKind {
  drop,  // all fall
  top,   // only the top one does
  tilt,  // it turns, too
};
ImpactProblem stack_impact(int boxes, StackKind kind);
// A point in a wedge of `angle` [rad], M = I: n_1 = (0, 1), n_2 = (sin, -cos).
ImpactProblem wedge_impact(double angle, double vx, double vy);
// A wall, a ball of 1 kg at rest, one of 100^k kg that comes with 1 m/s: the digits of pi.
ImpactProblem galperin_impact(int k);
// Squeezed between two walls, v = (1, 0.3).
ImpactProblem jammed_impact();
// Three equal balls, all touching, v = (1, 0, -1), restitution e.
ImpactProblem collapse_impact(double e);

double rack_mirror_defect(
    const Eigen::VectorXd& v);  // largest difference of velocities of a rack and their mirror image

}  // namespace scree
