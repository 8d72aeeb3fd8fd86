"""`infer` finds in a file what `feed` found in such a file: the same columns fill the same fields, whatever else stands beside them."""

from __future__ import annotations

import json
import subprocess

import numpy as np
import pytest

import private
from private import BINARY
from folders import program, write_csv
from easeml.trainer.fault import Fault
from easeml.trainer.matching import match
from easeml.trainer.program import parse_program
from easeml.trainer.readers import Options, open_source

TWO = program([{"name": "", "tensor": [2]}], [{"name": "state", "class_count": 2}])
NAMED = program([{"name": "x", "tensor": [1]}], [{"name": "kind", "class_count": 2}])
ROW = {"plant": "p1", "replicate": 3, "height": 20.5, "leaves": 5, "state": "ok"}


def bound(tmp_path, prog: dict, row: dict, fed: dict) -> list[tuple]:
    path = write_csv(tmp_path / "new.csv", [row] * 3)
    inputs, outputs, _ = match(parse_program(prog), open_source("new.csv", path, Options({})), using={}, output=[], ignore=[], with_outputs=False, fed=fed)
    return [b.columns for b in inputs + outputs]


@pytest.mark.parametrize("columns", [["plant", "replicate", "height", "leaves", "state"], ["leaves", "height"], ["state", "leaves", "plant", "height"]])
def test_columns_are_those_that_were_fed(tmp_path, columns):
    assert bound(tmp_path, TWO, {c: ROW[c] for c in columns}, {"input": ["height", "leaves"]})[0] == ("height", "leaves")


def test_not_others_in_their_place(tmp_path):
    with pytest.raises(Fault, match="new.csv has no column height"):
        bound(tmp_path, TWO, {"leaves": 5, "width": 3}, {"input": ["height", "leaves"]})
    assert bound(tmp_path, TWO, {"a": 5, "b": 3}, {"input": ["height", "leaves"]}) == [("a", "b")]  # another file's names: by their order
    assert bound(tmp_path, NAMED, {"x": 1, "X2": 2, "species": "a"}, {"x": ["X2"], "kind": ["species"]}) == [("X2",), ("species",)]
    assert bound(tmp_path, NAMED, {"x": 1, "kind": "a"}, {"x": ["X2"]}) == [("x",), ("kind",)]


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    home = tmp_path_factory.mktemp("asked")
    rng = np.random.default_rng(0)
    plants = [{"plant": f"p{i // 4}", "replicate": i % 4, "height": round(float(rng.normal(20 + 9 * (i // 4 % 2), 1)), 2), "leaves": int(rng.integers(4, 9)), "verdict": ["ok", "sick"][i // 4 % 2]} for i in range(160)]
    write_csv(home / "plants.csv", plants)
    write_csv(home / "turned.csv", [dict(reversed(r.items())) for r in plants])
    write_csv(home / "gaps.csv", [{"height": 20, "leaves": "gone"}, {"height": "tall", "leaves": 5}])
    steps = [{"star": f"s{i}", "time": 0.5 * t, "flux": round(float(np.sin(t * (0.3 + i % 2))), 3), "kind": "ab"[i % 2]} for i in range(40) for t in range(20 + i % 7)]
    write_csv(home / "stars.csv", steps)
    words = [{"sent": i, "word": w, "tag": {"the": "D", "dog": "N", "runs": "V"}[w]} for i in range(40) for w in rng.choice(["the", "dog", "runs"], 3 + i % 4)]
    write_csv(home / "words.csv", words)
    text = '''
schema plants { input: {[Tensor[2]], []}, output: {[state :: Class[2]], []} }
feed plants "plants.csv" output verdict with group = plant, ignore = replicate, missing = gone
schema stars { input: {[flux :: Tensor[1]], [next]}, output: {[kind :: Class[2]], []} }
feed stars "stars.csv" with series = star
schema words { input: {[token :: Class[5]], [next]}, output: {[tags :: Class[3]], [next]} }
feed words "words.csv" using token = word, tags = tag with series = sent
wait plants until trials >= 1 or 2m
wait stars until trials >= 1 or 2m
wait words until trials >= 1 or 2m
infer plants "plants.csv" into "plants.jsonl"
infer plants "turned.csv" into "turned.jsonl"
infer plants "gaps.csv" into "gaps.jsonl"
infer stars "stars.csv" into "stars.jsonl"
infer stars {"flux": [1.0, 2.0, 1.5, 2.5]}
infer words "words.csv" into "words.jsonl" with series = sent
'''
    with private.served(private.environment(home)) as environment:
        done = subprocess.run([BINARY, "run", "-"], input=text, env=environment, cwd=home, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return home


def lines(path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_file_that_was_fed_can_be_asked(work):
    plants, turned = lines(work / "plants.jsonl"), lines(work / "turned.jsonl")
    assert len(plants) == 160 and list(plants[0]) == ["plant", "replicate", "height", "leaves", "verdict", "state", "sure", "check"]
    assert [r["state"] for r in plants] == [r["state"] for r in turned]
    assert np.mean([r["state"] == r["verdict"] for r in plants]) > 0.5 and not any("refused" in (r["check"] or "") for r in plants)


def test_what_meant_no_value_at_feed_means_it_again(work):
    first, second = lines(work / "gaps.jsonl")
    assert first["state"] in ("ok", "sick") and second["check"].startswith("refused: height")


def test_steps_with_a_column_that_nothing_uses(work):
    stars, words = lines(work / "stars.jsonl"), lines(work / "words.jsonl")
    assert len(stars) == 40 and list(stars[0]) == ["star", "kind", "kind (answer)", "sure", "check"] and stars[0]["kind (answer)"] in ("a", "b")
    assert len(words) == 40 and words[0]["tags"] and all(w["check"] in (None, "unsure") for w in words)
