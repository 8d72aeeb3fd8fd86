"""What `feed` warns of: planted copies, contradictions, near duplicates, leaks, dates; and that plain data raise no alarm."""

from __future__ import annotations

import numpy as np
import pytest

from folders import DIGITS, SHOP, digits, feed, program, shop_rows, write_csv


def codes(fed) -> dict[str, str]:
    return {w["code"]: w["message"] for w in fed.profile["warnings"]}


def _shop(folder, rows, prog=SHOP, **spec):
    return feed(folder / "fed", prog, write_csv(folder / "shop.csv", rows), **spec)


def test_plain_data_raise_no_alarm(tmp_path):
    assert not codes(_shop(tmp_path, shop_rows(400)))
    assert not codes(feed(tmp_path / "digits", DIGITS, digits(tmp_path)))


def test_planted_copies_stay_on_one_side_and_are_said(tmp_path):
    rows = shop_rows(300)
    other = {"pen": "book", "book": "pen"}
    fed = _shop(tmp_path, rows + rows[:20] + [{**rows[30], "kind": other[rows[30]["kind"]]}])
    said = codes(fed)
    assert said["copies"].startswith("21 rows are copies") and said["contradictions"].startswith("2 rows have the very input")
    part_of: dict[str, set] = {}
    for h, part in zip(fed.index["input_hash"], fed.index["part"]):
        part_of.setdefault(h, set()).add(part)
    assert all(len(parts) == 1 for parts in part_of.values())


def test_near_duplicates(tmp_path):
    prog = program([{"name": "x", "tensor": [6]}], SHOP["output"]["fields"])
    rng = np.random.default_rng(0)
    base = rng.normal(size=(100, 6))
    values = np.concatenate([base, base[:30] * (1 + 1e-7)])
    rows = [{**{f"x_{i}": repr(float(v)) for i, v in enumerate(r)}, "kind": "pen" if r[0] > 0 else "book"} for r in values]
    assert codes(_shop(tmp_path, rows, prog))["near_duplicates"].startswith("60 rows are nearly the same")


def test_a_planted_leak_and_dates(tmp_path):
    rows = [{**r, "code": "AB"[r["kind"] == "book"], "seen_date": f"2024-0{1 + i % 9}-11"} for i, r in enumerate(shop_rows(300))]
    prog = program([*SHOP["input"]["fields"], {"name": "code", "classes": ["A", "B"]}], SHOP["output"]["fields"])
    said = {w["code"]: w for w in _shop(tmp_path, rows, prog).profile["warnings"]}
    assert said["gives_answer"]["column"] == "code" and said["gives_answer"]["message"].startswith("code alone gives the answer in 100.0 %")
    assert said["dates"]["fix"] == "with order = seen_date"
    assert "dates" not in codes(feed(tmp_path / "ordered", prog, tmp_path / "shop.csv", options={"order": "seen_date"}))


def test_rare_positives_are_not_measured_by_the_share_of_right_answers(tmp_path, warm):
    """249 positives in 5,110 rows, as in a well-known table of strokes."""
    from folders import choose, result, trial, version
    rng = np.random.default_rng(0)
    age, sugar = rng.uniform(0, 90, 5110), rng.normal(106, 45, 5110)
    risk = age / 15 + sugar / 60 + rng.normal(0, 1.2, 5110)
    stroke = np.zeros(5110, bool)
    stroke[np.argsort(-risk)[:249]] = True
    prog = program([{"name": "age", "tensor": [1]}, {"name": "sugar", "tensor": [1]}], [{"name": "stroke", "classes": ["no", "yes"]}])
    rows = [{"age": f"{a:.1f}", "sugar": f"{g:.1f}", "stroke": "yes" if s else "no"} for a, g, s in zip(age, sugar, stroke)]
    fed = feed(tmp_path / "fed", prog, write_csv(tmp_path / "strokes.csv", rows))
    assert fed.profile["metric"]["name"] == "average_precision" and "yes is rare (4.9 %)" in fed.profile["metric"]["reason"]
    data, candidates = version(tmp_path / "data", fed), choose(fed, prog)
    quality = {}
    for name in ("dummy", "logistic.c1", "knn.15"):
        folder = trial(tmp_path / name, fed, data, prog, candidates[name])
        assert warm.run(folder)["code"] == 0
        quality[name] = result(folder)["quality"]
    assert quality["dummy"] == pytest.approx(0.049, abs=0.01) and min(quality["logistic.c1"], quality["knn.15"]) > 3 * quality["dummy"]


