"""`schema … from` where series are predicted, or predicted from: what is proposed, why, and that files can be fed with it."""

from __future__ import annotations

import json
import re
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from folders import feed
from test_propose import propose, types
from test_series import lines, trees, waves
from test_translation import FORMS, chain
from translations import reversed_letters, sentences, smoothed, thinned


def proposed(found: dict) -> dict:
    """The JSON of a program that was proposed."""
    sides = {}
    for side in ("input", "output"):
        fields = []
        for f in found["fields"]:
            if f["side"] == side:
                kind, inner = re.fullmatch(r"(\w+)\[(.*)\]", f["type"]).groups()
                items = json.loads(f"[{inner}]")
                what = {"tensor": items} if kind == "Tensor" else {"classes": items} if isinstance(items[0], str) else {"class_count": items[0]}
                fields.append({"name": f["name"], **what})
        sides[side] = {"fields": fields, "pointers": found["pointers"][side]}
    return sides


def fed_as_proposed(folder, found: dict, path, *output, **options):
    """What comes of feeding a file with the program that was proposed for it, as the next cell says it."""
    return feed(folder, proposed(found), path, output=list(output), options=options)


@pytest.mark.parametrize("form", [f for f in FORMS if f not in ("steps.csv", "blanks.csv")])
def test_labels_at_each_step(tmp_path, form):
    """Whatever they lie in: lists, chains, cells with JSON."""
    rows = sentences(60)
    FORMS[form](tmp_path / form, rows)
    found = propose(tmp_path / "p", tmp_path / form)
    x, y = {"named.jsonl": ("sentence", "label"), "last.jsonl": ("source", "goal")}.get(form, ("words", "tags"))
    words = len({w for r in rows for w in r["words"]})
    assert types(found) == {x: f"Class[{words}]", y: 'Class["A", "D", "N", "P", "V"]'} and found["pointers"] == {"input": ["next"], "output": ["next"]}
    assert found["predicts"] == f"{y}, a series of 5 labels" and found["says"] == f"{form}: 60 rows, 2 columns." and not found["left_out"]
    low, high = (f(len(r["tags"]) for r in rows) for f in (min, max))
    assert found["notes"] == [f"{y} is a series of labels: each row has {low}–{high} steps. It is learned from {x}, a series of labels, which is as long in each row."]
    label, k = Counter(t for r in rows for t in r["tags"]).most_common(1)[0]
    assert found["guess"] == f'The most frequent label, "{label}", is {100 * k / sum(len(r["tags"]) for r in rows):.0f} % of the steps.'
    fed = fed_as_proposed(tmp_path / "f", found, tmp_path / form)
    assert fed.ok and fed.profile["examples"]["accepted"] == 60, fed.last
    assert [(a, b) for a, b in zip(fed.examples[x], fed.examples[y])] == [(r["words"], r["tags"]) for r in rows]
    assert fed.profile["target"] == {"kind": "tokens", "labels": ["A", "D", "N", "P", "V"]}


def test_numbers_at_each_step(tmp_path):
    for i, (rows, says) in enumerate(((smoothed(20), "which is as long in each row"), (thinned(20), "and how long an answer is, is learned as well"))):
        table = pa.table({k: [r[k] for r in rows] for k in ("noisy", "clean")})
        pq.write_table(table, tmp_path / "a.parquet")
        feather.write_feather(table, tmp_path / "a.arrow")
        for ending in ("parquet", "arrow"):
            path = tmp_path / f"a.{ending}"
            found = propose(tmp_path / f"p{i}{ending}", path)
            assert types(found) == {"noisy": "Tensor[1]", "clean": "Tensor[1]"} and found["predicts"] == "clean, a series of numbers" and says in found["notes"][0], found
            fed = fed_as_proposed(tmp_path / f"f{i}{ending}", found, path)
            assert fed.ok and fed.profile["examples"]["accepted"] == 20 and fed.profile["target"]["kind"] == "series", fed.last


def test_steps_of_several_numbers(tmp_path):
    """Lists of lists, and the same turned; answers with labels in whole numbers."""
    rng = np.random.default_rng(0)
    lengths = [int(n) for n in rng.integers(5, 12, 30)]
    rows = [{"path": rng.normal(size=(n, 3)).round(3).tolist(), "state": [int(v) for v in rng.integers(0, 3, n)]} for n in lengths]
    turned = [{**r, "path": np.transpose(r["path"]).tolist()} for r in rows]
    for name, table in (("a.jsonl", rows), ("b.jsonl", turned)):
        path = lines(tmp_path / name, table)
        found = propose(tmp_path / f"p{name}", path)
        assert types(found) == {"path": "Tensor[3]", "state": "Class[3]"} and found["fields"][0]["comment"].endswith(f"{min(lengths)}–{max(lengths)} steps"), found
        fed = fed_as_proposed(tmp_path / f"f{name}", found, path)
        assert fed.ok and fed.profile["examples"]["accepted"] == 30 and fed.profile["target"]["labels"] == ["0", "1", "2"] and fed.profile["target"]["numeric"], fed.last


