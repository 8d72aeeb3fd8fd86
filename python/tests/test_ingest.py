"""Ingest: reading, matching, rejects with their place, feeding twice, parts that stay."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest

from folders import DIGITS, SHOP, digits, feed, program, shop_rows, write_csv


def test_digits(tmp_path):
    fed = feed(tmp_path / "1", DIGITS, digits(tmp_path))
    p = fed.profile
    assert p["examples"] == {"read": 1797, "accepted": 1797, "known": 0, "rejected": 0}
    assert p["target"] == {"kind": "classes", "labels": [str(i) for i in range(10)], "type": "whole"}
    assert p["parts"] == {"train": 1259, "validation": 269, "test": 269} and p["protocol"] == {"kind": "holdout"}
    assert p["metric"]["name"] == "accuracy" and p["guess"]["quality"] == pytest.approx(183 / 1797, abs=1e-4)
    assert fed.index["number"] == list(range(1, 1798)) and fed.index["row"][0] == 0
    assert p["read_as"] == []
    assert [e["name"] for e in fed.events if e["type"] == "phase"] == ["load", "evaluate", "save"]
    # Each part has its share of each class, to within one example.
    for label, n in p["classes"].items():
        of = Counter(part for part, x in zip(fed.index["part"], fed.index["label"]) if x == label)
        assert abs(of["test"] - 0.15 * n) <= 1 and abs(of["validation"] - 0.15 * n) <= 1


def test_labels_out_of_range_are_rejected_by_row(tmp_path):
    from sklearn.datasets import load_digits
    data = load_digits()
    y = data.target.copy()
    y[[17, 90, 412]] = 12
    np.savez(tmp_path / "d.npz", X=data.data, y=y)
    fed = feed(tmp_path / "1", DIGITS, tmp_path / "d.npz")
    assert [(r["row"], r["counted_from"], r["reason"]) for r in fed.rejects] == \
        [(i, 0, "digit 12, but there are classes 0–9") for i in (17, 90, 412)]
    assert fed.profile["examples"]["accepted"] == 1794 and "d.npz: rows are counted from 0" in fed.profile["read_as"]
    assert fed.profile["target"]["labels"] == [str(i) for i in range(10)]


def test_feeding_twice_adds_nothing_and_more_rows_keep_parts(tmp_path):
    first = feed(tmp_path / "1", DIGITS, digits(tmp_path, slice(0, 900), "a.npz"))
    again = feed(tmp_path / "2", DIGITS, tmp_path / "a.npz", target=first.profile["target"], known=first.known(), first_number=901)
    assert again.profile["examples"] == {"read": 900, "accepted": 0, "known": 900, "rejected": 0}
    assert again.profile["parts"] == first.profile["parts"] and again.profile["classes"] == first.profile["classes"]
    more = feed(tmp_path / "3", DIGITS, digits(tmp_path, slice(0, 1797), "b.npz"), target=first.profile["target"], known=first.known(), first_number=901)
    assert more.profile["examples"]["known"] == 900 and more.index["number"] == list(range(901, 1798))
    # Deficits are over all examples: the shares hold for the whole, though the rule for small data gave 20 % first.
    assert more.profile["rows"] == 1797 and sum(more.profile["parts"].values()) == 1797
    assert abs(more.profile["parts"]["test"] - 0.15 * 1797) <= 10


def test_a_second_copy_is_one_more_example_in_the_same_part(tmp_path):
    x, y = np.arange(400.0).reshape(100, 4), np.arange(100) % 2
    prog = program([{"name": "x", "tensor": [4]}], [{"name": "y", "class_count": 2}])
    np.savez(tmp_path / "a.npz", x=x, y=y)
    first = feed(tmp_path / "1", prog, tmp_path / "a.npz")
    np.savez(tmp_path / "b.npz", x=np.vstack([x, x[:30]]), y=np.concatenate([y, 1 - y[:30]]))  # same inputs, other labels
    second = feed(tmp_path / "2", prog, tmp_path / "b.npz", target=first.profile["target"], known=first.known(), first_number=101)
    assert second.profile["examples"]["accepted"] == 30
    assert second.index["part"] == first.index["part"][:30]
    np.savez(tmp_path / "c.npz", x=np.vstack([x, x[:5]]), y=np.concatenate([y, y[:5]]))  # the very same rows twice
    third = feed(tmp_path / "3", prog, tmp_path / "c.npz", target=first.profile["target"], known=first.known(), first_number=101)
    assert third.profile["examples"] == {"read": 105, "accepted": 5, "known": 100, "rejected": 0}


def test_parts_depend_on_nothing_but_the_examples(tmp_path):
    rows = shop_rows(400)
    a = feed(tmp_path / "1", SHOP, write_csv(tmp_path / "a.csv", rows))
    b = feed(tmp_path / "2", SHOP, write_csv(tmp_path / "b.csv", rows[::-1]))
    part = lambda f: dict(zip(f.index["example_hash"], f.index["part"]))  # noqa: E731
    assert part(a) == part(b)


def test_csv_with_categories_and_missing(tmp_path):
    fed = feed(tmp_path / "1", SHOP, write_csv(tmp_path / "shop.csv", shop_rows(400)))
    p = fed.profile
    assert p["examples"]["accepted"] == 400 and p["target"]["labels"] == ["pen", "book"]
    fields = {f["name"]: f for f in p["fields"]}
    assert fields["size"]["missing"] > 20 and fields["color"]["missing"] > 20 and set(fields["color"]["levels"]) == {"red", "green", "blue"}
    assert fed.index["row"][0] == 2  # the header is row 1
    i = next(i for i, v in enumerate(fed.examples["color"]) if v is None)
    assert fed.examples["kind"][i] in ("pen", "book")
    assert any(np.isnan(v[0]) for v in fed.examples["size"])


def test_rejects_name_the_line_an_editor_shows(tmp_path):
    path = tmp_path / "shop.csv"
    path.write_text('size,color,weight,kind\n1,red,5,pen\n\n2,"red",abc,pen\n3,"bl\nue",7,book\n4,red,8,pencil\n5,red,inf,pen\n6,red,9\n7,red,3,\n8,red,4,book\n')
    fed = feed(tmp_path / "1", SHOP, path)
    assert fed.profile["examples"] == {"read": 8, "accepted": 3, "known": 0, "rejected": 5}
    assert [(r["row"], r["line"], r["column"], r["value"]) for r in fed.rejects] == [
        (4, 4, "weight", "abc"), (6, 7, "kind", "pencil"), (7, 8, "weight", "inf"), (8, 9, None, None), (9, 10, "kind", None)]
    reasons = [r["reason"] for r in fed.rejects]
    assert reasons[0] == '"abc" is not a number' and reasons[1] == 'kind "pencil", but there are "pen", "book"'
    assert reasons[3] == "3 cells, but there are 4 columns" and reasons[4] == "kind is missing"
    assert fed.rejects[1]["remedy"] == 'did you mean "pen"?'


@pytest.mark.parametrize("delimiter,encoding,decimal", [(";", "utf-8", ","), ("\t", "utf-16", "."), ("|", "cp1252", "."), (",", "utf-8-sig", ".")])
def test_delimiter_decimal_and_encoding_are_found_out(tmp_path, delimiter, encoding, decimal):
    prog = program([{"name": "grösse", "tensor": [1]}], [{"name": "art", "class_count": 2}])
    prog["input"]["fields"][0]["name"] = "gr_sse"
    rows = [{"Größe": f"{i + 0.5}".replace(".", decimal), "Art": "süß" if i % 2 else "sauer"} for i in range(40)]
    fed = feed(tmp_path / "1", prog, write_csv(tmp_path / "t.csv", rows, delimiter=delimiter, encoding=encoding), using={"gr_sse": "Größe"})
    assert fed.ok, fed.last
    assert fed.profile["target"]["labels"] == ["sauer", "süß"]
    assert fed.examples["gr_sse"][0] == [0.5]


def test_options_and_using(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("1.5;a;x\n2.5;b;?\n3.5;a;x\n")
    prog = program([{"name": "v", "tensor": [1]}, {"name": "c", "class_count": 5}], [{"name": "out", "class_count": 2}])
    fed = feed(tmp_path / "1", prog, path, using={"v": "column_1", "c": "column_3"}, output=["column_2"],
               options={"header": "off", "delimiter": "semicolon", "missing": ["?"]})
    assert fed.ok and fed.examples["c"] == ["x", None, "x"] and fed.index["label"] == ["a", "b", "a"] and fed.index["row"] == [1, 2, 3]


def test_anonymous_input_takes_the_columns_that_are_left(tmp_path):
    prog = program([{"tensor": [3], "anonymous": True}], [{"tensor": [2], "anonymous": True}])
    rows = [{"a": i, "b": i * i, "species": "xy"[i % 2], "c": -i} for i in range(70)]
    fed = feed(tmp_path / "1", prog, write_csv(tmp_path / "t.csv", rows), output=["species"])
    assert fed.ok and fed.examples["input"][3] == [3, 9, -3]
    assert fed.profile["target"] == {"kind": "classes", "labels": ["x", "y"]}  # labels for Tensor[2] are classes, and it is said
    assert any("one of 2 classes" in note for note in fed.profile["read_as"])
    last = feed(tmp_path / "2", prog, write_csv(tmp_path / "u.csv", [{k: r[k] for k in ("a", "b", "c", "species")} for r in rows]))
    assert last.ok and any("species, the last column, is taken" in note for note in last.profile["read_as"])


def test_spread_columns_one_hot_and_real_outputs(tmp_path):
    prog = program([{"name": "x", "tensor": [2]}], [{"name": "y", "tensor": [2]}])
    hot = [{"x_0": i, "x_1": -i, "y_cat": int(i % 3 == 0), "y_dog": int(i % 3 != 0)} for i in range(80)]
    fed = feed(tmp_path / "1", prog, write_csv(tmp_path / "h.csv", hot), output=["y_cat", "y_dog"])
    assert fed.profile["target"] == {"kind": "classes", "labels": ["cat", "dog"]} and fed.index["label"][:2] == ["cat", "dog"]
    real = [{"X 0": i, "X 1": -i, "y_0": i / 7, "y_1": i / 3} for i in range(80)]
    fed = feed(tmp_path / "2", prog, write_csv(tmp_path / "r.csv", real))
    assert fed.profile["target"]["kind"] == "numbers" and len(fed.profile["target"]["quantile_edges"]) == 9
    assert fed.profile["metric"]["name"] == "r2" and fed.profile["guess"] == {"text": "always the mean", "quality": 0.0}


def test_json_in_all_its_forms(tmp_path):
    rows = [{"size": 1.5, "color": "red", "weight": None, "kind": "pen"}, {"size": 2, "color": None, "weight": 3, "kind": "book"}]
    forms = {"array.json": json.dumps(rows), "lines.jsonl": "\n".join(map(json.dumps, rows)) + "\n", "one.json": json.dumps(rows[0])}
    for i, (name, text) in enumerate(forms.items()):
        (tmp_path / name).write_text(text)
        fed = feed(tmp_path / str(i), SHOP, tmp_path / name, names=["this cell"])
        assert fed.ok and fed.profile["examples"]["accepted"] == (1 if name == "one.json" else 2), (name, fed.last)
    (tmp_path / "bad.jsonl").write_text(json.dumps(rows[0]) + "\n{oops\n[1]\n" + json.dumps(rows[1]) + "\n")
    fed = feed(tmp_path / "bad", SHOP, tmp_path / "bad.jsonl")
    assert fed.profile["examples"]["accepted"] == 2 and [r["line"] for r in fed.rejects] == [2, 3]
    pictures = [{"image": np.ones((8, 8)).tolist(), "digit": 3}, {"image": [1, 2], "digit": 4}]
    (tmp_path / "p.json").write_text(json.dumps(pictures))
    fed = feed(tmp_path / "p", DIGITS, tmp_path / "p.json")
    assert fed.profile["examples"]["accepted"] == 1 and fed.rejects[0]["reason"] == "image has 2 numbers, but is Tensor[8, 8, 1]"


FAILURES = {
    "no such column": (SHOP, "t.csv", b"size,colour,weight,kind\n1,red,2,pen\n", 'has no column color; it has "colour"', 'using color = "colour"'),
    "not whole": (DIGITS, "t.npz", b"PK\x03\x04 half a file", "is not a whole NPZ file", "again"),
    "empty": (SHOP, "t.csv", b"", "t.csv is empty", ""),
    "not JSON": (SHOP, "t.json", b'[{"size": 1,]', "t.json, line 1, column 13", ""),
    "binary": (SHOP, "t.csv", b"a,b\n" + bytes(200), "not a text table", ""),
    "unknown kind": (SHOP, "t.docx", b"PK\x03\x04....", "can't be read", "CSV"),
    "two columns alike": (SHOP, "t.csv", b"size,Color,color ,weight,kind\n1,a,b,2,pen\n", "", ""),
}


@pytest.mark.parametrize("case", FAILURES)
def test_a_file_that_cannot_be_used_is_one_clear_sentence(tmp_path, case):
    prog, name, content, message, hint = FAILURES[case]
    (tmp_path / name).write_bytes(content)
    fed = feed(tmp_path / "1", prog, tmp_path / name)
    if not message:  # "color" is there exactly: the other one is simply not used
        assert fed.ok
        return
    assert fed.last["type"] == "failed" and message in fed.last["message"], fed.last
    assert hint in fed.last.get("hint", "") and fed.last["where"]["file"] == name
    assert not (tmp_path / "1" / "index.arrow").exists()


def test_shapes_and_lengths_that_do_not_fit(tmp_path):
    np.savez(tmp_path / "a.npz", image=np.zeros((5, 28, 28)), digit=np.arange(5))
    fed = feed(tmp_path / "1", DIGITS, tmp_path / "a.npz")
    assert fed.last["message"] == "a.npz: image has 28×28 a row, but image is Tensor[8, 8, 1]."
    np.savez(tmp_path / "b.npz", image=np.zeros((5, 8, 8)), digit=np.arange(4))
    fed = feed(tmp_path / "2", DIGITS, tmp_path / "b.npz")
    assert fed.last["message"] == "b.npz: image has 5 rows, but digit has 4."
    np.savez(tmp_path / "c.npz", image=np.array([{}] * 3, dtype=object), digit=np.arange(3))
    fed = feed(tmp_path / "3", DIGITS, tmp_path / "c.npz")
    assert "Python objects" in fed.last["message"]


def test_far_too_many_labels_is_about_the_column(tmp_path):
    rows = [{"size": i, "color": "red", "weight": 1, "name": f"n{i}"} for i in range(50)]
    prog = program(SHOP["input"]["fields"], [{"name": "kind", "class_count": 2}])
    fed = feed(tmp_path / "1", prog, write_csv(tmp_path / "t.csv", rows))
    assert fed.last["type"] == "failed" and "50 different labels" in fed.last["message"] and "Class[50]" in fed.last["hint"]


def test_classes_fed_one_by_one(tmp_path):
    prog = program([{"name": "v", "tensor": [1]}], [{"name": "animal", "class_count": 3}])
    first = feed(tmp_path / "1", prog, write_csv(tmp_path / "a.csv", [{"v": i, "animal": "cat"} for i in range(30)]))
    second = feed(tmp_path / "2", prog, write_csv(tmp_path / "b.csv", [{"v": i, "animal": "ant"} for i in range(30)]),
                  target=first.profile["target"], known=first.known(), first_number=31)
    assert second.profile["target"]["labels"] == ["cat", "ant"]  # at the end: what is settled doesn't move
    assert second.profile["classes"] == {"cat": 30, "ant": 30}


def test_groups_never_straddle_and_order_tests_the_latest(tmp_path):
    rng = np.random.default_rng(0)
    rows = [{**r, "patient": int(rng.integers(80)), "day": f"2024-{1 + i // 40:02d}-{1 + i % 28:02d}"} for i, r in enumerate(shop_rows(440))]
    path = write_csv(tmp_path / "t.csv", rows)
    fed = feed(tmp_path / "1", SHOP, path, options={"group": "patient"})
    of: dict = {}
    for row, part in zip(fed.index["row"], fed.index["part"]):
        of.setdefault(rows[row - 2]["patient"], set()).add(part)
    assert all(len(parts) == 1 for parts in of.values()) and {"train", "test"} == set().union(*of.values())
    plain = feed(tmp_path / "2", SHOP, path)
    assert [(w["code"], w["fix"]) for w in plain.profile["warnings"]] == [("repeated_entities", "with group = patient"), ("dates", "with order = day")]
    timed = feed(tmp_path / "3", SHOP, path, options={"order": "day"})
    days = {p: [rows[r - 2]["day"] for r, q in zip(timed.index["row"], timed.index["part"]) if q == p] for p in ("train", "validation", "test")}
    assert max(days["train"]) <= min(days["validation"]) and max(days["validation"]) <= min(days["test"])


def test_small_data_has_folds_and_tiny_data_no_test_part(tmp_path):
    small = feed(tmp_path / "1", SHOP, write_csv(tmp_path / "a.csv", shop_rows(150)))
    assert small.profile["protocol"] == {"kind": "folds", "k": 5} and small.profile["parts"] == {"train": 120, "validation": 0, "test": 30}
    tiny = feed(tmp_path / "2", SHOP, write_csv(tmp_path / "b.csv", shop_rows(50)))
    assert tiny.profile["parts"] == {"train": 50, "validation": 0, "test": 0}
    chosen = feed(tmp_path / "3", SHOP, tmp_path / "a.csv", folds=3, test=0.4)
    assert chosen.profile["protocol"] == {"kind": "folds", "k": 3} and chosen.profile["parts"]["test"] == 60
    known = {"target": small.profile["target"], "known": small.known(), "first_number": 151}
    more = feed(tmp_path / "4", SHOP, write_csv(tmp_path / "c.csv", shop_rows(849, seed=1)), **known)
    assert more.profile["protocol"]["kind"] == "folds" and more.profile["parts"]["validation"] == 0
    large = feed(tmp_path / "5", SHOP, write_csv(tmp_path / "d.csv", shop_rows(850, seed=1)), **known)
    assert large.profile["protocol"] == {"kind": "holdout"} and large.profile["parts"] == {"train": 700, "validation": 150, "test": 150}


def test_warnings_and_rare_classes(tmp_path):
    rng = np.random.default_rng(0)
    rows = [{"row_id": i, "code": int(i % 25 == 0) * 3 + 1, "same": 4, "y": "yes" if i % 25 == 0 else "no", "noise": rng.normal()} for i in range(500)]
    prog = program([{"name": n, "tensor": [1]} for n in ("row_id", "code", "same", "noise")], [{"name": "y", "classes": ["no", "yes"]}])
    p = feed(tmp_path / "1", prog, write_csv(tmp_path / "t.csv", rows)).profile
    assert p["metric"]["name"] == "average_precision" and p["guess"]["quality"] == pytest.approx(0.04)
    codes = {w["column"]: w["code"] for w in p["warnings"]}
    assert codes["row_id"] == "id_column" and codes["same"] == "constant_column"
    for r in rows:  # two classes alike, and a column that gives them away
        r["y"] = "yes" if r["noise"] > 0 else "no"
        r["code"] = int(r["noise"] > 0)
    p = feed(tmp_path / "2", prog, write_csv(tmp_path / "u.csv", rows)).profile
    assert any(w["code"] == "gives_answer" and w["column"] == "code" for w in p["warnings"])
    many = [{"v": i, "animal": "eel" if i < 6 else "cat" if i % 2 else "dog"} for i in range(200)]
    prog = program([{"name": "v", "tensor": [1]}], [{"name": "animal", "class_count": 3}])
    p = feed(tmp_path / "3", prog, write_csv(tmp_path / "v.csv", many)).profile
    assert p["metric"]["name"] == "balanced_accuracy" and "eel is rare (3.0 %)" in p["metric"]["reason"]


def test_numbers_out_of_place_in_the_target(tmp_path):
    prog = program([{"name": "v", "tensor": [1]}], [{"name": "price", "tensor": [1]}])
    rows = [{"v": i, "price": 2.5 * i} for i in range(100)]
    rows[3]["price"], rows[4]["price"], rows[5]["price"] = "nan", "inf", "a lot"
    fed = feed(tmp_path / "1", prog, write_csv(tmp_path / "t.csv", rows))
    assert [(r["row"], r["reason"]) for r in fed.rejects] == [(5, "price is missing"), (6, "price is infinite"), (7, '"a lot" is not a number')]
    assert fed.profile["parts"]["test"] in (19, 20)
