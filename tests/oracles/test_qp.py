"""scree's quadratic programs over capped simplices against DAQP, a dual active-set method (Arnström et al. 2022).

Both stop at a KKT violation of at most v = 1e-12 times scale, a bound on the terms of the gradient. Then for convex f
and block sums <= 1 the value is within 2 v of the minimum in every block (f(w) - f(u) <= gradient . (w - u)), and where
Q - beta I is semidefinite, w is within sqrt(n) v / beta of the minimiser.
"""

import json
import os
import subprocess

import daqp
import numpy as np

VIOLATION = 1e-12
ROUNDING = 1e-15  # of the values themselves, per variable


def problems(count, seed):
    command = [os.environ["SCREE_QP_DUMP"], str(count), str(seed)]
    for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
        p = json.loads(line)
        p["g"], p["w"], p["Q"] = np.array(p["g"]), np.array(p["w"]), np.array(p["Q"]).reshape(len(p["g"]), -1)
        yield p


def solve(Q, g, blocks, size):
    """The feasible point next to DAQP's solution; None if it gives up."""
    n = len(g)
    sums = np.kron(np.eye(blocks), np.ones((1, size)))
    lower = np.concatenate([np.zeros(n), np.full(blocks, -1e30)])
    w, _, flag, _ = daqp.solve(Q, g, sums, np.ones(n + blocks), lower, primal_tol=VIOLATION)
    if flag != 1:
        return None
    w = np.maximum(w, 0).reshape(blocks, size)
    return (w / np.maximum(1, w.sum(axis=1, keepdims=True))).ravel()


def test_values_and_minimisers_agree():
    compared = definite = skipped = 0
    worst = {"scree above": 0, "DAQP above": 0, "w": 0, "w against bound": 0}
    for p in problems(1500, 4):
        assert p["converged"] and p["violation"] <= VIOLATION
        n = len(p["g"])
        unit = np.abs(p["Q"]).max()
        if unit == 0 or np.abs(p["g"]).max() < 1e-6 * unit:  # DAQP's tolerances are absolute: Q of order 1, no tiny w
            skipped += 1
            continue
        Q, g, scale, beta = p["Q"] / unit, p["g"] / unit, p["scale"] / unit, p["beta"] / unit
        oracle = solve(Q, g, p["blocks"], p["size"])
        if oracle is None:  # cycling, where Q is semidefinite
            assert beta < 1e-6
            skipped += 1
            continue
        w = p["w"]
        difference = (w @ Q @ w / 2 + g @ w) - (oracle @ Q @ oracle / 2 + g @ oracle)
        allowed = (2 * VIOLATION + ROUNDING * n) * scale
        assert difference <= allowed
        worst["scree above"] = max(worst["scree above"], difference / scale)
        compared += 1
        if beta < 1e-6:
            continue  # DAQP's own accuracy: it inverts Q
        definite += 1
        assert -difference <= allowed
        worst["DAQP above"] = max(worst["DAQP above"], -difference / scale)
        distance, bound = np.linalg.norm(w - oracle), 2 * np.sqrt(n) * VIOLATION * scale / beta + ROUNDING * n
        assert distance <= bound
        worst["w"] = max(worst["w"], distance)
        worst["w against bound"] = max(worst["w against bound"], distance / bound)
    figures = ", ".join(f"{what} {value:.1e}" for what, value in worst.items())
    print(f"{compared} values and {definite} minimisers compared, {skipped} skipped: {figures}")
    assert compared > 1100 and definite > 600