def test_arrays(tmp_path):
    """Text in NPZ is labels; numbers beside it that are as long are the steps they belong to, others one tensor."""
    words = np.array([["a", "b", ""], ["b", "a", "c"]] * 10)
    np.savez(tmp_path / "a.npz", here=words, there=words)
    found = propose(tmp_path / "p1", tmp_path / "a.npz")
    assert types(found) == {"here": "Class[3]", "there": 'Class["a", "b", "c"]'}
    fed = fed_as_proposed(tmp_path / "f1", found, tmp_path / "a.npz")
    assert fed.examples["here"][:2] == [["a", "b"], ["b", "a", "c"]], fed.last
    x = np.random.default_rng(0).normal(size=(20, 3, 2))
    np.savez(tmp_path / "b.npz", signal=x, there=words)
    found = propose(tmp_path / "p2", tmp_path / "b.npz")
    assert types(found) == {"signal": "Tensor[2]", "there": 'Class["a", "b", "c"]'} and found["pointers"] == {"input": ["next"], "output": ["next"]}
    assert fed_as_proposed(tmp_path / "f2", found, tmp_path / "b.npz").profile["examples"]["accepted"] == 20
    np.savez(tmp_path / "c.npz", signal=x, mean=x.mean(axis=1))
    found = propose(tmp_path / "p3", tmp_path / "c.npz", "mean")
    assert types(found) == {"signal": "Tensor[3, 2]", "mean": "Tensor[2]"} and found["pointers"] == {"input": [], "output": []}
    np.savez(tmp_path / "d.npz", words=np.array([["a", "b", "c"]] * 10 + [["c", "a", "b"]] * 10), mean=x[:, :, 0])
    found = propose(tmp_path / "p4", tmp_path / "d.npz", "mean")
    assert types(found) == {"words": "Class[3]", "mean": "Tensor[1]"} and found["pointers"]["output"] == ["next"]
    assert fed_as_proposed(tmp_path / "f4", found, tmp_path / "d.npz", "mean").profile["examples"]["accepted"] == 20


def test_words_in_cells(tmp_path):
    """In a text table only an output that is named, and only where it is made of words that come again, as its input is."""
    rows = sentences(60)
    path = tmp_path / "blanks.csv"
    FORMS["blanks.csv"](path, rows)
    last = propose(tmp_path / "p1", path)
    assert last["type"] == "failed" or last["pointers"]["output"] == []
    found = propose(tmp_path / "p2", path, "tags")
    assert types(found)["tags"] == 'Class["A", "D", "N", "P", "V"]' and found["pointers"] == {"input": ["next"], "output": ["next"]}
    fed = fed_as_proposed(tmp_path / "f2", found, path, "tags")
    assert fed.ok and fed.examples["tags"] == [r["tags"] for r in rows], fed.last
    numbers = tmp_path / "numbers.csv"
    numbers.write_text("noisy,clean\n" + "".join(" ".join("NA" if v is None else str(v) for v in r["noisy"]) + "," + " ".join(map(str, r["clean"])) + "\n" for r in smoothed(20)))
    found = propose(tmp_path / "p3", numbers, "clean")
    assert types(found) == {"noisy": "Tensor[1]", "clean": "Tensor[1]"} and found["fields"][0]["comment"].endswith("missing")
    assert fed_as_proposed(tmp_path / "f3", found, numbers, "clean").profile["examples"]["accepted"] == 20
    flowers = tmp_path / "flowers.csv"
    flowers.write_text("note,petal,kind\n" + "".join(f"seen {i} of {i % 7} days,{i % 9}.5,{('Iris setosa', 'Iris virginica')[i % 2]}\n" for i in range(40)))
    found = propose(tmp_path / "p4", flowers, "kind")
    assert types(found) == {"note": "Class[1000]", "petal": "Tensor[1]", "kind": 'Class["Iris setosa", "Iris virginica"]'} and found["pointers"]["output"] == []


def test_what_stands_beside_is_left_out(tmp_path):
    rows = [{"id": i, "patient_id": f"p{i % 9}", "day": f"2024-01-{1 + i % 28:02}", "vector": [1.0, 2.5, i], "site": "north", **r} for i, r in enumerate(reversed_letters(40))]
    rows[3]["there"], rows[4]["there"], rows[5]["there"] = None, [], ["a", None]
    path = lines(tmp_path / "a.jsonl", rows)
    found = propose(tmp_path / "p", path)
    assert types(found)["here"] == "Class[8]" and found["clauses"] == ["with group = patient_id", "with order = day"]
    assert {c["column"]: c["reason"] for c in found["left_out"]} == {
        "id": "beside a series there can be no other input", "patient_id": "9 different values: rows of one must not stand on both sides of the test", "day": "dates",
        "vector": "beside a series there can be no other input", "site": "beside a series there can be no other input"}
    assert found["fields"][1]["comment"].endswith("steps, 3 rows lack steps: they are not taken")
    fed = fed_as_proposed(tmp_path / "f", found, path, group="patient_id")
    assert fed.ok and fed.profile["examples"]["accepted"] == 37, fed.last


