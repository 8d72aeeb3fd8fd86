"""A trainer's Python without PyTorch: the light candidates are tried, and the schema says what is left out and why."""

import json
import os
import subprocess
import sys

import pytest

import private
from private import BINARY, ROOT

PROGRAM = {"input": {"fields": [{"name": "image", "tensor": [8, 8, 1]}]}, "output": {"fields": [{"name": "digit", "class_count": 10}]}}

# Python reads it before anything else: torch is not found, as where it is not installed.
BLOCKER = """
import importlib.machinery
plain = importlib.machinery.PathFinder.find_spec
importlib.machinery.PathFinder.find_spec = classmethod(
    lambda cls, name, *rest: None if name.split(".")[0] in ("torch", "torchvision") else plain(name, *rest))
"""


@pytest.fixture
def bare(tmp_path):
    """The environment of a Python without PyTorch."""
    (tmp_path / "blocker").mkdir()
    (tmp_path / "blocker" / "sitecustomize.py").write_text(BLOCKER)
    path = os.pathsep.join([str(tmp_path / "blocker"), str(ROOT / "python")])
    environment = os.environ | {"PYTHONPATH": path}
    absent = subprocess.run([sys.executable, "-c", "import torch"], env=environment, capture_output=True, text=True)
    assert "No module named 'torch'" in absent.stderr
    return environment


def candidates(folder, environment, program=PROGRAM, kind="classes"):
    (folder / "program.json").write_text(json.dumps(program))
    (folder / "profile.json").write_text(json.dumps({"rows": 1000, "target": {"kind": kind, "labels": [str(i) for i in range(10)]}}))
    done = subprocess.run([sys.executable, "-m", "easeml.trainer", "candidates", "--program", folder / "program.json", "--profile", folder / "profile.json"],
                          env=environment, check=True, capture_output=True, text=True)
    return {c["id"]: c for c in map(json.loads, done.stdout.splitlines())}


def test_the_trainer_says_what_it_leaves_out(tmp_path, bare):
    whole = candidates(tmp_path, os.environ | {"PYTHONPATH": str(ROOT / "python")})
    assert not any("missing" in c for c in whole.values())
    left = candidates(tmp_path, bare)
    assert set(left) == set(whole)
    missing = {name for name, c in left.items() if "missing" in c}
    assert missing and all(left[name]["missing"] == ["torch"] and "gpu" in left[name]["devices"] for name in missing)
    assert len(left) - len(missing) > 10


def test_series_are_translated_without_it(tmp_path, bare):
    step = {"fields": [{"name": "x", "class_count": 10}], "pointers": ["next"]}
    left = candidates(tmp_path, bare, {"input": step, "output": {**step, "fields": [{"name": "y", "class_count": 10}]}}, "tokens")
    assert {name for name, c in left.items() if "missing" in c} == {"series-gru"} and left["series-gru"]["missing"] == ["torch"] and len(left) == 11


def test_the_schema_says_it_and_the_search_goes_without(tmp_path, bare):
    whole = candidates(tmp_path, bare)
    deep = sum("missing" in c for c in whole.values())
    light = sum("missing" not in c and not c["baseline"] for c in whole.values())
    rows = [{"image": [[[i % 7]] * 8] * 8, "digit": i % 2} for i in range(60)]
    text = ("schema digits {input: {[image :: Tensor[8, 8, 1]], []}, output: {[digit :: Class[2]], []}}\n"
            f"feed digits {json.dumps(rows)}\nstop digits\nprint digits.candidates")
    with private.served(private.environment(tmp_path, bare)) as environment:
        out = subprocess.run([BINARY, "run", "-"], input=text, env=environment, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    words = "1 deep one needs" if deep == 1 else f"{deep} deep ones need"
    assert f"{words} PyTorch, which is not installed where models are trained." in " ".join(out.split()), out
    assert f"{light} candidates, all light" in out, out
    assert int(out.splitlines()[-1]) <= light, out
