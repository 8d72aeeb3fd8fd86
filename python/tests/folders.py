"""Folders as the server lays them out: ingest folders, version folders, trial folders; and the warm parent's other end."""

from __future__ import annotations

import csv
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pyarrow as pa

from easeml.trainer import catalogue, ingest as ingesting, study as studying
from easeml.trainer.program import parse_program, parse_target, settle

SCHEMAS = Path(__file__).parents[2] / "gpu" / "trial" / "schemas"


def check(name: str, value) -> None:
    """Assert that a value is as the shared JSON Schema of that name says."""
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(value)


def program(inputs: list[dict], outputs: list[dict]) -> dict:
    """A program's JSON from its fields' JSON."""
    return {"input": {"fields": inputs, "pointers": []}, "output": {"fields": outputs, "pointers": []}}


DIGITS = program([{"name": "image", "tensor": [8, 8, 1]}], [{"name": "digit", "class_count": 10}])

SHOP = program(
    [{"name": "size", "tensor": [1]}, {"name": "color", "class_count": 3}, {"name": "weight", "tensor": [1]}],
    [{"name": "kind", "classes": ["pen", "book"]}])


def digits(folder: Path, rows: slice | np.ndarray = slice(None), name: str = "digits.npz") -> Path:
    """scikit-learn's digits as an NPZ."""
    from sklearn.datasets import load_digits
    data = load_digits()
    path = folder / name
    np.savez(path, image=data.images[rows].astype(np.uint8), digit=data.target[rows])
    return path


def shop_rows(n: int, seed: int = 0) -> list[dict]:
    """A made-up table: numbers and a category with missing values, and a kind that depends on all of them."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n):
        size, weight = rng.normal(10, 3), rng.normal(200, 50)
        color = ["red", "green", "blue"][rng.integers(3)]
        book = size * 20 + weight + (80 if color == "red" else 0) + rng.normal(0, 15) > 430
        rows.append({"size": f"{size:.3f}" if rng.random() > 0.1 else "", "color": color if rng.random() > 0.1 else "NA",
                     "weight": f"{weight:.1f}", "kind": "book" if book else "pen"})
    return rows


def write_csv(path: Path, rows: list[dict], **options) -> Path:
    """Rows as a CSV with a header."""
    with open(path, "w", newline="", encoding=options.pop("encoding", "utf-8")) as f:
        writer = csv.DictWriter(f, list(rows[0]), **options)
        writer.writeheader()
        writer.writerows(rows)
    return path


def table(path: Path) -> dict[str, list]:
    """An Arrow file's columns as lists."""
    return pa.ipc.open_file(str(path)).read_all().to_pydict()


def events(folder: Path) -> list[dict]:
    """A folder's events, each checked against the schema."""
    found = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    for i, e in enumerate(found, 1):
        check("events", e)
        assert e["n"] == i
    return found


class Fed:
    """An ingest that ran: its folder and what it left."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.events = events(folder)
        self.last = self.events[-1]
        self.ok = self.last["type"] == "done"
        if self.ok:
            self.profile = json.loads((folder / "profile.json").read_text())
            check("profile", self.profile)
            self.index = table(folder / "index.arrow")
            self.examples = table(folder / "examples.arrow")
            self.rejects = [dict(zip(r, v)) for r in [table(folder / "rejects.arrow")] for v in zip(*r.values())]

    def known(self) -> str:
        """The index as the server gives it to a later ingest."""
        path = self.folder / "known.arrow"
        t = pa.ipc.open_file(str(self.folder / "index.arrow")).read_all().drop_columns(["source", "row"])
        t = t.append_column("on", pa.array([True] * len(t)))
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, t.schema) as w:
            w.write_table(t)
        return str(path)


def feed(folder: Path, prog: dict, *paths: Path, **spec) -> Fed:
    """Run an ingest of some files in this process."""
    folder.mkdir(parents=True)
    names = spec.pop("names", [p.name for p in paths])
    spec = {"format": 1, "program": prog, "template": "", "target": None, "output": [], "using": {}, "options": {}, "known": None,
            "first_number": 1, "folds": None, "test": None,
            "sources": [{"name": n, "path": str(p)} for n, p in zip(names, paths)], **spec}
    check("ingest", spec)
    (folder / "ingest.json").write_text(json.dumps(spec))
    assert ingesting.ingest(folder) == 0
    return Fed(folder)


def version(folder: Path, *fed: Fed, off: set[int] = frozenset(), labels: dict[int, str] | None = None) -> Path:
    """A version's folder of one or several feeds; `labels` are those that were corrected since, by number."""
    folder.mkdir(parents=True)
    numbers, parts = [], []
    for i, f in enumerate(fed, 1):
        shutil.copy(f.folder / "examples.arrow", folder / f"examples-{i}.arrow")
        numbers += f.index["number"]
        parts += f.index["part"]
    t = pa.table({"number": pa.array(numbers, pa.int64()), "part": parts, "on": [n not in off for n in numbers],
                  "group": pa.array([g for f in fed for g in f.index["group"]], pa.string()),
                  "label": pa.array([(labels or {}).get(n) for n in numbers], pa.string())})
    with pa.OSFile(str(folder / "index.arrow"), "wb") as sink, pa.ipc.new_file(sink, t.schema) as w:
        w.write_table(t)
    return folder


