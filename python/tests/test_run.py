"""Attempts from trial.json to result.json, forked by a warm parent as the engine does it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from folders import DIGITS, SHOP, choose, digits, events, feed, order, program, result, shop_rows, table, trial, version, write_csv


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Feeds and versions that the tests below share: name → (feed, version's folder, program, candidates)."""
    root = tmp_path_factory.mktemp("made")
    out = {}

    def add(name: str, prog: dict, *paths: Path, **spec) -> None:
        fed = feed(root / f"{name}-ingest", prog, *paths, **spec)
        assert fed.ok, fed.last
        out[name] = (fed, version(root / f"{name}-data", fed), prog, choose(fed, prog))

    add("digits", DIGITS, digits(root))
    add("shop", SHOP, write_csv(root / "shop.csv", shop_rows(400)))
    add("small", SHOP, write_csv(root / "small.csv", shop_rows(90, seed=1)))
    prices = program(SHOP["input"]["fields"], [{"name": "price", "tensor": [1]}])
    rows = [{**{k: v for k, v in r.items() if k != "kind"}, "price": 3 * float(r["weight"]) + (100 if r["color"] == "red" else 0)} for r in shop_rows(400)]
    add("prices", prices, write_csv(root / "prices.csv", rows))
    return out


def _run(warm, tmp_path, made, name: str, candidate: str | dict, folder: str = "trial", **changes) -> Path:
    fed, data, prog, candidates = made[name]
    chosen = candidates[candidate] if isinstance(candidate, str) else candidate
    path = trial(tmp_path / folder, fed, data, prog, chosen, **changes)
    ended = warm.run(path)
    assert ended["code"] == 0, (path / "log.txt").read_text()
    return path


@pytest.mark.parametrize("name,candidate,least", [
    ("digits", "dummy", 0.1), ("digits", "svm-rbf.c10", 0.97), ("digits", "hog-svm.c10", 0.85), ("shop", "logistic.c1", 0.85),
    ("shop", "lightgbm.15", 0.77), ("shop", "forest.300", 0.8), ("small", "svm-rbf.c1", 0.7), ("small", "lightgbm.31", 0.6), ("small", "mlp.64", 0.6),
    ("prices", "ridge.a1", 0.9), ("prices", "lightgbm.15", 0.8), ("prices", "extra-trees.300", 0.6)])
def test_end_to_end(warm, tmp_path, made, name, candidate, least):
    path = _run(warm, tmp_path, made, name, candidate)
    r = result(path)
    assert r["outcome"] == "ok", r["message"]
    assert r["quality"] >= least and r["quality_interval"][0] <= r["quality"] <= r["quality_interval"][1]
    assert r["test"]["n"] == made[name][0].profile["parts"]["test"] and r["metrics"]["guess"] <= 0.7
    seen = events(path)
    assert seen[0]["type"] == "started" and seen[-1]["type"] == "done" and seen[-1]["quality"] == r["quality"]
    assert [e["name"] for e in seen if e["type"] == "phase"][:3] == ["load", "fit", "evaluate"]
    p = table(path / "predictions.arrow")
    parts = made[name][0].profile["parts"]
    assert len(p["number"]) == r["n"] == (parts["validation"] or parts["train"])
    if name in ("digits", "shop", "small"):
        labels = made[name][0].profile["target"]["labels"]
        assert all(labels[int(np.argmax(q))] == x for q, x in zip(p["probabilities"], p["prediction"]))
        assert sum(a == b for a, b in zip(p["truth"], p["prediction"])) == r["metrics"]["right"]
    else:
        assert np.mean(np.abs(np.subtract(p["truth"], p["prediction"]))) == pytest.approx(r["metrics"]["mae"])
    spec = json.loads((path / "model" / "spec.json").read_text())
    assert spec["candidate"]["id"] == candidate and {f["path"] for f in r["model"]["files"]} >= {"spec.json"}
    assert 1e6 < r["peak_bytes"] < 2e9


@pytest.mark.parametrize("name,candidate", [("digits", "extra-trees.300"), ("shop", "lightgbm.31"), ("small", "mlp.64")])
def test_the_same_trial_twice_has_the_same_quality(warm, tmp_path, made, name, candidate):
    a, b = (_run(warm, tmp_path, made, name, candidate, folder=f) for f in ("a", "b"))
    assert result(a)["quality"] == result(b)["quality"] and result(a)["test"] == result(b)["test"]
    assert table(a / "predictions.arrow") == table(b / "predictions.arrow")


