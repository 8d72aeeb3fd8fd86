"""Series and masks as outputs, from the cell to the file: what infer answers on the test part is the figure that best shows."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

from test_recovery import scenes
from test_refine import lab  # noqa: F401  the fixture
from test_series import lines
from translations import sentences


def held_out(lab, task: str) -> list[int]:  # noqa: F811
    """The rows of the test part, as the file counts them."""
    return [e["row"] for e in lab.ask(f"/tasks/ME/{task}/examples?part=test")[0]]


@pytest.mark.models
def test_tags_of_words(lab):  # noqa: F811
    rows = sentences(150)
    lines(lab.folder / "fed.jsonl", rows)
    out = lab.run('schema t { input: {[words :: Class[60]], [next]}, output: {[tags :: Class["D", "A", "N", "V", "P"]], [next]} }\n'
                  'feed t "fed.jsonl"\nwait t until quality >= 0.9 or 4m; stop t')
    assert "series, one of 60 classes a step → series, one of 5 classes: D, A, N, V, P a step (series translation)" in " ".join(out.split()), out
    assert "quality: share of right labels in the series, what is missing or too much counting as wrong, since a label is answered at each step" in " ".join(out.split()), out
    held = held_out(lab, "t")
    assert len(held) == 30
    lines(lab.folder / "new.jsonl", [{"words": rows[i - 1]["words"]} for i in held])
    out = lab.run('best t; infer t "new.jsonl" into "answers.csv"; infer t "new.jsonl" into "answers.jsonl"; print t.test')
    with open(lab.folder / "answers.csv") as f:
        table = list(csv.DictReader(f))
    answers = [json.loads(line)["tags"] for line in (lab.folder / "answers.jsonl").read_text().splitlines()]
    assert [json.loads(r["words"]) for r in table] == [rows[i - 1]["words"] for i in held] and [json.loads(r["tags"]) for r in table] == answers
    places = [(a, b) for i, said in zip(held, answers) for a, b in zip(rows[i - 1]["tags"], said)]
    share = sum(a == b for a, b in places) / len(places)
    assert all(len(said) == len(rows[i - 1]["tags"]) for i, said in zip(held, answers)) and share > 0.9
    assert float(out.splitlines()[-1]) == pytest.approx(share, abs=1e-6) and f"of the labels right on the test part: 30 examples" in " ".join(out.split()), out
    assert "Mistakes:" in out and "Guessing: " in out
    assert "a whole series, which can't be corrected in a word" in " ".join(lab.run('refine t 3 as "N"', status=1).split())
    assert "only be learned" not in lab.run("refine t show 1; models t; why t; watch t")


@pytest.mark.models
def test_masks_of_photos(lab):  # noqa: F811
    photo, mask = scenes(120)
    np.savez(lab.folder / "fed.npz", photo=photo, mask=mask)
    out = lab.run('schema m { input: {[photo :: Tensor[12, 12, 1]], []}, output: {[mask :: Tensor[12, 12, 1]], []} }\nfeed m "fed.npz"\n'
                  "wait m until quality >= 0.8 or 4m; stop m")
    assert "mask has 2 different values (0, 255): each pixel is read as one of 2 classes" in " ".join(out.split()) and "since each pixel is one of some classes" in " ".join(out.split()), out
    held = held_out(lab, "m")
    np.savez(lab.folder / "new.npz", photo=photo[held])
    out = lab.run('best m; infer m "new.npz" into "answers.jsonl"; print m.test')
    answers = np.array([json.loads(line)["mask"] for line in (lab.folder / "answers.jsonl").read_text().splitlines()])
    truth = mask[held].reshape(len(held), -1)
    overlap = np.mean([np.sum((answers == c) & (truth == c)) / np.sum((answers == c) | (truth == c)) for c in (0, 255)])
    assert float(out.splitlines()[-1]) == pytest.approx(overlap, abs=1e-6) and "overlap " in out and overlap > 0.8, out


def test_what_can_not_be_learned_is_said_at_once(lab):  # noqa: F811
    lines(lab.folder / "trees.jsonl", [{"value": [1, 2], "left": None, "right": None, "out": {"x": [1], "left": None, "right": None}}] * 5)
    out = lab.run("schema r { input: {[Tensor[2]], [left, right]}, output: {[out :: Tensor[1]], [left, right]} }")
    assert "no candidates for such an output: what can be learned is a label, numbers, a picture of a picture, a series of a series" in " ".join(out.split())
    said = " ".join(lab.run('feed r "trees.jsonl"', status=1).split())
    assert "Trees as output can't be learned: outputs are a label, numbers, a picture, or a series of labels or numbers." in said and "Declare what is wanted of it" in said
    assert "iou" in lab.run("schema r { input: {[Tensor[2]], []}, output: {[y :: Class[2]], []} } with metric = overlap", status=1)
