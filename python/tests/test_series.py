"""Series and trees: every form they come in, unequal lengths and gaps, and candidates that learn from them."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from folders import choose, feed, result, trial, version

WAVES = {"input": {"fields": [{"name": "wave", "tensor": [1]}], "pointers": ["next"]}, "output": {"fields": [{"name": "kind", "classes": ["slow", "fast"]}], "pointers": []}}
MOTION = {"input": {"fields": [{"name": "value", "tensor": [2]}], "pointers": ["next"]}, "output": {"fields": [{"name": "label", "class_count": 2}], "pointers": []}}
TREES = {"input": {"fields": [{"name": "value", "tensor": [2]}], "pointers": ["left", "right"]}, "output": {"fields": [{"name": "label", "class_count": 2}], "pointers": []}}


def waves(n: int = 80, seed: int = 0, gaps: bool = False) -> list[tuple[list, str]]:
    """Slow and fast waves of unequal length, with noise; a step in ten is missing where `gaps`."""
    rng = np.random.default_rng(seed)
    out = []
    for i in range(n):
        steps = int(rng.integers(30, 60))
        v = np.sin(np.arange(steps) * (0.25 if i % 2 == 0 else 0.9) + rng.uniform(0, 6)) + rng.normal(0, 0.3, steps)
        values = [None if gaps and rng.random() < 0.1 else round(float(x), 4) for x in v]
        out.append((values, "slow" if i % 2 == 0 else "fast"))
    return out


def motions(n: int = 80) -> list[tuple[np.ndarray, str]]:
    """Two numbers a step: in step with each other, or against."""
    rng = np.random.default_rng(1)
    out = []
    for i in range(n):
        v = np.cumsum(rng.normal(size=int(rng.integers(20, 40))))
        out.append((np.column_stack([v, v if i % 2 == 0 else -v]) + rng.normal(0, 0.3, (len(v), 2)), "ab"[i % 2]))
    return out


def lines(path, rows) -> object:
    path.write_text("\n".join(json.dumps(r) for r in rows))
    return path


def chain(values) -> dict | None:
    node = None
    for v in reversed(values):
        node = {"wave": v, "next": node}
    return node


FORMS = {
    "arrays.jsonl": lambda p, rows: lines(p, [{"wave": v, "kind": k} for v, k in rows]),
    "chains.jsonl": lambda p, rows: lines(p, [{**chain(v), "kind": k} for v, k in rows]),
    "inner.jsonl": lambda p, rows: lines(p, [{"wave": chain(v), "kind": k} for v, k in rows]),
    "steps.csv": lambda p, rows: p.write_text("id,step,wave,kind\n" + "".join(f"{i},{t},{'' if x is None else x},{k}\n" for i, (v, k) in enumerate(rows) for t, x in enumerate(v))),
    "wide.tsv": lambda p, rows: p.write_text("kind\t" + "\t".join(f"wave_{i}" for i in range(60)) + "\n" + "".join(
        k + "\t" + "\t".join("" if x is None else str(x) for x in v + [None] * (60 - len(v))) + "\n" for v, k in rows)),
    "waves.ts": lambda p, rows: p.write_text("# made up\n@problemName waves\n@timeStamps false\n@univariate true\n@classLabel true slow fast\n@data\n" + "".join(
        ",".join("?" if x is None else str(x) for x in v) + f":{k}\n" for v, k in rows)),
    "waves.parquet": lambda p, rows: _parquet(p, rows),
}


def _parquet(path, rows):
    import pyarrow as pa
    import pyarrow.parquet as pq
    pq.write_table(pa.table({"wave": [v for v, _ in rows], "kind": [k for _, k in rows]}), path)


@pytest.mark.parametrize("form", FORMS)
def test_the_same_series_come_out_of_every_form(tmp_path, form):
    rows = waves(gaps=True)
    rows = [(v[:-1] + [0.5], k) for v, k in rows]  # a gap at the end of a wide row is no step
    path = tmp_path / form
    FORMS[form](path, rows)
    fed = feed(tmp_path / "1", WAVES, path, options={"series": "id", "ignore": "step"} if form == "steps.csv" else {})
    assert fed.ok, fed.last
    assert fed.profile["examples"] == {"read": 80, "accepted": 80, "known": 0, "rejected": 0}, fed.rejects[:3]
    for (v, k), got, label in zip(rows, fed.examples["wave"], fed.index["label"]):
        assert np.array_equal(np.array(got), np.array([np.nan if x is None else x for x in v]), equal_nan=True) and label == k
    about = fed.profile["fields"][0]
    assert about["kind"] == "series" and about["lengths"] == [min(len(v) for v, _ in rows), max(len(v) for v, _ in rows)]
    assert about["missing"] == sum(x is None for v, _ in rows for x in v)


def test_several_numbers_a_step(tmp_path):
    rows = motions()
    forms = {"a.jsonl": [{"value": v.tolist(), "label": k} for v, k in rows], "b.jsonl": [{"value": v.T.tolist(), "label": k} for v, k in rows]}
    (tmp_path / "c.csv").write_text("id,x,y,label\n" + "".join(f"{i},{x!r},{y!r},{k}\n" for i, (v, k) in enumerate(rows) for x, y in v.tolist()))
    (tmp_path / "d.ts").write_text("@timestamps true\n@classlabel true a b\n@data\n" + "".join(
        ":".join(",".join(f"({t},{x!r})" for t, x in enumerate(column)) for column in v.T.tolist()) + f":{k}\n" for v, k in rows))
    for name, some in forms.items():
        lines(tmp_path / name, some)
    for i, name in enumerate([*forms, "c.csv", "d.ts"]):
        fed = feed(tmp_path / str(i), MOTION, tmp_path / name, options={"series": "id"} if name == "c.csv" else {})
        assert fed.ok and fed.profile["examples"]["accepted"] == 80, str(fed.last)
        assert np.array_equal(np.array(fed.examples["value"][3]).reshape(-1, 2), rows[3][0])
    x = np.stack([v[:20] for v, _ in rows])
    for i, shaped in enumerate((x, x.transpose(0, 2, 1))):
        np.savez(tmp_path / "e.npz", X=shaped, y=[k for _, k in rows])
        fed = feed(tmp_path / f"n{i}", MOTION, tmp_path / "e.npz")
        assert fed.ok and np.array_equal(np.array(fed.examples["value"][5]).reshape(-1, 2), x[5])


def test_odd_series_are_rejected_one_by_one(tmp_path):
    good = [{"wave": v, "kind": k} for v, k in waves(40)]
    odd = [{"wave": [], "kind": "slow"}, {"wave": None, "kind": "slow"}, {"wave": "abc", "kind": "slow"}, {"wave": [1, [2, 3]], "kind": "slow"}, {"wave": [[1, 2], [3, 4]], "kind": "slow"},
           {"wave": [1, float("inf")], "kind": "slow"}, {"wave": [None, None], "kind": "fast"}, {"wave": {"a": 1, "b": 2}, "kind": "fast"}, {"wave": [1, 2], "kind": "medium"}, 7]
    fed = feed(tmp_path / "1", WAVES, lines(tmp_path / "a.jsonl", good + odd))
    assert fed.profile["examples"]["accepted"] == 40 and [r["line"] for r in fed.rejects] == list(range(41, 51))
    reasons = [r["reason"] for r in fed.rejects]
    assert reasons[0] == "wave has no steps" and reasons[1] == "wave is missing" and "no list of steps of 1 number" in reasons[2]
    assert "infinite" in reasons[5] and reasons[6] == "wave has no steps" and "without a value" in reasons[7] and "medium" in reasons[8]
    assert all(r["remedy"] for r in fed.rejects)


def test_steps_of_rows_say_what_does_not_fit(tmp_path):
    path = tmp_path / "s.csv"
    text = "id,wave,kind\n" + "".join(f"{i},{x},{k}\n" for i, (v, k) in enumerate(waves(30)) for x in v)
    path.write_text(text + "90,1,slow\n90,2,fast\n91,1,slow\n91,abc,slow\n,5,slow\n92,3,fast\n")
    n = text.count("\n")
    fed = feed(tmp_path / "1", WAVES, path, options={"series": "id"})
    assert fed.profile["examples"] == {"read": 34, "accepted": 31, "known": 0, "rejected": 3}
    assert sorted((r["row"], r["column"], r["reason"]) for r in fed.rejects) == [
        (n + 1, "kind", "kind differs within the series"), (n + 3, "wave", '"abc" is not a number'), (n + 5, "id", "id is missing, so the step belongs to no series")]
    assert "s.csv: rows with the same id make one series" in fed.profile["read_as"]
    fault = feed(tmp_path / "2", WAVES, path, options={"series": "subject"})
    assert fault.last["message"].startswith("s.csv has no column subject")


def tree(rng: random.Random, depth: int, bias: float) -> dict | None:
    if depth == 0 or rng.random() < 0.15:
        return None
    return {"value": [rng.gauss(0, 1), rng.gauss(bias, 1)], "left": tree(rng, depth - 1, bias), "right": tree(rng, depth - 1, -bias)}


def trees(n: int = 120) -> list[dict]:
    """What lies behind the left pointer is larger than what lies behind the right one, or smaller."""
    rng, out = random.Random(0), []
    while len(out) < n:
        label = "ab"[len(out) % 2]
        t = tree(rng, 6, 1.5 if label == "a" else -1.5)
        if t and t["left"]:
            out.append({**t, "label": label})
    return out


def test_deep_and_unbalanced_trees(tmp_path):
    rows = trees()
    deep = {"value": [0, 0]}
    text = '{"value": [1, 2], "left": ' * 5000 + json.dumps(deep) + "}" * 5000
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)) + "\n" + text[:-1] + ', "label": "a"}\n' + '{"value": [1], "label": "a"}\n{"value": [1, 2], "left": 3, "label": "b"}\n')
    fed = feed(tmp_path / "1", TREES, path)
    assert fed.ok and fed.profile["examples"]["accepted"] == 121, fed.rejects[:3]
    assert fed.profile["fields"][0]["kind"] == "tree" and fed.profile["fields"][0]["lengths"][1] == 5001
    assert [(r["line"], r["reason"]) for r in fed.rejects] == [(122, "value has a node with 1 numbers, but a node has 2"), (123, "value has a node that is no object")]
    nodes = np.array(fed.examples["value"][0]).reshape(-1, 4)
    assert nodes[0].tolist() == [-1, 0, *rows[0]["value"]] and nodes[1].tolist() == [0, 0, *rows[0]["left"]["value"]]
    again = feed(tmp_path / "2", TREES, path, target=fed.profile["target"], known=fed.known(), first_number=122)
    assert again.profile["examples"]["known"] == 121


CASES = {
    "series": (WAVES, lambda: [{"wave": v, "kind": k} for v, k in waves(gaps=True)], "kind",
               {"series-forest.300": 0.9, "series-logistic.c1": 0.9, "rocket.500": 0.9, "series-knn.k1.shape": 0.4}),
    "motion": (MOTION, lambda: [{"value": v.tolist(), "label": k} for v, k in motions()], "label", {"rocket.2000": 0.75}),
    "trees": (TREES, trees, "label", {"tree-forest.300": 0.8, "tree-logistic.c1": 0.8}),
}


@pytest.mark.parametrize("case", CASES)
def test_candidates_learn_and_answer(tmp_path, case):
    from easeml.trainer.predict import Predictor
    from easeml.trainer.runner import run
    prog, make, output, wanted = CASES[case]
    rows = make()
    fed = feed(tmp_path / "1", prog, lines(tmp_path / "a.jsonl", rows))
    offered = choose(fed, prog)
    assert "dummy" in offered and set(wanted) <= set(offered)
    data = version(tmp_path / "data", fed)
    for id, quality in {**wanted, "dummy": 0.0}.items():
        folder = trial(tmp_path / id, fed, data, prog, offered[id])
        assert run(folder) == 0
        got = result(folder)
        assert got["outcome"] == "ok" and got["quality"] >= quality, (id, got.get("message"), got["quality"])
    out = tmp_path / "answers.ndjson"
    asked = lines(tmp_path / "new.jsonl", [{k: v for k, v in r.items() if k != output} for r in rows[:10]] + [{output: "x"}])
    reply = Predictor(tmp_path / next(iter(wanted)) / "model").reply(json.dumps({"id": 1, "sources": [{"name": "new.jsonl", "path": str(asked)}], "out": str(out)}).encode())
    assert reply["done"]["answers"] == 10 and reply["done"]["refused"] == 1, reply
    answers = [json.loads(line) for line in out.read_text().splitlines()]
    assert sum(a.get("answer", {}).get(output) == r[output] for a, r in zip(answers, rows)) >= 9


def test_nodes_with_three_pointers(tmp_path):
    """What is no tree of two is learned as one."""
    from easeml.trainer.runner import run
    prog = {**TREES, "input": {"fields": [{"name": "value", "tensor": [1]}], "pointers": ["a", "b", "c"]}}
    rng = random.Random(0)
    node = lambda v, **more: {"value": [v], "a": None, "b": None, "c": None} | more  # noqa: E731
    rows = [{**node(rng.gauss(0, 1), **{"abc"[i % 2 * 2]: node(rng.gauss(3, 1))}), "label": "xy"[i % 2]} for i in range(80)]
    fed = feed(tmp_path / "1", prog, lines(tmp_path / "a.jsonl", rows))
    offered = choose(fed, prog)
    assert fed.ok and {c["family"] for c in offered.values()} == {"dummy", "tree_statistics"}
    assert run(trial(tmp_path / "t", fed, version(tmp_path / "data", fed), prog, offered["tree-logistic.c1"])) == 0
    assert result(tmp_path / "t")["quality"] > 0.9


def test_numbers_from_series(tmp_path):
    from easeml.trainer.runner import run
    prog = {**WAVES, "output": {"fields": [{"name": "speed", "tensor": [1]}], "pointers": []}}
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(120):
        speed = float(rng.uniform(0.1, 1.0))
        rows.append({"wave": np.sin(np.arange(int(rng.integers(40, 60))) * speed).tolist(), "speed": speed})
    fed = feed(tmp_path / "1", prog, lines(tmp_path / "a.jsonl", rows))
    offered = choose(fed, prog)
    for id in ("series-forest.300", "rocket-ridge.500", "series-ridge.a1"):
        folder = trial(tmp_path / id, fed, version(tmp_path / f"data-{id}", fed), prog, offered[id])
        assert run(folder) == 0 and result(folder)["quality"] > 0.7, result(folder)


def test_series_are_echoed_as_what_feed_reads_again(tmp_path):
    """All steps, gaps as null, whatever they lay in."""
    from easeml.trainer.predict import _echo
    from easeml.trainer.readers import Options, open_source
    path = tmp_path / "w.ts"
    path.write_text("@problemName w\n@timeStamps false\n@univariate false\n@classLabel true a b\n@data\n" + ",".join(["1.5", "?"] * 1000) + ":" + ",".join(["2", "3"] * 1000) + ":a\n")
    source = open_source("w.ts", path, Options({}, True))
    echoed, _ = _echo(source, next(iter(source.blocks())))
    assert json.loads(echoed[0]["series"]) == [[1.5, 2.0], [None, 3.0]] * 1000
