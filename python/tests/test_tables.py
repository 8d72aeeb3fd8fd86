"""Tables in every kind of file: the same rows come out, whatever they lay in; and what `infer` answers is the same too."""

from __future__ import annotations

import json

import numpy as np
import pytest

from easeml.trainer.convert import day_of
from folders import choose, feed, trial, version
from tables import KINDS, PLANTS, make, plants


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_rows_come_out_of_every_kind(tmp_path, kind):
    rows = plants()
    fed = feed(tmp_path / "1", PLANTS, make(tmp_path, kind, rows))
    assert fed.ok, fed.last
    assert fed.profile["examples"] == {"read": 80, "accepted": 80, "known": 0, "rejected": 0}, fed.rejects[:3]
    nan = lambda v: float("nan") if v is None else v  # noqa: E731
    assert np.array_equal(np.array(fed.examples["height"])[:, 0], np.array([nan(r["Height"]) for r in rows]), equal_nan=True)
    assert [v[0] for v in fed.examples["leaves"]] == [r["leaves"] for r in rows]
    assert fed.examples["color"] == [r["color"] for r in rows]
    assert [v[0] for v in fed.examples["seen"]] == [day_of(r["seen"]) for r in rows]
    assert [v[0] for v in fed.examples["wild"]] == [float(r["wild"]) for r in rows]
    assert fed.index["label"] == [r["kind"] for r in rows]
    assert fed.profile["target"] == {"kind": "classes", "labels": ["oak", "elm"]}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model of the plants."""
    from easeml.trainer.predict import Predictor
    from easeml.trainer.runner import run
    folder = tmp_path_factory.mktemp("model")
    fed = feed(folder / "1", PLANTS, make(folder, "plants.parquet", plants()))
    candidate = choose(fed, PLANTS)["logistic.c1"]
    run(trial(folder / "trial", fed, version(folder / "data", fed), PLANTS, candidate))
    return Predictor(folder / "trial" / "model")


@pytest.mark.parametrize("kind", KINDS)
def test_infer_answers_the_same_from_every_kind(tmp_path, model, kind):
    rows = plants(30, seed=1)
    path, out = make(tmp_path, kind, rows), tmp_path / "answers.ndjson"
    reply = model.reply(json.dumps({"id": 1, "sources": [{"name": path.name, "path": str(path)}], "out": str(out)}).encode())
    assert reply.get("done", {}).get("answers") == 30, reply
    answers = [json.loads(line) for line in out.read_text().splitlines()]
    right = sum(a["answer"]["kind"] == r["kind"] for a, r in zip(answers, rows))
    assert right >= 28
    if "values" in answers[0]:  # arrays are not echoed
        assert list(answers[0]["values"]) == ["Height", "leaves", "color", "seen", "wild", "kind"]
        assert answers[5]["values"]["Height"] == "" and answers[0]["values"]["kind"] == "oak"
        assert answers[1]["values"]["leaves"] == str(rows[1]["leaves"])


def test_what_was_found_out_is_said(tmp_path):
    rows = plants()
    said = {kind: "; ".join(feed(tmp_path / str(i), PLANTS, make(tmp_path, kind, rows)).profile["read_as"])
            for i, kind in enumerate(["semicolon.csv", "titled.csv", "titled.xlsx", "plants.sav", "comma.csv"])}
    assert "separated by semicolons" in said["semicolon.csv"] and "decimal commas" in said["semicolon.csv"]
    assert "names of the columns are in row 3" in said["titled.csv"] and "names of the columns are in row 3" in said["titled.xlsx"]
    assert "value labels of color, kind are used" in said["plants.sav"]
    assert "seen is read as dates: days since 1970-01-01 (UTC)" in said["comma.csv"]
    assert "wild is read as 1 for true and 0 for false" in said["comma.csv"]
