"""The warm parent: it never computes, its children never hang, it starts them far faster than cold, and takes them along."""

from __future__ import annotations

import importlib.util
import json
import os
import time

import pytest

from folders import DIGITS, SHOP, Warm, choose, digits, events, feed, result, shop_rows, trial, version, write_csv

FORKS = 20
TOO_LONG = 240
"""Seconds after which twenty tiny fits that have not ended hang: an outer limit, far from any real time."""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Data so small that a fit is nearly all start and end."""
    root = tmp_path_factory.mktemp("tiny")
    pictures = feed(root / "1", DIGITS, digits(root, slice(0, 310)))
    shop = feed(root / "2", SHOP, write_csv(root / "s.csv", shop_rows(400)))
    return {"pictures": (pictures, version(root / "p", pictures), DIGITS, choose(pictures, DIGITS)),
            "shop": (shop, version(root / "s", shop), SHOP, choose(shop, SHOP))}


@pytest.mark.models
@pytest.mark.parametrize("library,name,candidate,settings", [
    ("torch", "pictures", "resnet-small", {"epochs": 1, "width": 4}),
    ("lightgbm", "shop", "lightgbm.15", {"trees": 3}),
    ("sklearn", "shop", "hist-boosting", {"trees": 3}),
])
def test_twenty_forks_and_none_hangs(warm, tmp_path, tiny, library, name, candidate, settings):
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    fed, data, prog, candidates = tiny[name]
    chosen = {**candidates[candidate], "settings": {**candidates[candidate]["settings"], **settings}}
    paths = [trial(tmp_path / str(i), fed, data, prog, chosen, limits={"threads": 2}) for i in range(FORKS)]
    end = time.monotonic() + TOO_LONG
    for path in paths:
        warm.say(run=str(path))
        while warm.hear().get("ended") != str(path):
            assert time.monotonic() < end
    assert {result(p)["outcome"] for p in paths} == {"ok"}
    assert len({result(p)["quality"] for p in paths}) == 1


def test_warm_is_far_quicker_than_cold(warm, tmp_path, tiny):
    fed, data, prog, candidates = tiny["shop"]
    waits = []
    for i in range(5):
        path = trial(tmp_path / str(i), fed, data, prog, candidates["dummy"])
        begun = time.monotonic()
        warm.say(run=str(path))
        while not (path / "events.jsonl").exists() or "started" not in (path / "events.jsonl").read_text():
            warm.hear()
        waits.append(time.monotonic() - begun)
        if not (path / "result.json").exists():
            warm.until(path, "ended")
        else:
            while warm.hear().get("ended") != str(path):
                pass
    ratio = warm.ready["import_seconds"] / sorted(waits)[2]
    print(f"cold {warm.ready['import_seconds']:.2f} s, warm {1000 * sorted(waits)[2]:.0f} ms: {ratio:.0f} times")
    assert ratio >= 20


def test_each_event_nudges_and_the_end_is_told(warm, tmp_path, tiny):
    fed, data, prog, candidates = tiny["shop"]
    path = trial(tmp_path / "t", fed, data, prog, candidates["knn.5"])
    nudges = []
    ended = warm.run(path, on_event=lambda: nudges.append(1))
    assert nudges and ended["code"] == 0 and ended["signal"] is None
    assert abs(ended["peak_bytes"] - result(path)["peak_bytes"]) <= 0.5 * result(path)["peak_bytes"]


def test_ingest_is_served_too(warm, tmp_path):
    folder = tmp_path / "i"
    folder.mkdir()
    path = write_csv(tmp_path / "s.csv", shop_rows(30))
    (folder / "ingest.json").write_text(json.dumps({"format": 1, "program": SHOP, "sources": [{"name": "s.csv", "path": str(path)}]}))
    assert warm.run(folder, "ingest")["code"] == 0
    assert events(folder)[-1]["accepted"] == 30


def test_what_a_child_prints_is_in_its_log_and_env_is_its_own(warm, tmp_path, tiny):
    fed, data, prog, candidates = tiny["shop"]
    path = trial(tmp_path / "t", fed, data, prog, {**candidates["svm-rbf.c1"], "settings": {"C": "much", "kernel": "rbf"}})
    warm.say(run=str(path), env={"EASEML_TEST": "1"})
    assert warm.until(path, "ended")["code"] == 0
    assert "Traceback" in (path / "log.txt").read_text()
    assert result(path)["kind"] == "bug"


def test_nonsense_is_answered_and_survived(warm, tmp_path):
    warm.process.stdin.write("oops\n[1]\n{}\n")
    warm.process.stdin.flush()
    assert all("error" in warm.hear() for _ in range(3))
    warm.say(run=str(tmp_path / "nowhere"))
    assert warm.hear()["message"] == "There is no such folder."
    warm.say(run=str(tmp_path), command="dance")
    assert "dance" in warm.hear()["message"]


def _slow(tmp_path, tiny, name: str):
    fed, data, prog, candidates = tiny["pictures"]
    slow = {**candidates["forest.300"], "settings": {"trees": 100000, "features": 1.0, "leaf": 1, "extra": False}}
    return trial(tmp_path / name, fed, data, prog, slow)


def _fitting(parent: Warm, path) -> int:
    """Start a slow trial and wait until it fits; its pid."""
    parent.say(run=str(path))
    pid = parent.until(path, "started")["pid"]
    while '"fit"' not in ((path / "events.jsonl").read_text() if (path / "events.jsonl").exists() else ""):
        parent.hear()
    return pid


def test_kill_ends_one_child_only(warm, tmp_path, tiny):
    a, b = _slow(tmp_path, tiny, "a"), _slow(tmp_path, tiny, "b")
    _fitting(warm, a)
    other = _fitting(warm, b)
    warm.say(signal=str(a), name="KILL")
    assert warm.until(a, "ended")["signal"] == "SIGKILL"
    os.kill(other, 0)  # still there
    warm.say(signal=str(b), name="TERM")
    assert warm.until(b, "ended")["signal"] == "SIGTERM"


@pytest.mark.parametrize("how", ["end of input", "KILL"])
def test_children_go_with_their_parent(tmp_path, tiny, how):
    parent = Warm(wait_for_deep=False)  # the deep parent is in the middle of its imports: it goes too
    path = _slow(tmp_path, tiny, "t")
    pid = _fitting(parent, path)
    if how == "KILL":
        parent.process.kill()
        parent.process.wait()
        parent.process.stdin.close()
        parent.process.stdout.close()
    else:
        assert parent.close() == 0
    end = time.monotonic() + TOO_LONG
    while _alive(pid):  # the kernel ends it; nothing tells us when
        assert time.monotonic() < end
        time.sleep(0.01)


def _alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
