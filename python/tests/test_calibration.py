"""How sure an answer is: what the temperature promises, alone and on models as trials make them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from easeml.trainer import calibration
from easeml.trainer.model import Model
from easeml.trainer.outputs import truth_of
from easeml.trainer.runner import run
from folders import DIGITS, choose, digits, feed, result, settled, trial, version


def probabilities(n: int, k: int, seed: int = 0) -> np.ndarray:
    """Rows of probabilities, some of them certain."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.5), size=n)
    p[:5] = np.eye(k)[rng.integers(0, k, 5)]
    return p


@pytest.mark.parametrize("temperature", [0.05, 0.4, 3.0, 20.0])
def test_no_answer_moves(temperature):
    p = probabilities(300, 5)
    t = calibration.tempered(p, temperature)
    assert np.allclose(t.sum(axis=1), 1) and (t >= 0).all()
    assert (t.argmax(axis=1) == p.argmax(axis=1)).all()
    # Two of a row stand as they stood; they may come together where both are next to nothing.
    assert ((np.diff(np.take_along_axis(t, p.argsort(axis=1), axis=1), axis=1)) >= -1e-12).all()


@pytest.mark.parametrize("drawn_at", [0.5, 1.0, 2.5])
def test_finds_the_temperature_that_labels_were_drawn_at(drawn_at):
    rng = np.random.default_rng(3)
    p = rng.dirichlet(np.ones(4), size=6000)
    q = calibration.tempered(p, drawn_at)
    truth = (q.cumsum(axis=1) < rng.random((len(q), 1))).sum(axis=1)
    assert calibration.learn(truth, p) == pytest.approx(drawn_at, rel=0.1)


def test_answers_without_a_mistake_do_not_make_sure():
    p = np.tile([0.9, 0.1], (40, 1))
    truth = np.zeros(40, dtype=int)
    sure = calibration.tempered(p, calibration.learn(truth, p))[0, 0]
    assert 0.95 < sure <= 41 / 42 + 1e-3


@pytest.mark.parametrize("truth,p", [
    (np.zeros(19, int), np.tile([0.6, 0.4], (19, 1))),
    (np.full(50, -1), np.tile([0.6, 0.4], (50, 1))),
    (np.zeros(50, int), np.ones((50, 1))),
    (np.zeros(50, int), np.tile([np.nan, 0.4], (50, 1))),
], ids=["few", "unknown", "one class", "not finite"])
def test_leaves_what_cannot_be_judged(truth, p):
    assert calibration.learn(truth, p) == 1.0


@pytest.mark.parametrize("candidate,protocol", [("knn.1", None), ("forest.300", None), ("svm-rbf.c1", None), ("logistic.c10", 5), ("svm-rbf.c1", 5)])
def test_a_model_keeps_its_word_on_examples_it_never_saw(candidate, protocol, tmp_path):
    fed = feed(tmp_path / "feed", DIGITS, digits(tmp_path, slice(0, 700 if protocol else 1200)), folds=protocol)
    folder = trial(tmp_path / "trial", fed, version(tmp_path / "version", fed), DIGITS, choose(fed, DIGITS)[candidate])
    assert run(folder) == 0
    found = result(folder)
    model = Model.load(folder / "model")
    assert model.temperature != 1.0 and model.temperature == json.loads((folder / "model" / "spec.json").read_text())["temperature"]

    from easeml.trainer.examples import PARTS, read_examples
    program, target = settled(fed, DIGITS)
    examples = read_examples(tmp_path / "version", program)
    test = examples.take(np.flatnonzero(examples.parts == PARTS.index("test")))
    truth = truth_of(program, target, test)

    def off(p: np.ndarray) -> tuple[float, float]:
        """How far how sure it is lies from how often it is right; the log loss."""
        right = p.argmax(axis=1) == truth
        return abs(p.max(axis=1).mean() - right.mean()), -np.log(np.clip(p[np.arange(len(p)), truth], 1e-15, 1)).mean()

    tempered = model.answer(test)
    model.temperature = 1.0
    plain = model.answer(test)
    assert (tempered.argmax(axis=1) == plain.argmax(axis=1)).all()
    assert off(tempered)[1] < off(plain)[1]
    assert off(tempered)[1] == pytest.approx(found["test"]["metrics"]["log_loss"], rel=1e-6)
    assert off(tempered)[0] < 0.1
