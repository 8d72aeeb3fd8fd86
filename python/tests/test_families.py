"""Every candidate fits, saves, loads, and answers the same afterwards; for classes, two classes, and numbers."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from easeml.trainer import catalogue
from easeml.trainer.batch import Preparation
from easeml.trainer.candidate import Stop
from easeml.trainer.events import EventLog
from easeml.trainer.examples import Examples
from easeml.trainer.metrics import Guess, find_metric
from easeml.trainer.model import Model
from easeml.trainer.outputs import truth_of
from easeml.trainer.program import Target, parse_program
from easeml.trainer.report import Report
from folders import DIGITS, program

PICTURES = Target("classes", tuple(str(i) for i in range(10)))
TABLE = program([{"name": "x", "tensor": [3]}, {"name": "c", "class_count": 3}, {"name": "z", "tensor": [1]}], [{"name": "y", "class_count": 2}])
NUMBERS = program(TABLE["input"]["fields"], [{"name": "y", "tensor": [1]}])
SEVERAL = program(TABLE["input"]["fields"], [{"name": "y", "tensor": [2]}])


@cache
def pictures():
    from sklearn.datasets import load_digits
    data = load_digits()
    rows = slice(0, 400)
    labels = np.array([str(v) for v in data.target[rows]], dtype=object)
    columns = {"image": data.images[rows].reshape(-1, 64).astype(np.float32), "digit": labels}
    return DIGITS, PICTURES, Examples(columns, np.arange(400)), "image_classification"


def _table():
    rng = np.random.default_rng(1)
    n = 240
    x, z = rng.normal(size=(n, 3)), rng.normal(50, 20, size=(n, 1))
    c = np.array([["a", "b", None][i] for i in rng.integers(0, 3, n)], dtype=object)
    x[rng.random((n, 3)) < 0.05] = np.nan
    score = np.nan_to_num(x[:, 0]) + (z[:, 0] - 50) / 20 + (c == "a")
    return n, {"x": x, "c": c, "z": z}, score


@cache
def table():
    n, columns, score = _table()
    columns["y"] = np.where(score > 0.3, "yes", "no").astype(object)
    return TABLE, Target("classes", ("no", "yes")), Examples(columns, np.arange(n)), "table"


@cache
def numbers():
    n, columns, score = _table()
    return NUMBERS, Target("numbers"), Examples(columns | {"y": 1000 + 50 * score[:, None]}, np.arange(n)), "table"


@cache
def several():
    n, columns, score = _table()
    return SEVERAL, Target("numbers", size=2), Examples(columns | {"y": np.column_stack([score, -3 * score])}, np.arange(n)), "table"


KINDS = {"pictures": pictures, "table": table, "numbers": numbers, "several": several}


def _candidates(kind: str):
    raw, target, examples, template = KINDS[kind]()
    profile = {"rows": len(examples), "target": target.as_json(), "parts": {"train": len(examples)}}
    return catalogue.choose(parse_program(raw), profile, template)


def _ids():
    return [(kind, c.info.id) for kind in KINDS for c in _candidates(kind)]


@pytest.mark.parametrize("kind,id", _ids())
def test_fits_saves_loads_and_answers_alike(kind, id, tmp_path):
    raw, target, examples, template = KINDS[kind]()
    prog = parse_program(raw)
    candidate = next(c for c in _candidates(kind) if c.info.id == id)
    n = len(examples)
    train, valid = examples.take(np.arange(n * 3 // 4)), examples.take(np.arange(n * 3 // 4, n))
    preparation = Preparation.learn(prog, target, train)
    metric = find_metric(None, target.kind)
    truth = truth_of(prog, target, train)
    guess = Guess.learn_classes(truth, len(target.labels)) if target.is_classes else Guess.learn_numbers(truth)
    from easeml.trainer import metrics
    score = lambda p: metrics.quality(metric, truth_of(prog, target, valid), preparation.answers(p), guess)  # noqa: E731
    report = Report(EventLog(tmp_path), score=score, limit=6 if id == "resnet-small" else None)
    try:
        candidate.fit(preparation.batch(train, with_target=True), preparation.batch(valid, with_target=True), report)
    except Stop:
        pass
    model = Model(raw, template, prog, target, preparation, candidate, metric, guess, {"rows": n, "target": target.as_json()})
    before = model.answer(valid)
    saved = model.save(tmp_path / "model")
    assert saved["format"] in ("skops", "safetensors")
    again = Model.load(tmp_path / "model")
    np.testing.assert_allclose(again.answer(valid), before, rtol=1e-6, atol=1e-9)
    assert before.shape == (len(valid), len(target.labels) if target.is_classes else target.size)
    if target.is_classes:
        np.testing.assert_allclose(before.sum(axis=1), 1, atol=1e-5)
    quality = metrics.quality(metric, truth_of(prog, target, valid), before, guess)
    if not candidate.info.baseline:
        least = {"pictures": 0.6, "table": 0.75, "numbers": 0.3, "several": 0.3}[kind]
        if candidate.info.family == "texture":
            least = 0.3  # a digit is no texture; guessing has 0.1
        assert quality > least, quality
    # One row, or a row with nothing known and a level never seen, is answered too.
    one = valid.take(np.arange(1))
    if kind != "pictures":
        one.columns = {k: np.full_like(v, np.nan) if v.dtype.kind == "f" and k != "y" else v for k, v in one.columns.items()}
        one.columns["c"] = np.array(["never seen"], dtype=object)
    assert np.isfinite(again.answer(one)).all()


def test_the_catalogue_for_digits():
    infos = [c.info for c in _candidates("pictures")]
    assert infos[0].baseline and 18 <= len(infos) <= 28
    assert len({i.id for i in infos}) == len(infos)
    seconds = [i.estimate["seconds"]["cpu1"] for i in infos]
    assert seconds == sorted(seconds)
    assert {"svm-rbf.c10", "knn.5", "forest.300", "resnet-small", "hog-svm.c10"} <= {i.id for i in infos}


@pytest.mark.parametrize("profile,gone,there", [
    ({"rows": 200_000}, {"svm-rbf.c10", "knn.5", "hog-svm.c10"}, {"lightgbm.31", "forest.300", "logistic.c1"}),
    ({"rows": 25}, {"lightgbm.31", "mlp.64", "resnet-small", "knn.15"}, {"dummy", "logistic.c1", "knn.1"}),
    ({"rows": 4}, {"knn.1", "forest.300"}, {"dummy", "logistic.c1"}),
    ({"rows": 2}, {"logistic.c1", "knn.1"}, {"dummy"}),
])
def test_only_what_suits_the_size(profile, gone, there):
    ids = {c.info.id for c in catalogue.choose(parse_program(DIGITS), {**profile, "target": PICTURES.as_json()})}
    assert not ids & gone and there <= ids


def test_no_network_below_its_side_or_for_tables():
    tiny = program([{"name": "image", "tensor": [5, 5, 1]}], DIGITS["output"]["fields"])
    for raw in (tiny, TABLE):
        ids = {c.info.id for c in catalogue.choose(parse_program(raw), {"rows": 1000, "target": PICTURES.as_json()})}
        assert "resnet-small" not in ids and "svm-rbf.c10" in ids


def test_normalizations_only_where_the_range_is_wide():
    profile = {"rows": 1000, "target": PICTURES.as_json(), "dynamic_range": 1e8}
    chosen = catalogue.choose(parse_program(DIGITS), profile)
    stretched = [c.info for c in chosen if c.info.normalization is not None]
    assert {i.normalization for i in stretched} == {0.2, 0.4, "log", "asinh"} and any(i.id.endswith("+f0.4") for i in stretched)
    found = catalogue.find({"id": stretched[0].id, "normalization": stretched[0].normalization}, parse_program(DIGITS), profile)
    assert found.info.id == stretched[0].id and found.info.normalization == stretched[0].normalization


def test_nothing_but_named_types_is_loaded(tmp_path):
    import skops.io
    from easeml.trainer.families.knn import KNN
    from sklearn.neighbors import KNeighborsClassifier
    (tmp_path / "spec.json").write_text('{"candidate": {"id": "knn.5", "family": "knn"}}')
    skops.io.dump({"x": np.memmap}, tmp_path / "model.skops")  # a type that no model of ours holds
    with pytest.raises(Exception, match="[Uu]ntrusted"):
        KNN.load(tmp_path)
    skops.io.dump(KNeighborsClassifier().fit([[0], [1]], [0, 1]), tmp_path / "model.skops")
    assert KNN.load(tmp_path).estimator.n_neighbors == 5
