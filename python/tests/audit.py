"""An audit of a server's state: whether the parts are what the figures promise. It reads the state's database and folders.

    python python/tests/audit.py STATE
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pyarrow as pa


def audit(state: Path) -> int:
    """Check every task of a state folder; how many versions were looked at. What is wrong is an AssertionError that names it."""
    if not (state / "easeml.db").exists():
        return 0
    db = sqlite3.connect(f"file:{state / 'easeml.db'}?mode=ro", uri=True)
    try:
        db.row_factory = sqlite3.Row
        return sum(_audit(db, task) for task in db.execute("SELECT * FROM tasks WHERE dropped IS NULL AND version > 0").fetchall())
    finally:
        db.close()


def _audit(db: sqlite3.Connection, task: sqlite3.Row) -> int:
    name = task["name"]
    rows = list(db.execute("SELECT * FROM examples WHERE task_id = ? ORDER BY number", (task["id"],)))
    part_of = {r["number"]: r["part"] for r in rows}

    # Counts add up: numbers without holes, what was read is what was taken, was there, or was rejected.
    assert [r["number"] for r in rows] == list(range(1, task["next_example"])), f"{name}: a number is missing among the examples"
    feeds = list(db.execute("SELECT * FROM feeds WHERE task_id = ? AND state = 'ended'", (task["id"],)))
    assert sum(f["accepted"] for f in feeds) == len(rows), f"{name}: its feeds have not taken as many examples as it has"
    for f in feeds:
        assert f["read"] == f["accepted"] + f["known"] + f["rejected"], f"{name}: feed {f['number']} does not add up"
        assert f["rejected"] == db.execute("SELECT count(*) FROM rejects WHERE feed_id = ?", (f["id"],)).fetchone()[0], f"{name}: rejects of feed {f['number']}"

    # Parts are disjoint: by input, and by what was to stay together.
    for column in ("input_hash", "group_hash"):
        _disjoint(name, column, ((r[column], r["part"]) for r in rows if r[column]))

    # Each version has the examples of then, in the parts that they were given at first; its files are still there.
    versions = list(db.execute("SELECT * FROM versions WHERE task_id = ? ORDER BY number", (task["id"],)))
    for v in versions:
        search = db.execute("SELECT * FROM searches WHERE id = ?", (v["search_id"],)).fetchone()
        t = pa.ipc.open_file(str(Path(search["data_path"]) / "index.arrow")).read_all().to_pydict()
        counts = Counter(p for p, is_on in zip(t["part"], t["on"]) if is_on)
        assert sum(t["on"]) == v["is_on"] == search["rows"] and len(t["number"]) == v["is_on"] + v["is_off"], f"{name}: version {v['number']} does not add up"
        assert {k: n for k, n in json.loads(v["parts"]).items() if n} == dict(counts), f"{name}: the parts of version {v['number']} do not add up"
        assert all(part_of[n] == p for n, p in zip(t["number"], t["part"])), f"{name}: a part changed by version {v['number']}"
    assert versions[-1]["search_id"] == task["search_id"]

    # The same once more by what lies in the files that trials read, not by the hashes.
    folder = Path(db.execute("SELECT data_path FROM searches WHERE id = ?", (task["search_id"],)).fetchone()[0])
    _disjoint(name, "input", ((content, part_of[n]) for n, content in _inputs(folder, task["program"])))

    # A result is about as many examples as its part has.
    for tr in db.execute("SELECT t.*, s.parts, s.protocol FROM trials t JOIN searches s ON s.id = t.search_id WHERE s.id = ? AND t.state = 'ok'", (task["search_id"],)):
        result, parts, protocol = json.loads(tr["result"]), json.loads(tr["parts"]), json.loads(tr["protocol"])
        held = parts["validation"] if protocol["kind"] == "holdout" else parts["train"] + parts["validation"]
        assert result["n"] == held, f"{name}: {tr['candidate']} was measured on {result['n']} of {held}"
        assert (result["test"] or {"n": 0})["n"] == parts["test"], f"{name}: {tr['candidate']} was not tested on the test part"
        assert len(tr["held_out"]) == 4 * held  # a loss each
    return len(versions)


def _disjoint(name: str, column: str, pairs) -> None:
    parts = defaultdict(set)
    for key, part in pairs:
        parts[key].add(part)
    assert all(len(p) == 1 for p in parts.values()), f"{name}: one {column} stands in several parts"


def _inputs(folder: Path, program: str):
    """Number and content of the inputs of each example that a version's folder holds."""
    # Outputs have unique names, or none: then they are called output, output1 …
    outputs = set(re.findall(r"(\w+)\s*::", program[program.index("output"):]))
    for path in sorted(folder.glob("examples-*.arrow")):
        table = pa.ipc.open_file(str(path)).read_all()
        columns = [c for c in table.column_names if c != "number" and c not in outputs and not re.fullmatch(r"output\d*", c)]
        for batch in table.to_batches(max_chunksize=4096):
            values = [batch.column(c).to_pylist() for c in columns]
            for n, *content in zip(batch.column("number").to_pylist(), *values):
                yield n, repr(content)


if __name__ == "__main__":
    print(audit(Path(sys.argv[1])), "dataset versions hold what they promise")
