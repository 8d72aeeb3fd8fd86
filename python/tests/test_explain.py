"""What a model uses, why it answers so for one example, and what more examples would bring."""

from __future__ import annotations

import numpy as np
import pytest

from folders import DIGITS, SHOP, choose, digits, feed, program, result, shop_rows, study, trial, version, write_csv


def _model(warm, tmp_path, prog, path, candidate, **spec):
    fed = feed(tmp_path / "fed", prog, path, **spec)
    assert fed.ok, fed.last
    data, chosen = version(tmp_path / "data", fed), choose(fed, prog)[candidate]
    folder = trial(tmp_path / "trial", fed, data, prog, chosen)
    assert warm.run(folder)["code"] == 0 and result(folder)["outcome"] == "ok"
    return lambda kind, name, **more: study(tmp_path / name, kind, fed, data, prog, [chosen], model=str(folder / "model"), **more)


def test_what_a_table_model_uses(warm, tmp_path):
    rows = [{**r, "noise": f"{x:.3f}"} for r, x in zip(shop_rows(500), np.random.default_rng(1).normal(size=500))]
    prog = program([*SHOP["input"]["fields"], {"name": "noise", "tensor": [1]}], SHOP["output"]["fields"])
    ask = _model(warm, tmp_path, prog, write_csv(tmp_path / "shop.csv", rows), "logistic.c1")
    found = ask("explain", "uses")
    uses = {u["name"]: u for u in found["uses"]}
    assert found["part"] == "test" and found["measure"] == "right" and found["of"] == 100
    assert [u["name"] for u in found["uses"][:2]] in (["size", "weight"], ["weight", "size"])
    assert uses["size"]["beyond"] and uses["weight"]["beyond"] and not uses["noise"]["beyond"]

    one = ask("explain", "one", example=3)
    assert one["example"] == 3 and one["truth"] in ("pen", "book") and len(one["nearest"]) == 5 and 3 not in [n["number"] for n in one["nearest"]]
    asked = tmp_path / "one.json"
    asked.write_text('[{"size": 18, "color": "red", "weight": 320, "noise": 0}]')
    new = ask("explain", "new", sources=[{"name": "this cell", "path": str(asked)}])
    assert new["answer"] == "book" and new["sure"] > 0.9 and new["truth"] is None and new["example"] == 0
    assert {n["label"] for n in new["nearest"]} == {"book"}
    asked.write_text('[{"size": 18, "color": "red", "weight": 320, "noise": 0}, {"size": 1, "color": "red", "weight": 3, "noise": 0}]')
    assert ask("explain", "two", sources=[{"name": "this cell", "path": str(asked)}])["message"] == "this cell holds 2 examples; one is explained at a time."


def test_regions_of_pictures_and_growth(warm, tmp_path):
    ask = _model(warm, tmp_path, DIGITS, digits(tmp_path, slice(0, 700)), "svm-rbf.c10")
    found = ask("explain", "uses")
    assert len(found["uses"]) == 16 and found["uses"][0]["name"].startswith("image rows ") and found["uses"][0]["beyond"]
    assert not {u["name"]: u for u in found["uses"]}["image rows 1–2, columns 1–2"]["beyond"]  # an empty corner
    more = ask("growth", "growth")
    assert more["half"] > more["whole"] >= 0 and more["measure"] == "right"
    assert more["doubled"] is None or more["doubled"] <= more["whole"]


@pytest.mark.parametrize("metric", ["balanced_accuracy", "log_loss", "roc_auc", "f1"])
def test_growth_by_other_metrics(warm, tmp_path, metric):
    ask = _model(warm, tmp_path, DIGITS, digits(tmp_path, slice(0, 500)), "logistic.c1", metric=metric)
    more = ask("growth", "growth")
    assert more["measure"] == metric and more["half"] > 0 and more["whole"] > 0
    assert more["gain_low"] <= more["half"] - more["whole"] <= more["gain_high"]
    assert more["doubled"] < more["whole"] if more["gain_low"] > 0 else more["doubled"] is None


def test_numbers_are_told_in_their_own_unit(warm, tmp_path):
    prices = program(SHOP["input"]["fields"], [{"name": "price", "tensor": [1]}])
    rows = [{**{k: v for k, v in r.items() if k != "kind"}, "price": 3 * float(r["weight"])} for r in shop_rows(400)]
    ask = _model(warm, tmp_path, prices, write_csv(tmp_path / "prices.csv", rows), "ridge.a1")
    found = ask("explain", "uses")
    assert found["measure"] == "off" and found["uses"][0]["name"] == "weight" and found["uses"][0]["lost"] == pytest.approx(170, rel=0.3)
    assert [u["name"] for u in found["uses"] if u["beyond"]] == ["weight"]
