"""Mechanisms with scree's results at random states, as dynamics_dump prints them, and the comparison with an oracle."""

import json
import os
import pathlib
import subprocess

import numpy as np

MODELS = pathlib.Path(__file__).resolve().parents[2] / "models"


def dump(*arguments):
    """The mechanisms dynamics_dump prints for these arguments."""
    command = [os.environ["SCREE_DYNAMICS_DUMP"], *map(str, arguments)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [arrays(json.loads(line)) for line in lines]


def arrays(node):
    """Lists of numbers become NumPy arrays; everything else stays."""
    if isinstance(node, dict):
        return {key: arrays(value) for key, value in node.items()}
    if isinstance(node, list) and node and isinstance(node[0], (dict, str)):
        return [arrays(value) for value in node]
    return np.array(node) if isinstance(node, list) else node


def urdf(name, states, seed=1):
    return dump(MODELS / f"{name}.urdf", "--states", states, "--seed", seed)


class Comparison:
    """Collects the largest difference of each quantity, relative to the size of that quantity at that state."""

    def __init__(self, tolerance):
        self.tolerance = tolerance
        self.worst = {}

    def add(self, quantity, scree, oracle, size=0):
        """`size`: of what the quantity is computed from, where it may vanish itself."""
        scree = np.asarray(scree, float)
        oracle = np.asarray(oracle, float).reshape(scree.shape)
        difference = np.abs(scree - oracle).max(initial=0)
        if difference != 0:  # NaN included
            difference /= max(size, np.abs(oracle).max())
        self.worst[quantity] = max(self.worst.get(quantity, 0), np.nan_to_num(difference, nan=np.inf))

    def check(self):
        print(", ".join(f"{quantity} {worst:.1e}" for quantity, worst in self.worst.items()))
        wrong = {quantity: worst for quantity, worst in self.worst.items() if worst > self.tolerance}
        assert self.worst and not wrong, f"relative differences above {self.tolerance}: {wrong}"