def test_examples_that_are_off_count_for_nothing(warm, tmp_path, made):
    fed, _, prog, candidates = made["shop"]
    data = version(tmp_path / "data", fed, off=set(range(1, 101)))
    path = trial(tmp_path / "t", fed, data, prog, candidates["knn.5"])
    warm.run(path)
    assert min(table(path / "predictions.arrow")["number"]) > 100


def test_a_version_of_several_feeds(warm, tmp_path, made):
    first = feed(tmp_path / "1", SHOP, write_csv(tmp_path / "a.csv", shop_rows(200)))
    second = feed(tmp_path / "2", SHOP, write_csv(tmp_path / "b.csv", shop_rows(200, seed=5)), target=first.profile["target"],
                  known=first.known(), first_number=201)
    data = version(tmp_path / "data", first, second)
    path = trial(tmp_path / "t", second, data, SHOP, made["shop"][3]["logistic.c1"])
    warm.run(path)
    assert result(path)["outcome"] == "ok" and result(path)["n"] == second.profile["parts"]["train"] > 300


# -- what goes wrong is a result too

def _failed(path: Path, kind: str) -> dict:
    r = result(path)
    assert (r["outcome"], r["kind"]) == ("failed", kind), r
    assert events(path)[-1]["type"] == "failed"
    return r


def test_one_class_only(warm, tmp_path, made):
    fed = feed(tmp_path / "1", SHOP, write_csv(tmp_path / "a.csv", [{**r, "kind": "pen"} for r in shop_rows(100)]))
    data = version(tmp_path / "data", fed)
    path = trial(tmp_path / "t", fed, data, SHOP, made["shop"][3]["svm-rbf.c1"])
    warm.run(path)
    assert 'Only one class, "pen"' in _failed(path, "data")["message"]
    path = trial(tmp_path / "d", fed, data, SHOP, made["shop"][3]["dummy"])
    warm.run(path)
    assert result(path)["quality"] == 1


def test_a_class_with_two_examples_costs_no_trial(warm, tmp_path, made):
    prog = program([{"name": "v", "tensor": [1]}], [{"name": "y", "class_count": 3}])
    rows = [{"v": i, "y": "rare" if i < 2 else "ab"[i % 2]} for i in range(80)]
    fed = feed(tmp_path / "1", prog, write_csv(tmp_path / "a.csv", rows))
    data = version(tmp_path / "data", fed)
    for id in ("logistic.c1", "svm-rbf.c10", "forest.300", "lightgbm.15", "mlp.64", "knn.5"):
        path = trial(tmp_path / id, fed, data, prog, made["shop"][3][id])
        warm.run(path)
        assert result(path)["outcome"] == "ok", (id, result(path))


@pytest.mark.parametrize("change,kind,says", [
    ({"candidate": "nobody.1"}, "unsupported", "no candidate nobody.1"), ({"metric": "val_f1"}, "unsupported", "no metric val_f1"),
    ({"data": "nowhere"}, "data", "holds no examples"), ({"settings": {"C": "much"}}, "bug", "own code"), ({"format": 2}, "unsupported", "format 2")])
def test_bad_trials_say_why(warm, tmp_path, made, change, kind, says):
    fed, data, prog, candidates = made["shop"]
    path = trial(tmp_path / "t", fed, data, prog, candidates["svm-rbf.c1"])
    spec = json.loads((path / "trial.json").read_text())
    if "candidate" in change:
        spec["candidate"]["id"] = change["candidate"]
    elif "data" in change:
        spec["data"]["path"] = change["data"]
    elif "settings" in change:
        spec["candidate"]["settings"] = {**spec["candidate"]["settings"], **change["settings"]}
    else:
        spec |= change
    (path / "trial.json").write_text(json.dumps(spec))
    warm.run(path)
    r = _failed(path, kind)
    assert says in r["message"] and "\n" not in r["message"]
    assert "Traceback" not in json.dumps(r)


def test_no_trial_at_all(warm, tmp_path):
    path = tmp_path / "t"
    path.mkdir()
    assert warm.run(path)["code"] == 0
    assert _failed(path, "data")["where"] == {"file": "trial.json"}


def test_a_metric_that_is_undefined_fails_the_trial(warm, tmp_path, made):
    fed = feed(tmp_path / "1", SHOP, write_csv(tmp_path / "a.csv", [{**r, "kind": "pen"} for r in shop_rows(400)]))
    path = trial(tmp_path / "t", fed, version(tmp_path / "data", fed), SHOP, made["shop"][3]["dummy"], metric="roc_auc")
    warm.run(path)
    assert "roc_auc is undefined" in _failed(path, "data")["message"]