def choose(fed: Fed, prog: dict) -> dict[str, dict]:
    """The candidates for a feed, by id."""
    found = {}
    for c in catalogue.choose(parse_program(prog), fed.profile):
        found[c.info.id] = json.loads(json.dumps(c.info.as_json()))
        check("candidate", found[c.info.id])
    return found


def trial(folder: Path, fed: Fed, data: Path, prog: dict, candidate: dict, **changes) -> Path:
    """A trial's folder, ready to run. `changes` replace keys; ``limits`` are merged."""
    folder.mkdir(parents=True)
    limits = {"seconds": 300, "memory_bytes": 4 << 30, "gpu_memory_bytes": None, "threads": 1, "steps": None, **changes.pop("limits", {})}
    spec = {"format": 1, "trial": "t", "attempt": 1, "program": prog, "template": "", "target": fed.profile["target"],
            "candidate": {k: candidate[k] for k in ("id", "version", "family", "settings", "normalization")},
            "data": {"version": "v1", "path": str(data), "rows": fed.profile["rows"], "parts": fed.profile["parts"],
                     "protocol": fed.profile["protocol"]},
            "metric": fed.profile["metric"]["name"], "seed": 0, "limits": limits, "device": {"class": "cpu1", "visible": ""},
            "resume": None, "stop_below": None, "report_seconds": 0.0, **changes}
    check("trial", spec)
    (folder / "trial.json").write_text(json.dumps(spec))
    return folder


def study(folder: Path, kind: str, fed: Fed, data: Path, prog: dict, candidates: list[dict], **more) -> dict:
    """Ask a study of a version in this process; see `ask`."""
    return ask(folder, {
        "format": 1, "kind": kind, "program": prog, "template": "", "target": fed.profile["target"],
        "data": {"version": "v1", "path": str(data), "rows": fed.profile["rows"], "parts": fed.profile["parts"], "protocol": fed.profile["protocol"]},
        "metric": fed.profile["metric"]["name"], "seed": 0, "threads": 1,
        "candidates": [{k: c[k] for k in ("id", "version", "family", "settings", "normalization")} for c in candidates], **more})


def ask(folder: Path, spec: dict) -> dict:
    """Ask a study in this process; what it found, or its last event where it failed."""
    folder.mkdir(parents=True)
    check("study", spec)
    (folder / "study.json").write_text(json.dumps(spec))
    assert studying.study(folder) == 0
    last = events(folder)[-1]
    if last["type"] != "done":
        return last
    found = json.loads((folder / "findings.json").read_text())
    check("findings", found)
    return found


def result(folder: Path) -> dict:
    """A trial's result, checked against the schema."""
    found = json.loads((folder / "result.json").read_text())
    check("result", found)
    return found


def order(folder: Path, word: str) -> None:
    """Put a word into a folder's control file, by rename."""
    partial = folder / "control.partial"
    partial.write_text(word)
    os.replace(partial, folder / "control")


def settled(fed: Fed, prog: dict):
    """The program and the target as a trial sees them."""
    p = parse_program(prog)
    target = parse_target(fed.profile["target"], p)
    return settle(p, target), target


class Warm:
    """A warm parent and the lines it says."""

    def __init__(self, *, wait_for_deep: bool = True):
        self.process = subprocess.Popen([sys.executable, "-m", "easeml.trainer", "serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
        self.ready = self.hear()["ready"]
        self.deep = self.hear()["ready"] if wait_for_deep and importlib.util.find_spec("torch") else None

    def hear(self) -> dict:
        """The next line. Raises where the parent left."""
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the warm parent left with {self.process.wait()}")
        return json.loads(line)

    def say(self, **request) -> None:
        """Send one request."""
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def until(self, folder: Path, what: str, on_event=None) -> dict:
        """Listen until ``what`` (started, ended) is said of a folder."""
        while True:
            heard = self.hear()
            if heard.get("event") == str(folder) and on_event:
                on_event()
            if heard.get(what) == str(folder):
                return heard
            assert heard.get("ended") != str(folder), heard

    def run(self, folder: Path, command: str = "run", on_event=None) -> dict:
        """Run a folder to its end."""
        self.say(run=str(folder), command=command)
        return self.until(folder, "ended", on_event)

    def close(self) -> int:
        """End the input; the exit status."""
        self.process.stdin.close()
        code = self.process.wait(timeout=60)
        self.process.stdout.close()
        return code
