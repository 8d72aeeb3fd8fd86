"""Studies: suspects among the labels, and labels that were corrected."""

from __future__ import annotations

import numpy as np
import pytest

from easeml.trainer.examples import Examples, read_examples
from easeml.trainer.model import Model
from easeml.trainer.suspects import confident
from folders import DIGITS, SHOP, choose, feed, program, result, settled, shop_rows, study, table, trial, version, write_csv


def noisy_digits(folder, seed: int, n: int = 300, share: float = 0.25):
    """A file of n digits of which a share bears a wrong label; which ones, and what is right."""
    from sklearn.datasets import load_digits
    data, rng = load_digits(), np.random.default_rng(seed)
    rows = rng.choice(len(data.target), n, replace=False)
    right, said = data.target[rows], data.target[rows].copy()
    wrong = rng.choice(n, int(share * n), replace=False)
    said[wrong] = (said[wrong] + rng.integers(1, 10, len(wrong))) % 10
    path = folder / f"noisy-{seed}.npz"
    np.savez(path, image=data.images[rows].astype(np.uint8), digit=said)
    return path, {int(i) + 1 for i in wrong}, right


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_first_suspects_are_wrong_indeed(tmp_path, seed):
    path, wrong, _ = noisy_digits(tmp_path, seed)
    fed = feed(tmp_path / "fed", DIGITS, path)
    candidates = choose(fed, DIGITS)
    found = study(tmp_path / "study", "suspects", fed, version(tmp_path / "data", fed), DIGITS, [candidates["svm-rbf.c10"], candidates["extra-trees.300"]])
    numbers = [s["number"] for s in found["suspects"]]
    assert sum(n in wrong for n in numbers[:10]) >= 9
    assert len(set(numbers) & wrong) >= 0.7 * len(wrong)  # most of what is wrong is found,
    assert len(set(numbers) & wrong) >= 0.7 * len(numbers)  # and most of what is found is wrong
    assert found["of"] == 300 and found["found"] == len(numbers)
    says = dict(zip(fed.index["number"], fed.index["label"]))
    assert all(says[s["number"]] == s["says"] != s["looks_like"] for s in found["suspects"])


def test_correcting_the_suspects_pays(tmp_path, warm):
    """The same model learns from 300 digits, a quarter of them with a wrong label, with and without a person who corrects the suspects."""
    from sklearn.datasets import load_digits
    data = load_digits()
    path, wrong, right = noisy_digits(tmp_path, 0)
    fed_digits = {x.tobytes() for x in np.load(path)["image"]}
    new = [x.astype(np.uint8).tobytes() not in fed_digits for x in data.images]
    fed = feed(tmp_path / "fed", DIGITS, path)
    candidates = choose(fed, DIGITS)
    found = study(tmp_path / "study", "suspects", fed, version(tmp_path / "left", fed), DIGITS,
                  [candidates[c] for c in ("svm-rbf.c10", "extra-trees.300", "knn.5", "mlp.64")])
    version(tmp_path / "corrected", fed, labels={s["number"]: str(right[s["number"] - 1]) for s in found["suspects"]})
    gains = {}
    for name in ("svm-rbf.c10", "mlp.64", "logistic.c1"):
        shares = []
        for data_folder in ("left", "corrected"):
            folder = trial(tmp_path / f"{name}-{data_folder}", fed, tmp_path / data_folder, DIGITS, candidates[name])
            assert warm.run(folder)["code"] == 0
            model = Model.load(folder / "model")
            images = data.images[new].reshape(-1, 64)
            answers = model.answer(Examples({"image": images}, np.arange(len(images)))).argmax(axis=1)
            shares.append(np.mean(np.array(model.target.labels)[answers] == data.target[new].astype(str)))
        gains[name] = (round(float(shares[0]), 3), round(float(shares[1]), 3))
    print(f"\nright of {sum(new)} new digits, suspects left and corrected: {gains}")
    assert np.median([b - a for a, b in gains.values()]) >= 0.06, gains


def test_confident_learning_by_hand():
    # Class 0 is said with 0.9 and 0.49 of probability (bar 0.695), class 1 with 0.8 and 0.2 (bar 0.5): of those that
    # bear 0 one of two counts as 1, and of those that bear 1 one of two as 0.
    p = np.array([[0.9, 0.1], [0.49, 0.51], [0.2, 0.8], [0.8, 0.2]])
    assert confident(p, np.array([0, 0, 1, 1])).tolist() == [False, True, False, True]
    assert not confident(p, np.array([0, 0, 0, 0])).any()  # nothing counts as a class without examples
    assert not confident(p[[0, 0, 2, 2]], np.array([0, 0, 1, 1])).any()


def test_suspect_numbers_are_far_off(tmp_path):
    prices = program(SHOP["input"]["fields"], [{"name": "price", "tensor": [1]}])
    rows = [{**{k: v for k, v in r.items() if k != "kind"}, "price": 3 * float(r["weight"])} for r in shop_rows(200)]
    rows[17]["price"] += 2000
    fed = feed(tmp_path / "fed", prices, write_csv(tmp_path / "prices.csv", rows))
    found = study(tmp_path / "study", "suspects", fed, version(tmp_path / "data", fed), prices, [choose(fed, prices)["ridge.a1"]])
    assert found["suspects"][0]["number"] == 18 and found["suspects"][0]["sure"] is None


def test_corrected_labels_are_what_is_learned_and_scored(tmp_path, warm):
    fed = feed(tmp_path / "fed", SHOP, write_csv(tmp_path / "shop.csv", shop_rows(400)))
    said = dict(zip(fed.index["number"], fed.index["label"]))
    of_test = next(n for n, part in zip(fed.index["number"], fed.index["part"]) if n > 1 and part == "train")
    other = {"pen": "book", "book": "pen"}
    data = version(tmp_path / "data", fed, labels={1: other[said[1]], of_test: other[said[of_test]]})
    examples = read_examples(data, settled(fed, SHOP)[0])
    now = dict(zip(examples.numbers.tolist(), examples.columns["kind"].tolist()))
    assert {n for n in now if now[n] != said[n]} == {1, of_test} and now[1] == other[said[1]]
    path = trial(tmp_path / "trial", fed, data, SHOP, choose(fed, SHOP)["logistic.c1"])
    assert warm.run(path)["code"] == 0 and result(path)["outcome"] == "ok"
    p = table(path / "predictions.arrow")
    assert p["truth"][p["number"].index(of_test)] == now[of_test]


def test_rows_of_one_group_share_a_fold(tmp_path):
    rows = [{**r, "shelf": f"s{i // 3}"} for i, r in enumerate(shop_rows(90))]
    fed = feed(tmp_path / "fed", SHOP, write_csv(tmp_path / "shop.csv", rows), options={"group": "shelf"})
    examples = read_examples(version(tmp_path / "data", fed), settled(fed, SHOP)[0], groups=True)
    assert len(set(examples.groups.tolist())) == 30
    assert all(len(set(examples.groups[i:i + 3].tolist())) == 1 for i in range(0, 90, 3))
