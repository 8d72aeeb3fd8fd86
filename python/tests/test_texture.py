"""Textures and colours: what the numbers don't depend on, and surfaces told apart that pixels don't tell apart."""

from __future__ import annotations

import numpy as np
import pytest

from easeml.trainer import catalogue, metrics
from easeml.trainer.batch import Preparation
from easeml.trainer.events import EventLog
from easeml.trainer.examples import Examples
from easeml.trainer.families.texture import describe, width_of
from easeml.trainer.metrics import Guess, find_metric
from easeml.trainer.outputs import truth_of
from easeml.trainer.program import Target, parse_program
from easeml.trainer.report import Report
from folders import program


@pytest.mark.parametrize("shape", [(8, 8, 1), (9, 13, 3), (32, 24, 4), (16, 16, 2)])
def test_descriptions_have_the_width_that_estimates_count_with(shape):
    rng = np.random.default_rng(0)
    for picture in (rng.random(shape), np.zeros(shape), rng.random(shape) * 3 - 1):
        described = describe(picture.astype(np.float32))
        assert described.shape == (width_of(*shape),) and np.isfinite(described).all()


def test_a_description_is_of_the_surface_not_of_the_place():
    rng = np.random.default_rng(0)
    picture = rng.random((64, 64, 1)).astype(np.float32)
    other = rng.random((64, 64, 1)).astype(np.float32) * np.float32(0.5)
    moved = np.roll(picture, (7, 19), axis=(0, 1))
    apart = np.linalg.norm(describe(picture) - describe(other))
    assert np.linalg.norm(describe(picture) - describe(moved)) < apart / 4


def _surfaces(n: int) -> tuple[Examples, Target]:
    """Four surfaces of equal brightness: noise, smooth noise, stripes of any direction, checks; 16 × 16."""
    from scipy.ndimage import gaussian_filter
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:16, :16]
    rows, labels = [], []
    for i in range(n):
        angle, phase = rng.uniform(0, np.pi), rng.uniform(0, 2 * np.pi)
        noise = rng.normal(size=(16, 16))
        stripes = np.sin(1.5 * (x * np.cos(angle) + y * np.sin(angle)) + phase)
        shift = rng.integers(0, 4, 2)
        checks = np.where(((x + shift[0]) // 2 + (y + shift[1]) // 2) % 2, 1.0, -1.0)
        surface = (noise, gaussian_filter(noise, 1.5), stripes + 0.5 * noise, checks + 0.8 * noise)[i % 4]
        rows.append((surface - surface.mean()) / surface.std() * 40 + 128)
        labels.append(("noise", "cloud", "stripes", "checks")[i % 4])
    images = np.clip(np.array(rows), 0, 255).round().astype(np.float32).reshape(n, -1)
    return Examples({"image": images, "kind": np.array(labels, dtype=object)}, np.arange(n)), Target("classes", ("checks", "cloud", "noise", "stripes"))


def test_surfaces_are_told_apart_where_pixels_tell_nothing(tmp_path):
    examples, target = _surfaces(240)
    prog = parse_program(program([{"name": "image", "tensor": [16, 16, 1]}], [{"name": "kind", "class_count": 4}]))
    train, valid = examples.take(np.arange(160)), examples.take(np.arange(160, 240))
    preparation = Preparation.learn(prog, target, train)
    metric, guess = find_metric(None, "classes"), Guess.learn_classes(truth_of(prog, target, train), 4)
    right = {}
    for c in catalogue.choose(prog, {"rows": 240, "target": target.as_json(), "parts": {"train": 160}}):
        if c.info.family == "texture" or c.info.id == "extra-trees.300":
            c.fit(preparation.batch(train, with_target=True), preparation.batch(valid, with_target=True), Report(EventLog(tmp_path), score=lambda p: 0.0))
            answers = preparation.answers(c.predict(preparation.batch(valid, with_target=False)))
            right[c.info.id] = metrics.quality(metric, truth_of(prog, target, valid), answers, guess)
    pixels = right.pop("extra-trees.300")
    assert set(right) == {"lbp-svm.c10", "lbp-forest.300", "lbp-extra-trees.300"}
    assert all(q > 0.9 and q > pixels + 0.15 for q in right.values()), (pixels, right)
    print("extra trees on pixels", pixels, right)


def test_not_below_eight_pixels():
    tiny = parse_program(program([{"name": "image", "tensor": [7, 20, 1]}], [{"name": "kind", "class_count": 4}]))
    assert not any(c.info.family == "texture" for c in catalogue.choose(tiny, {"rows": 240}))
