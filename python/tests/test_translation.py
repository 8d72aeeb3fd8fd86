"""Series as outputs: every form they come in, what becomes of odd ones, and candidates that learn them; answers bear the labels as they were fed."""

from __future__ import annotations

import copy
import json
import random

import numpy as np
import pytest

from folders import choose, feed, result, study, trial, version
from test_series import lines
from translations import LETTERS, NUMBERS, TAGGING, reversed_letters, sentences, smoothed, spelled_out, thinned

OPEN = {"input": {"fields": [{"tensor": [3]}], "pointers": ["next"]}, "output": {"fields": [{"tensor": [3]}], "pointers": ["next"]}}


def chain(*columns: tuple[str, list]) -> dict | None:
    """Objects that point to the next one, each with a value of every column."""
    node = None
    for values in reversed(list(zip(*(v for _, v in columns)))):
        node = {**dict(zip((name for name, _ in columns), values)), "next": node}
    return node


def _parquet(path, rows):
    import pyarrow as pa
    import pyarrow.parquet as pq
    pq.write_table(pa.table({"words": [r["words"] for r in rows], "tags": [r["tags"] for r in rows]}), path)


FORMS = {
    "arrays.jsonl": lambda p, rows: lines(p, rows),
    "whole.json": lambda p, rows: p.write_text(json.dumps(rows)),
    "joint.jsonl": lambda p, rows: lines(p, [chain(("words", r["words"]), ("tags", r["tags"])) for r in rows]),
    "inner.jsonl": lambda p, rows: lines(p, [{"words": chain(("words", r["words"])), "tags": chain(("tags", r["tags"]))} for r in rows]),
    "mixed.jsonl": lambda p, rows: lines(p, [{**chain(("words", r["words"])), "tags": r["tags"]} for r in rows]),
    "steps.csv": lambda p, rows: p.write_text("id,words,tags\n" + "".join(f"{i},{w},{t}\n" for i, r in enumerate(rows) for w, t in zip(r["words"], r["tags"]))),
    "blanks.csv": lambda p, rows: p.write_text("words,tags\n" + "".join(" ".join(r["words"]) + "," + " ".join(r["tags"]) + "\n" for r in rows)),
    "json.tsv": lambda p, rows: p.write_text("words\ttags\n" + "".join(f"{json.dumps(r['words'])}\t{json.dumps(r['tags'])}\n".replace('"', '""').replace("[", '"[').replace("]", ']"') for r in rows)),
    "list.parquet": _parquet,
    "named.jsonl": lambda p, rows: lines(p, [{"sentence": r["words"], "label": r["tags"]} for r in rows]),
    "last.jsonl": lambda p, rows: lines(p, [{"source": r["words"], "goal": r["tags"]} for r in rows]),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_same_series_come_out_of_every_form(tmp_path, form):
    rows = sentences(30)
    FORMS[form](tmp_path / form, rows)
    fed = feed(tmp_path / "1", TAGGING, tmp_path / form, options={"series": "id"} if form == "steps.csv" else {})
    assert fed.ok and fed.profile["examples"]["accepted"] == 30, (fed.last, fed.rejects[:2] if fed.ok else "")
    assert [(a, b) for a, b in zip(fed.examples["words"], fed.examples["tags"])] == [(r["words"], r["tags"]) for r in rows]
    assert fed.profile["target"] == {"kind": "tokens", "labels": ["D", "A", "N", "V", "P"]} and fed.profile["aligned"] is True
    assert fed.profile["metric"]["name"] == "token_accuracy" and fed.profile["metric"]["reason"].startswith("since ")
    again = feed(tmp_path / "2", TAGGING, tmp_path / form, options={"series": "id"} if form == "steps.csv" else {}, target=fed.profile["target"], known=fed.known(), first_number=31)
    assert again.profile["examples"]["known"] == len({json.dumps(r) for r in rows}) or again.profile["examples"]["known"] == 30


def test_arrays_and_numbers(tmp_path):
    x = np.random.default_rng(0).normal(size=(20, 7, 3))
    np.savez(tmp_path / "a.npz", X=x, y=x * 2)
    fed = feed(tmp_path / "1", OPEN, tmp_path / "a.npz")
    assert fed.profile["target"] == {"kind": "series", "labels": []} and np.array_equal(np.array(fed.examples["output"][3]).reshape(7, 3), 2 * x[3]), fed.last
    words = np.array([["a", "b", ""], ["b", "a", "c"]] * 10)
    np.savez(tmp_path / "b.npz", here=words, there=words)
    fed = feed(tmp_path / "2", LETTERS, tmp_path / "b.npz")
    assert fed.examples["there"][:2] == [["a", "b"], ["b", "a", "c"]] and fed.profile["target"]["labels"] == ["a", "b", "c"]
    (tmp_path / "c.csv").write_text("noisy,clean\n" + "1 2 3,1.5 2 2.5\n4;5,1\n" + "5 NA 6,5 5.5 6\n" * 3)
    fed = feed(tmp_path / "3", NUMBERS, tmp_path / "c.csv")
    assert fed.profile["examples"]["accepted"] == 4 and fed.rejects[0]["line"] == 3 and fed.examples["clean"][0] == [1.5, 2, 2.5], fed.rejects
    assert np.isnan(fed.examples["noisy"][1][1])


@pytest.mark.parametrize("step,kind,labels", [([0.5, 1, 2], "series", []), ([0, 1, 0], "tokens", ["0", "1", "2"]), ("b", "tokens", ["a", "b"]), (2, "tokens", ["0", "1", "2"])])
def test_the_first_feed_decides_what_a_step_bears(tmp_path, step, kind, labels):
    """Real numbers stay numbers; one 1 a step, labels, and whole numbers are labels."""
    other = {"b": "a", 2: 0}.get(step if not isinstance(step, list) else None, [1, 0, 0])
    rows = [{"input": [[1, 2, i]] * 4, "output": [step, other, step, step]} for i in range(20)]
    fed = feed(tmp_path / "1", OPEN, lines(tmp_path / "a.jsonl", rows))
    assert fed.ok and fed.profile["target"]["kind"] == kind and fed.profile["target"]["labels"] == labels, fed.last
    assert fed.profile["target"].get("numeric", False) == (step == 2)
    wrong = feed(tmp_path / "2", OPEN, lines(tmp_path / "b.jsonl", [{"input": [[1, 2, 3]], "output": [["0.25", 1, 1]] if kind == "tokens" and not isinstance(step, list) else ["x"]}]),
                 target=fed.profile["target"], known=fed.known(), first_number=21)
    assert not wrong.ok or wrong.rejects


def test_odd_series_are_rejected_one_by_one(tmp_path):
    good = sentences(40)
    odd = [{"words": ["the"], "tags": []}, {"words": ["the"]}, {"words": [], "tags": ["D"]}, {"words": ["the", "dog"], "tags": ["D", None]}, {"words": ["the"], "tags": ["X"]},
           {"words": [["the"]], "tags": ["D"]}, {"words": "the", "tags": 3}, {"words": ["dog", None, "sees"], "tags": ["N", "D", "V"]}]
    fed = feed(tmp_path / "1", TAGGING, lines(tmp_path / "a.jsonl", good + odd))
    assert [(r["line"], r["column"], r["reason"]) for r in fed.rejects] == [
        (41, "tags", "tags has no steps"), (42, "tags", "tags is missing"), (43, "words", "words has no steps"), (44, "tags", "step 2: tags is missing"),
        (45, "tags", 'step 1: tags "X", but there are "D", "A", "N", "V", "P"'), (46, "words", "words has a step that is no label"), (47, "tags", "tags is no list of labels")]
    assert all(r["remedy"] for r in fed.rejects) and fed.examples["words"][-1] == ["dog", None, "sees"]
    words = feed(tmp_path / "4", OPEN, lines(tmp_path / "d.jsonl", [{"input": ["the", "dog"], "output": ["D", "N"]}] + [{"input": [[1, 2, 3]], "output": ["D"]}]))
    assert [(r["reason"], r["remedy"]) for r in words.rejects] == [("input bears labels, but its steps are Tensor[3]", "declare it input :: Class[…]")]
    (tmp_path / "e.csv").write_text("id,x,y,z,output\n" + "".join(f"{i},{i},{t},0,{'DNV'[t]}\n" for i in range(5) for t in range(3)))
    steps = feed(tmp_path / "5", OPEN, tmp_path / "e.csv", options={"series": "id"})
    assert steps.ok and steps.profile["target"] == {"kind": "tokens", "labels": ["D", "N", "V"]} and steps.examples["output"] == [["D", "N", "V"]] * 5, steps.last
    gap = feed(tmp_path / "2", NUMBERS, lines(tmp_path / "b.jsonl", [{"noisy": [1, 2], "clean": [1, None]}] + smoothed(5)))
    assert gap.rejects[0]["reason"] == "clean has a step missing"
    (tmp_path / "c.csv").write_text("noisy,clean\n1,1\n2,2\n")
    said = feed(tmp_path / "3", NUMBERS, tmp_path / "c.csv").last
    assert said["message"] == "c.csv: noisy has one step a row, and nothing says which rows make one series." and "with series = COLUMN" in said["hint"]


@pytest.mark.parametrize("change,says", [
    (lambda p: p["output"].update(pointers=["left", "right"]), "Trees as output can't be learned: outputs are a label, numbers, a picture, or a series of labels or numbers."),
    (lambda p: p["output"].update(pointers=["a", "b", "c"]), "Graphs as output can't be learned"),
    (lambda p: p["input"].update(pointers=["left", "right"]), "A series as output is learned from a series as input; here the input is trees."),
    (lambda p: p["input"].update(pointers=[]), "A series as output is learned from a series as input; here the input is no series."),
    (lambda p: p["output"]["fields"].append({"name": "more", "tensor": [2]}), "A series as output has one field"),
    (lambda p: p["output"]["fields"].__setitem__(0, {"name": "clean", "tensor": [4, 4]}), "A series as output has one field"),
])
def test_what_can_not_be_learned_is_one_sentence(tmp_path, change, says):
    prog = copy.deepcopy(NUMBERS)
    change(prog)
    last = feed(tmp_path / "1", prog, lines(tmp_path / "a.jsonl", smoothed(5))).last
    assert last["type"] == "failed" and last["kind"] == "unsupported" and last["message"].startswith(says) and last["hint"], last


CASES = {
    "tagging": (TAGGING, sentences, {"series-nearest.k1": 0.4, "places-linear.r1": 0.95, "places-neighbours.r2": 0.8}),
    "reversing": (LETTERS, reversed_letters, {"places-lightgbm.r3": 0.9}),
    "spelling": (LETTERS, spelled_out, {"places-linear.r2.p2": 0.6, "series-nearest.k5": 0.25}),
    "smoothing": (NUMBERS, smoothed, {"places-linear.r4": 0.65, "series-nearest.k5": 0.5}),
    "thinning": (NUMBERS, thinned, {"places-linear.r1": 0.95, "places-trees.r3": 0.7}),
}


@pytest.mark.parametrize("case", CASES)
def test_candidates_learn_and_answer(tmp_path, case):
    """Each beats the guess clearly; what infer gives on held-out rows is the figure of the test part."""
    from easeml.trainer.predict import Predictor
    from easeml.trainer.runner import run
    prog, make, wanted = CASES[case]
    rows = make(80)
    (output,) = (f["name"] for f in prog["output"]["fields"])
    fed = feed(tmp_path / "1", prog, lines(tmp_path / "a.jsonl", rows))
    offered = choose(fed, prog)
    assert "dummy" in offered and set(wanted) <= set(offered) and sum(id.startswith("places") for id in offered) == 7
    data = version(tmp_path / "data", fed)
    got = {}
    for id in {**wanted, "dummy": 0.0}:
        folder = trial(tmp_path / id, fed, data, prog, offered[id])
        assert run(folder) == 0
        got[id] = result(folder)
        assert got[id]["outcome"] == "ok", (id, got[id].get("message"))
        low, high = got[id]["quality_interval"]
        assert got[id]["quality"] >= wanted.get(id, 0.0) and low <= got[id]["quality"] <= high, (id, got[id]["quality"])
    assert got["dummy"]["test"]["quality"] == pytest.approx(got["dummy"]["test"]["metrics"]["guess"], abs=0.02)
    test = [i for i, part in enumerate(fed.index["part"]) if part == "test"]
    asked = lines(tmp_path / "new.jsonl", [{k: v for k, v in rows[i].items() if k != output} for i in test] + [{"other": 1}])
    best = max(wanted, key=lambda id: got[id]["quality"])
    out = tmp_path / "answers.ndjson"
    reply = Predictor(tmp_path / best / "model").reply(json.dumps({"id": 1, "sources": [{"name": "new.jsonl", "path": str(asked)}], "out": str(out)}).encode())
    assert reply["done"]["answers"] == len(test) and reply["done"]["refused"] == 1, reply
    answers = [json.loads(line) for line in out.read_text().splitlines()]
    assert [a["row"] for a in answers] == list(range(1, len(test) + 2)) and answers[-1]["refused"]["reason"].endswith("is missing")
    truths, said = [rows[i][output] for i in test], [a["answer"][output] for a in answers[:-1]]
    places = [(t[k] if k < len(t) else None, s[k] if k < len(s) else None) for t, s in zip(truths, said) for k in range(max(len(t), len(s)))]
    if fed.profile["target"]["kind"] == "tokens":
        share = sum(t == s for t, s in places) / len(places)
        assert share == pytest.approx(got[best]["test"]["metrics"]["token_accuracy"]) and all(0 < a["sure"] <= 1 for a in answers[:-1])
    else:
        off = np.mean([abs(t - s) for t, s in places])
        assert off == pytest.approx(got[best]["test"]["metrics"]["mae"], rel=1e-4) and all(a["sure"] is None for a in answers[:-1])


def test_labels_come_out_as_they_went_in(tmp_path):
    """Whole numbers come back as numbers, text as text; a word that was never fed is answered, and it is said where there are many."""
    from easeml.trainer.predict import Predictor
    from easeml.trainer.runner import run
    for i, (label, numeric) in enumerate((({"D": 1, "A": 2, "N": 3, "V": 40, "P": 5}, True), ({"D": "01", "A": "02", "N": "é ü", "V": "v", "P": "5"}, False))):
        prog = copy.deepcopy(TAGGING)
        prog["output"]["fields"][0] = {"name": "tags", "class_count": 5}
        rows = [{"words": r["words"], "tags": [label[t] for t in r["tags"]]} for r in sentences(60)]
        fed = feed(tmp_path / f"{i}f", prog, lines(tmp_path / f"{i}.jsonl", rows))
        assert fed.profile["target"].get("numeric", False) is numeric and set(fed.profile["target"]["labels"]) == {str(v) for v in label.values()}
        folder = trial(tmp_path / f"{i}t", fed, version(tmp_path / f"{i}d", fed), prog, choose(fed, prog)["places-linear.r1"])
        assert run(folder) == 0 and result(folder)["quality"] > 0.9
        asked = lines(tmp_path / f"{i}n.jsonl", [{"words": ["the", "zyzzyva", "sees", "a", "cat"]}] * 40)
        out = tmp_path / f"{i}o"
        reply = Predictor(folder / "model").reply(json.dumps({"id": 1, "sources": [{"name": "n.jsonl", "path": str(asked)}], "out": str(out)}).encode())
        first = json.loads(out.read_text().splitlines()[0])["answer"]["tags"]
        assert first == [label[t] for t in "DNVDN"], reply
        assert reply["done"]["drift"][0]["message"] == "words has values that were never fed, in 20 % of the steps"
        asked = {"id": 2, "sources": [{"name": "n.jsonl", "path": str(asked)}], "out": str(out), "options": {"probabilities": "on"}}
        reply = Predictor(folder / "model").reply(json.dumps(asked).encode())
        assert reply["failed"]["message"] == "Probabilities are told where one label is answered; here it is a whole series."


@pytest.mark.parametrize("n", [1, 2, 7])
def test_few_examples(tmp_path, n):
    """One example can't be held out, which is said; with two and more candidates are compared by turns."""
    from easeml.trainer.runner import run
    fed = feed(tmp_path / "1", TAGGING, lines(tmp_path / "a.jsonl", sentences(n)))
    assert fed.ok and fed.profile["examples"]["accepted"] == n
    data, offered = version(tmp_path / "data", fed), choose(fed, TAGGING)
    for id in offered:
        run(trial(tmp_path / id, fed, data, TAGGING, offered[id]))
        got = result(tmp_path / id)
        assert got["outcome"] == "ok" if n > 1 else got["kind"] == "data" and "too small" in got["message"], (id, got)


def test_rescored_and_studied(tmp_path):
    """A model is scored on another version, with folds by what it answered out of fold; what it uses is told, one example is not."""
    from easeml.trainer.predict import Predictor
    from easeml.trainer.runner import run
    fed = feed(tmp_path / "1", TAGGING, lines(tmp_path / "a.jsonl", sentences(80)))
    data, offered = version(tmp_path / "data", fed), choose(fed, TAGGING)
    folder = trial(tmp_path / "t", fed, data, TAGGING, offered["places-linear.r1"])
    assert run(folder) == 0
    whole = result(folder)
    scored = Predictor(folder / "model").rescore({"data": {"path": str(data), "protocol": fed.profile["protocol"]}})
    assert scored["test"] == whole["test"] and scored["validation"]["quality"] == whole["quality"]
    found = study(tmp_path / "e", "explain", fed, data, TAGGING, [], model=str(folder / "model"))
    assert found["measure"] == "places" and found["uses"][0]["name"] == "words" and found["uses"][0]["beyond"]
    assert "whole series" in study(tmp_path / "o", "explain", fed, data, TAGGING, [], model=str(folder / "model"), example=1)["message"]
    assert "one label or one number" in study(tmp_path / "s", "suspects", fed, data, TAGGING, [offered["places-linear.r1"]])["message"]


def test_a_network_goes_on_from_its_checkpoint(tmp_path):
    pytest.importorskip("torch")
    from easeml.trainer.runner import run
    fed = feed(tmp_path / "1", LETTERS, lines(tmp_path / "a.jsonl", spelled_out(400)))
    data, offered = version(tmp_path / "data", fed), choose(fed, LETTERS)
    assert offered["series-gru"]["requires"] == ["torch", "safetensors"]
    assert run(trial(tmp_path / "1t", fed, data, LETTERS, offered["series-gru"], limits={"steps": 3})) == 0
    assert run(trial(tmp_path / "2t", fed, data, LETTERS, offered["series-gru"], limits={"steps": 5}, resume="../1t/checkpoint")) == 0
    got = result(tmp_path / "2t")
    assert got["outcome"] == "ok" and got["steps"] == 5 and [p[0] for p in got["curve"]] == [1, 2, 3, 4, 5] and got["quality"] > 0.4, got


def test_labels_as_inputs_of_one_label(tmp_path):
    """A series of labels as input of a classification: the same candidates as for numbers."""
    from easeml.trainer.runner import run
    prog = {"input": {"fields": [{"name": "word", "class_count": 4}], "pointers": ["next"]}, "output": {"fields": [{"name": "kind", "classes": ["few", "many"]}], "pointers": []}}
    rng = random.Random(0)
    rows = [{"word": rng.choices("abcd", [8 if i % 2 else 1, 2, 2, 2], k=rng.randint(8, 16)), "kind": ["few", "many"][i % 2]} for i in range(100)]
    fed = feed(tmp_path / "1", prog, lines(tmp_path / "a.jsonl", rows))
    assert fed.ok and fed.profile["fields"][0]["kind"] == "series", fed.last
    offered = choose(fed, prog)
    for id in ("series-logistic.c1", "series-knn.k5", "rocket.500"):
        folder = trial(tmp_path / id, fed, version(tmp_path / ("d" + id), fed), prog, offered[id])
        assert run(folder) == 0 and result(folder)["quality"] > 0.7, result(folder)
