"""An audit of a server's state: whether the parts are what the figures promise. It reads the state's database and folders."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from pathlib import Path

import pyarrow as pa


def audit(state: Path) -> int:
    """Check every task of a state folder; how many versions were looked at."""
    db = sqlite3.connect(f"file:{state / 'easeml.db'}?mode=ro", uri=True)
    db.row_factory = sqlite3.Row
    looked = 0
    for task in db.execute("SELECT * FROM tasks WHERE dropped IS NULL AND version > 0"):
        rows = list(db.execute("SELECT * FROM examples WHERE task_id = ? ORDER BY number", (task["id"],)))
        part_of = {r["number"]: r["part"] for r in rows}

        # Parts are disjoint: by input, and by what was to stay together.
        for column in ("input_hash", "group_hash"):
            parts = defaultdict(set)
            for r in rows:
                if r[column]:
                    parts[r[column]].add(r["part"])
            assert all(len(p) == 1 for p in parts.values()), f"{task['name']}: a {column} stands in several parts"

        # Counts add up: numbers without holes, what was read is what was taken, was there, or was rejected.
        assert [r["number"] for r in rows] == list(range(1, task["next_example"])), task["name"]
        feeds = list(db.execute("SELECT * FROM feeds WHERE task_id = ? AND state = 'ended'", (task["id"],)))
        assert sum(f["accepted"] for f in feeds) == len(rows)
        for f in feeds:
            assert f["read"] == f["accepted"] + f["known"] + f["rejected"], dict(f)
            assert f["rejected"] == db.execute("SELECT count(*) FROM rejects WHERE feed_id = ?", (f["id"],)).fetchone()[0]

        # Each version has the examples of then, in the parts that they were given at first.
        for v in db.execute("SELECT * FROM versions WHERE task_id = ? ORDER BY number", (task["id"],)):
            search = db.execute("SELECT * FROM searches WHERE id = ?", (v["search_id"],)).fetchone()
            t = pa.ipc.open_file(str(Path(search["data_path"]) / "index.arrow")).read_all().to_pydict()
            on = [n for n, is_on in zip(t["number"], t["on"]) if is_on]
            counts = Counter(p for p, is_on in zip(t["part"], t["on"]) if is_on)
            assert len(on) == v["is_on"] == search["rows"] and len(t["number"]) == v["is_on"] + v["is_off"]
            assert {k: n for k, n in json.loads(v["parts"]).items() if n} == dict(counts)
            assert all(part_of[n] == p for n, p in zip(t["number"], t["part"])), f"{task['name']}: a part changed by version {v['number']}"
            looked += 1

        # A result is about as many examples as its part has.
        for tr in db.execute("SELECT t.*, s.parts, s.protocol FROM trials t JOIN searches s ON s.id = t.search_id WHERE s.id = ? AND t.state = 'ok'", (task["search_id"],)):
            result, parts, protocol = json.loads(tr["result"]), json.loads(tr["parts"]), json.loads(tr["protocol"])
            held = parts["validation"] if protocol["kind"] == "holdout" else parts["train"] + parts["validation"]
            assert result["n"] == held, (tr["candidate"], result["n"], held)
            assert (result["test"] or {"n": 0})["n"] == parts["test"]
            assert len(tr["held_out"]) == 4 * held  # a loss each
    return looked
