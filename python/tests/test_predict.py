"""The resident predictor: the same figures as the trial's, the same refusals as ingest, rescoring."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from folders import DIGITS, SHOP, choose, digits, feed, program, result, shop_rows, trial, version, write_csv


class Asked:
    """A predictor process and its lines."""

    def __init__(self, model: Path, *, alone: bool = False):
        call = [sys.executable, "-m", "easeml.trainer", "predict", str(model)]
        if alone:  # a process in between: no warm parent is the child of the same one
            call = ["sh", "-c", '"$@"; exit $?', "sh", *call]
        self.process = subprocess.Popen(call, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.ready = json.loads(self.process.stdout.readline())["ready"]
        self._n = 0

    def ask(self, **request) -> dict:
        self._n += 1
        self.process.stdin.write(json.dumps({"id": self._n, **request}) + "\n")
        self.process.stdin.flush()
        reply = json.loads(self.process.stdout.readline())
        assert reply["id"] == self._n
        return reply

    def infer(self, out: Path, *paths: Path, **request) -> list[dict]:
        reply = self.ask(sources=[{"name": p.name, "path": str(p)} for p in paths], out=str(out), **request)
        assert "done" in reply, reply
        self.done = reply["done"]
        return [json.loads(line) for line in out.read_text().splitlines()]

    def close(self) -> None:
        self.process.stdin.close()
        assert self.process.wait(timeout=60) == 0
        self.process.stdout.close()


@pytest.fixture(scope="module")
def shop(warm, tmp_path_factory):
    root = tmp_path_factory.mktemp("shop")
    rows = shop_rows(400)
    fed = feed(root / "1", SHOP, write_csv(root / "shop.csv", rows))
    data = version(root / "data", fed)
    path = trial(root / "t", fed, data, SHOP, choose(fed, SHOP)["lightgbm.15"])
    warm.run(path)
    asked = Asked(path / "model")
    yield asked, fed, data, rows, result(path)
    asked.close()


@pytest.fixture(scope="module")
def figures(warm, tmp_path_factory):
    root = tmp_path_factory.mktemp("digits")
    fed = feed(root / "1", DIGITS, digits(root))
    data = version(root / "data", fed)
    path = trial(root / "t", fed, data, DIGITS, choose(fed, DIGITS)["svm-rbf.c10"])
    warm.run(path)
    asked = Asked(path / "model")
    yield asked, fed, data, result(path), path / "model"
    asked.close()


@pytest.fixture(scope="module")
def torch_model(warm, figures, tmp_path_factory):
    pytest.importorskip("torch")
    _, fed, data, _, _ = figures
    path = trial(tmp_path_factory.mktemp("net") / "t", fed, data, DIGITS, choose(fed, DIGITS)["resnet-small"], limits={"steps": 1})
    warm.run(path)
    return path / "model"


def digit_images(n: int) -> np.ndarray:
    from sklearn.datasets import load_digits
    return load_digits().images[:n]


def test_the_test_figure_is_what_infer_gives(figures, tmp_path):
    from sklearn.datasets import load_digits
    asked, fed, data, r, _ = figures
    assert asked.ready["candidate"] == "svm-rbf.c10" and asked.ready["target"]["labels"] == [str(i) for i in range(10)]
    rows = np.array([row for row, part in zip(fed.index["row"], fed.index["part"]) if part == "test"])
    all_digits = load_digits()
    np.savez(tmp_path / "test.npz", image=all_digits.images[rows])  # other dtype, and no labels
    answers = asked.infer(tmp_path / "out.ndjson", tmp_path / "test.npz")
    right = sum(a["answer"]["digit"] == str(y) for a, y in zip(answers, all_digits.target[rows]))
    assert right == r["test"]["metrics"]["right"] and right / len(rows) == r["test"]["quality"]
    assert asked.done["answers"] == len(rows) and asked.done["unsure"] == sum(a["sure"] < 0.8 for a in answers)
    assert "values" not in answers[0] and answers[5]["row"] == 5
    scored = asked.ask(rescore={"data": {"path": str(data), "rows": 1797, "parts": {}, "protocol": {"kind": "holdout"}}, "metric": None})["scored"]
    assert scored["test"] == r["test"] and scored["validation"]["quality"] == r["quality"]
    folds = asked.ask(rescore={"data": {"path": str(data), "protocol": {"kind": "folds", "k": 5}}, "metric": "log_loss"})["scored"]
    # There, what was answered out of fold when it was trained is scored: it answered those of the validation part.
    assert folds["validation"]["n"] == scored["validation"]["n"] and 0.5 < folds["test"]["quality"] < 1


def test_another_scale_is_refused_whole(figures, tmp_path):
    from sklearn.datasets import load_digits
    asked = figures[0]
    images = load_digits().images[:50]
    for name, values, says in (("new.npz", images * 255 / 16, "values up to 255, so far 0–16"), ("low.npz", images / 16, "values only up to 1, so far 0–16")):
        np.savez(tmp_path / name, image=values)
        reply = asked.ask(sources=[{"name": name, "path": str(tmp_path / name)}], out=str(tmp_path / "out"))
        assert reply["failed"]["message"] == f"{name} differs from what was learned: {says}. Nothing was written." and not (tmp_path / "out").exists()


def test_rows_keep_their_order_and_columns_and_bad_ones_are_refused(shop, tmp_path):
    asked, fed, _, rows, _ = shop
    path = tmp_path / "new.csv"
    path.write_text("Name,weight,size,Color\nA,200,9,red\nB,heavy,9,red\nC,,,\nD,210,9,mauve\nE,1\n")
    answers = asked.infer(tmp_path / "out.ndjson", path, options={"probabilities": "on"})
    assert [a["row"] for a in answers] == [2, 3, 4, 5, 6] and asked.done["answers"] == 3 and asked.done["refused"] == 2
    assert answers[0]["values"] == {"Name": "A", "weight": "200", "size": "9", "Color": "red"}
    assert answers[0]["answer"]["kind"] in ("pen", "book") and sum(answers[0]["probabilities"].values()) == pytest.approx(1, abs=1e-4)
    assert answers[1]["refused"] == {"column": "weight", "value": "heavy", "reason": '"heavy" is not a number', "remedy": 'correct it; if it means "no value": with missing = "heavy"'}
    assert "answer" not in answers[4] and answers[4]["values"]["Name"] == "E"


def test_what_was_fed_can_be_asked_as_it_is(shop, tmp_path):
    asked, fed, data, rows, r = shop
    answers = asked.infer(tmp_path / "out.ndjson", write_csv(tmp_path / "again.csv", rows), options={"top": "1"})
    test = [row for row, part in zip(fed.index["row"], fed.index["part"]) if part == "test"]
    right = sum(answers[row - 2]["answer"]["kind"] == rows[row - 2]["kind"] for row in test)
    assert right == r["test"]["metrics"]["right"] and len(answers[0]["probabilities"]) == 1
    (tmp_path / "cell.json").write_text(json.dumps([{"size": 9, "color": "red", "weight": 200}, {"size": 9}, 3]))
    answers = asked.infer(tmp_path / "out2.ndjson", tmp_path / "cell.json")
    # A key that no row of a JSON file has is missing; one that some rows have is missing in the others.
    assert [("answer" in a) for a in answers] == [True, True, False] and answers[0]["values"]["weight"] == "200"


@pytest.mark.parametrize("request_,says", [
    ({"sources": [{"name": "gone.csv", "path": "/nowhere/gone.csv"}]}, "gone.csv can't be read"),
    ({"sources": [{"name": "x.csv", "path": "X"}]}, "x.csv has no column color"),
    ({}, "can't be understood"), ({"rescore": {"data": {"path": "/nowhere"}}}, "holds no examples")])
def test_requests_that_fail_leave_the_predictor_alive(shop, tmp_path, request_, says):
    asked = shop[0]
    (tmp_path / "x.csv").write_text("size,weight\n1,2\n")
    request_ = json.loads(json.dumps(request_).replace('"X"', json.dumps(str(tmp_path / "x.csv"))))
    reply = asked.ask(out=str(tmp_path / "out"), **request_)
    assert says in reply["failed"]["message"], reply
    assert asked.infer(tmp_path / "ok", write_csv(tmp_path / "ok.csv", shop_rows(3)))


def test_numbers_come_back_in_their_own_unit(warm, tmp_path):
    prog = program([{"name": "v", "tensor": [1]}], [{"name": "price", "tensor": [1]}])
    rows = [{"v": i, "price": 5000 + 10 * i} for i in range(200)]
    fed = feed(tmp_path / "1", prog, write_csv(tmp_path / "a.csv", rows))
    path = trial(tmp_path / "t", fed, version(tmp_path / "data", fed), prog, choose(fed, prog)["ridge.a0.01"])
    warm.run(path)
    asked = Asked(path / "model")
    answers = asked.infer(tmp_path / "out", write_csv(tmp_path / "b.csv", rows[:5]))
    asked.close()
    assert [a["answer"]["price"] for a in answers] == pytest.approx([5000, 5010, 5020, 5030, 5040], abs=5)
    assert answers[0]["sure"] is None


def test_warm_and_alone_answer_alike(figures, tmp_path, torch_model):
    for model in (figures[4], torch_model):
        np.savez(tmp_path / "x.npz", image=digit_images(40))
        answers, pids = [], set()
        for alone in (False, True):
            asked = Asked(model, alone=alone)
            answers.append(asked.infer(tmp_path / "out", tmp_path / "x.npz"))
            pids.add(asked.ready["pid"] == asked.process.pid)
            asked.close()
        assert answers[0] == answers[1]
        assert pids == {False}  # warm: a child of the parent answers; alone: the shell's child


def test_a_killed_predictor_takes_its_warm_child_along(figures):
    import os
    asked = Asked(figures[4])
    pid = asked.ready["pid"]
    asked.process.kill()
    asked.process.wait()
    asked.process.stdin.close()
    asked.process.stdout.close()
    while os.path.exists(f"/proc/{pid}"):  # it sees the end of its input; the parent reaps it
        time.sleep(0.01)


def test_a_folder_without_a_model(tmp_path):
    done = subprocess.run([sys.executable, "-m", "easeml.trainer", "predict", str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 1 and "There is no model" in json.loads(done.stdout)["failed"]["message"]