def test_over_its_memory(warm, tmp_path, made):
    path = _run(warm, tmp_path, made, "digits", "forest.300", limits={"memory_bytes": 1_000_000})
    assert "1.0 MB" in _failed(path, "memory")["message"]


def test_out_of_time_without_and_with_a_best_so_far(warm, tmp_path, made):
    slow = {**made["digits"][3]["forest.300"], "settings": {"trees": 20000, "features": 1.0, "leaf": 1, "extra": False}}
    path = _run(warm, tmp_path, made, "digits", slow, folder="slow", limits={"seconds": 1})
    assert "longer than the 1 s" in _failed(path, "timeout")["message"]
    long = {**made["digits"][3]["mlp.128x2"], "settings": {"layers": [512, 512], "rate": 1e-4, "epochs": 100000, "decay": 0}}
    path = _run(warm, tmp_path, made, "digits", long, folder="long", limits={"seconds": 3})
    r = result(path)
    assert r["outcome"] == "ok" and events(path)[-1]["reason"] in ("out_of_time", "plateau")


# -- control

def _network(made) -> dict:
    return made["digits"][3]["resnet-small"]


@pytest.fixture
def torch_is_there():
    pytest.importorskip("torch")


def test_stop_keeps_the_best_so_far(warm, tmp_path, made, torch_is_there):
    fed, data, prog, _ = made["digits"]
    path = trial(tmp_path / "t", fed, data, prog, _network(made))
    warm.run(path, on_event=lambda: _at_epoch(warm, path, 1, "stop"))
    r = result(path)
    assert r["outcome"] == "ok" and events(path)[-1]["reason"] == "stopped" and 1 <= r["steps"] < 25
    assert r["quality"] == max(q for _, q, _ in r["curve"])


def _at_epoch(warm, path: Path, epoch: int, word: str) -> None:
    seen = [e for e in events(path) if e["type"] == "progress"]
    if seen and seen[-1]["step"] >= epoch and not (path / "control").exists():
        order(path, word)
        warm.say(signal=str(path), name="USR1")


def test_pause_and_go_on(warm, tmp_path, made, torch_is_there):
    fed, data, prog, _ = made["digits"]
    network = {**_network(made), "settings": {**_network(made)["settings"], "epochs": 8}}
    whole = trial(tmp_path / "0", fed, data, prog, network)
    warm.run(whole)
    first = trial(tmp_path / "1", fed, data, prog, network)
    ended = warm.run(first, on_event=lambda: _at_epoch(warm, first, 2, "pause"))
    assert ended["code"] == 0 and not (first / "result.json").exists()
    paused = events(first)[-1]
    assert paused["type"] == "paused" and paused["step"] >= 2 and (first / paused["checkpoint"]).is_dir()
    assert len(list((first / "checkpoint").iterdir())) == 1
    second = trial(tmp_path / "2", fed, data, prog, network, attempt=2, resume="../1/checkpoint")
    warm.run(second)
    steps = [e["step"] for e in events(second) if e["type"] == "progress"]
    assert steps[0] == paused["step"] + 1 and steps[-1] == 8
    r, w = result(second), result(whole)
    assert r["quality"] == w["quality"] and [q for _, q, _ in r["curve"]] == [q for _, q, _ in w["curve"]]
    assert r["model"]["format"] == "safetensors"


def test_a_fit_that_hears_nothing_is_stopped_and_paused_too(warm, tmp_path, made):
    fed, data, prog, candidates = made["digits"]
    slow = {**candidates["forest.300"], "settings": {"trees": 20000, "features": 1.0, "leaf": 1, "extra": False}}
    for word in ("stop", "pause"):
        path = trial(tmp_path / word, fed, data, prog, slow)
        order(path, word)
        assert warm.run(path)["code"] == 0
        if word == "stop":
            assert "stopped before" in _failed(path, "timeout")["message"]
        else:
            assert events(path)[-1]["type"] == "paused" and not (path / "result.json").exists()


# -- without PyTorch, and cold