def test_many_labels(tmp_path):
    """More labels than a cell should show are counted; those that come once are warned of."""
    rows = [{"words": [f"w{(7 * i + k) % 90}" for k in range(5)], "code": [f"c{(3 * i + k) % 50}" for k in range(5 + i % 2)]} for i in range(60)]
    rows[0]["code"] = [f"rare{k}" for k in range(60)]
    path = lines(tmp_path / "a.jsonl", rows)
    found = propose(tmp_path / "p", path)
    assert types(found) == {"words": "Class[90]", "code": "Class[110]"} and found["fields"][1]["comment"].startswith("c0, c1, c10 …")
    assert found["notes"][1] == "! 60 of 110 labels of code come only once: what comes once can't be learned and tested."
    assert fed_as_proposed(tmp_path / "f", found, path).profile["examples"]["accepted"] == 60


def test_a_series_alone_is_an_input(tmp_path):
    """Numbers in a time series archive, chains, and words: of unequal length, with one label a row."""
    archive = tmp_path / "waves.ts"
    archive.write_text("@timestamps false\n@classlabel true slow fast\n@data\n" + "".join(",".join(map(str, v)) + f":{k}\n" for v, k in waves(30)))
    chains = lines(tmp_path / "waves.jsonl", [{"id": i, **chain(("value", v)), "label": k} for i, (v, k) in enumerate(waves(30))])
    words = lines(tmp_path / "words.jsonl", [{"words": r["words"], "kind": "ab"[r["tags"][1] == "N"]} for r in sentences(40)])
    for path, x, type_ in ((archive, "series", "Tensor[1]"), (chains, "value", "Tensor[1]"), (words, "words", "Class[32]")):
        found = propose(tmp_path / f"p{path.name}", path)
        assert types(found)[x] == type_ and found["pointers"] == {"input": ["next"], "output": []} and found["notes"][0].startswith(f"{x} is a series: each row has "), found
        fed = fed_as_proposed(tmp_path / f"f{path.name}", found, path)
        assert fed.ok and fed.profile["examples"]["rejected"] == 0, fed.last


@pytest.mark.parametrize("rows,output,message", [
    ([{"x": i % 5, "y": [i, 2, 3][:1 + i % 3]} for i in range(30)], (), "y of a.jsonl has a series in each row (1–3 steps), and no other column has one"),
    ([{"x": ["a", "b"][:1 + i % 2], "y": ["n"] * (1 + i % 3)} for i in range(30)], (), 'y of a.jsonl bears "n" at every step'),
    ([{"x": ["a", "b"][:1 + i % 2], "z": 0, "y": ["n", "m"][:1 + i % 2]} for i in range(30)], ("y", "z"), "A series as output has one field"),
    ([{"x": ["a", "b"], "y": ["n"] if i % 2 else 3} for i in range(30)], (), "y of a.jsonl has lists in some rows only"),
    ([{"x": ["a", "b"], "y": [["n"], {"m": 1}]} for i in range(30)], (), "y of a.jsonl has lists that make no series"),
    ([{"x": i % 5, "y": t} for i, t in enumerate(trees(30))], (), "y of a.jsonl has objects that make no series")])
def test_what_nothing_is_proposed_for(tmp_path, rows, output, message):
    last = propose(tmp_path / "p", lines(tmp_path / "a.jsonl", rows), *output)
    assert last["type"] == "failed" and last["message"].startswith(message) and last["kind"] == "data" and last["hint"], last


def test_trees_and_arrays_of_other_orders(tmp_path):
    """The pointers of trees are found by what their objects hold; channels that come first and cells of text are no series."""
    rng = np.random.default_rng(0)

    def tree(depth: int):
        return None if not depth or rng.random() < 0.2 else {"value": [float(rng.normal()), 1.0], "left": tree(depth - 1), "right": tree(depth - 1)}
    path = tmp_path / "trees.jsonl"
    path.write_text("\n".join(json.dumps({**(tree(4) or {"value": [0.0, 0.0], "left": None, "right": None}), "who": f"w{i % 9}", "label": "ab"[i % 2]}) for i in range(40)))
    found = propose(tmp_path / "1", path)
    assert types(found) == {"value": "Tensor[2]", "label": 'Class["a", "b"]'} and found["pointers"] == {"input": ["left", "right"], "output": []}
    assert found["left_out"] == [{"column": "who", "reason": "a tree is learned alone"}]
    np.savez(tmp_path / "first.npz", X=rng.integers(0, 255, (40, 3, 16, 16)).astype(np.uint8), y=np.arange(40) % 2)
    assert any("channels of X seem to come first" in note for note in propose(tmp_path / "2", tmp_path / "first.npz")["notes"])
    import scipy.io
    scipy.io.savemat(tmp_path / "m.mat", {"X": rng.normal(size=(40, 8)), "name": np.array([f"n{i}" for i in range(40)], dtype=object)[:, None], "kind": np.array(["a", "b"] * 20, dtype=object)[:, None]})
    found = propose(tmp_path / "3", tmp_path / "m.mat")
    assert types(found) == {"x": "Tensor[8]", "kind": 'Class["a", "b"]'} and found["left_out"] == [{"column": "name", "reason": "different in every row"}]