@pytest.mark.parametrize("column,kinds,warned", [("plant_id", 40, True), ("SampleNr", 40, True), ("store_id", 4, False), ("acid", 40, False), ("patient", 40, True)])
def test_rows_of_one_thing_are_told_by_names_that_end_as_ids_do(tmp_path, column, kinds, warned):
    rng = np.random.default_rng(0)
    table = [{column: f"n{i % kinds}", "x": round(float(rng.normal(i % 2)), 4), "kind": "ab"[i % 2]} for i in range(160)]
    fed = feed(tmp_path / "1", program([{"name": "x", "tensor": [1]}], [{"name": "kind", "class_count": 2}]), write_csv(tmp_path / "t.csv", table))
    assert any(w["code"] == "repeated_entities" and w["fix"].startswith("with group = ") for w in fed.profile["warnings"]) == warned, fed.profile["warnings"]


def test_a_leak_of_a_rare_class_is_told(tmp_path):
    """Where 4 of 100 are positive, a column that is right in 98 % says nothing; one that tells the positives does."""
    rng = np.random.default_rng(0)
    sick = [i % 25 == 0 for i in range(600)]
    table = [{"crp": round(float(np.exp(rng.normal(1.5 * s))), 3), "code": 7 if s else int(rng.integers(1, 6)), "kind": "yes" if s else "no"} for s in sick]
    prog = program([{"name": "crp", "tensor": [1]}, {"name": "code", "tensor": [1]}], [{"name": "kind", "class_count": 2}])
    fed = feed(tmp_path / "1", prog, write_csv(tmp_path / "t.csv", table))
    assert [w["column"] for w in fed.profile["warnings"] if w["code"] == "gives_answer"] == ["code"]


def test_numbers_that_can_hardly_be_meant(tmp_path):
    rng = np.random.default_rng(0)
    table = [{"age": 999 if i % 17 == 0 else 20 + i % 70, "dose": 1e30 if i == 41 else round(float(x), 4), "weight": round(float(rng.normal(70, 9)), 1), "y": round(float(3 * x), 4)} for i, x in enumerate(rng.normal(size=200))]
    prog = program([{"name": n, "tensor": [1]} for n in ("age", "dose", "weight")], [{"name": "y", "tensor": [1]}])
    fed = feed(tmp_path / "1", prog, write_csv(tmp_path / "t.csv", table))
    found = {w["code"]: w for w in fed.profile["warnings"]}
    assert set(found) == {"code_for_missing", "far_out"} and found["code_for_missing"]["fix"] == "with missing = 999"
    assert found["far_out"]["message"].startswith("dose lies more than 1,000 times as far out as most in example 42.")
    import pyarrow as pa
    from pyarrow import parquet
    parquet.write_table(pa.Table.from_pylist(table), tmp_path / "t.parquet")
    for i, name in enumerate(("t.csv", "t.parquet")):
        said = feed(tmp_path / f"m{i}", prog, tmp_path / name, options={"missing": "999"})
        assert next(f for f in said.profile["fields"] if f["name"] == "age")["missing"] == 12
        assert not any(w["code"] == "code_for_missing" for w in said.profile["warnings"])


def test_answers_that_are_all_the_same(tmp_path):
    prog = program([{"name": "x", "tensor": [1]}], [{"name": "y", "tensor": [1]}])
    fed = feed(tmp_path / "1", prog, write_csv(tmp_path / "t.csv", [{"x": i * i % 83, "y": 7} for i in range(40)]))
    assert any(w["code"] == "constant_answer" for w in fed.profile["warnings"])
    from easeml.trainer.runner import run
    from folders import choose, result, trial, version
    folder = trial(tmp_path / "trial", fed, version(tmp_path / "data", fed), prog, next(c for k, c in choose(fed, prog).items() if k != "dummy"))
    assert run(folder) == 0 and result(folder)["message"].startswith("y is the same in every example to train on")