_BLOCKED = """
import sys
class Without:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.split(".")[0] in ("torch", "torchvision"):
            raise ModuleNotFoundError(name, name=name)
sys.meta_path.insert(0, Without)
import importlib.util as u
there = u.find_spec
u.find_spec = lambda name, package=None: None if name.split(".")[0] in ("torch", "torchvision") else there(name, package)
from easeml.trainer.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


def test_without_pytorch(tmp_path, made):
    fed, data, prog, candidates = made["digits"]
    (tmp_path / "program.json").write_text(json.dumps(prog))
    out = subprocess.run([sys.executable, "-c", _BLOCKED, "candidates", "--program", str(tmp_path / "program.json"), "--profile", str(fed.folder / "profile.json")],
                         capture_output=True, text=True, check=True)
    listed = [json.loads(line) for line in out.stdout.splitlines()]
    assert {c["id"] for c in listed if c.get("missing")} == {"resnet-small"}
    assert len(listed) >= 19
    for id, ok in (("logistic.c1", True), ("resnet-small", False)):
        path = trial(tmp_path / id, fed, data, prog, candidates[id])
        subprocess.run([sys.executable, "-c", _BLOCKED, "run", str(path)], check=True)
        if ok:
            assert result(path)["outcome"] == "ok"
        else:
            assert "needs torch, which is not installed here" in _failed(path, "unsupported")["message"]


def test_listing_candidates_imports_nothing_heavy(tmp_path, made):
    fed, _, prog, _ = made["digits"]
    (tmp_path / "program.json").write_text(json.dumps(prog))
    code = ("import sys; from easeml.trainer.__main__ import main; main(sys.argv[1:]); "
            "print({m for m in ('numpy', 'sklearn', 'torch', 'lightgbm', 'pandas', 'pyarrow') if m in sys.modules} - {'numpy'}, file=sys.stderr)")
    out = subprocess.run([sys.executable, "-c", code, "candidates", "--program", str(tmp_path / "program.json"), "--profile", str(fed.folder / "profile.json")],
                         capture_output=True, text=True, check=True)
    assert out.stderr.strip() == "set()"
    assert json.loads(out.stdout.splitlines()[0])["id"] == "dummy"


def test_started_is_said_before_anything_heavy_is_imported(tmp_path):
    (tmp_path / "trial.json").write_text("{}")
    code = ("import sys, pathlib, easeml.trainer.runner as r; e = r.Attempt.go; "
            "r.Attempt.go = lambda self: print('numpy' in sys.modules, (self.folder / 'events.jsonl').read_text()); r.run(pathlib.Path(sys.argv[1]))")
    out = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert out.stdout.startswith("False") and '"started"' in out.stdout


def test_plugins_are_candidates_and_broken_ones_cost_nothing(tmp_path, made):
    fed, data, prog, candidates = made["shop"]
    info = tmp_path / "lab-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: lab\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[easeml.candidates]\nlab = lab:candidates\nbroken = lab_gone:candidates\n")
    (tmp_path / "lab.py").write_text("""
print("a plugin that prints")
from easeml.trainer.candidate import CandidateInfo
from easeml.trainer.families.dummy import Dummy
class Lab(Dummy):
    def fit(self, train, valid, report):
        super().fit(train, valid, report)
        if self.info.settings["fail"]:
            {}["lr"]
def candidates(program, profile):
    yield Lab(CandidateInfo("lab.good", "lab", "Lab", settings={"fail": False}, source="lab 1.0"))
    yield Lab(CandidateInfo("lab.bad", "lab", "Lab", settings={"fail": True}, source="lab 1.0"))
""")
    (tmp_path / "program.json").write_text(json.dumps(prog))
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    call = [sys.executable, "-m", "easeml.trainer"]
    out = subprocess.run([*call, "candidates", "--program", str(tmp_path / "program.json"), "--profile", str(fed.folder / "profile.json")],
                         capture_output=True, text=True, check=True, env=env)
    listed = {c["id"]: c for c in map(json.loads, out.stdout.splitlines())}
    assert listed["lab.good"]["source"] == "lab 1.0" and "knn.5" in listed and "the plugin broken can't be loaded" in out.stderr
    for id in ("lab.good", "lab.bad"):
        path = trial(tmp_path / id, fed, data, prog, listed[id])
        subprocess.run([*call, "run", str(path)], check=True, env=env, capture_output=True)
    assert result(tmp_path / "lab.good")["outcome"] == "ok"
    assert _failed(tmp_path / "lab.bad", "bug")["message"] == "An error in the candidate's own code (KeyError: 'lr')."


def test_the_catalogue_command(tmp_path):
    out = subprocess.run([sys.executable, "-m", "easeml.trainer", "catalogue"], capture_output=True, text=True, check=True)
    found = [json.loads(line) for line in out.stdout.splitlines()]
    assert len(found) >= 20 and all("available" in c for c in found) and found[0]["id"] == "dummy"
