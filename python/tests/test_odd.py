"""What is odd in people's data: a stated policy each, with place and remedy. Which test holds which kind of bug that peers were told of: docs/data-bugs.md."""

from __future__ import annotations

import json
import shutil
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import feather, parquet

from easeml.trainer.convert import day_of
from folders import choose, feed, program, result, trial, version, write_csv
from test_decode import DEEP, fits, npy, tiff
from test_pictures import PETS, pets, png, tar

ONE = program([{"name": "x", "tensor": [1]}], [{"name": "kind", "class_count": 3}])


def rows(labels, **more) -> list[dict]:
    """One row a label; x tells the labels apart."""
    of = {label: i for i, label in enumerate(dict.fromkeys(labels))}
    rng = np.random.default_rng(0)
    return [{"x": round(10 * of[label] + float(rng.normal()), 4), **{k: v[i] for k, v in more.items()}, "kind": label} for i, label in enumerate(labels)]


def learned(tmp_path, prog, fed, candidate="logistic.c1"):
    """The result of a trial on a feed."""
    from easeml.trainer.runner import run
    folder = trial(tmp_path / "trial", fed, version(tmp_path / "data", fed), prog, choose(fed, prog)[candidate])
    assert run(folder) == 0
    return folder, result(folder)


def answers(folder, path, **options) -> list[dict]:
    from easeml.trainer.predict import Predictor
    out = path.with_suffix(".ndjson")
    reply = Predictor(folder / "model").reply(json.dumps({"id": 1, "sources": [{"name": path.name, "path": str(path)}], "options": options, "out": str(out)}).encode())
    assert "done" in reply, reply
    return [json.loads(line) for line in out.read_text().splitlines()]


@pytest.mark.parametrize("labels", [["yes", "no"], ["1", "2", "7"], ["0", "1"], ["007", "01", "1"], ["1.5", "2.5"], ["True", "False"], ["süß", "日本", "a b"], ["-1", "1"], ["none", "some"], ["+1", "-1"], ["100000000000000001", "100000000000000002"]])
def test_labels_of_any_type(tmp_path, labels):
    prog = program(ONE["input"]["fields"], [{"name": "kind", "class_count": len(labels)}])
    path = write_csv(tmp_path / "t.csv", rows(labels * 30))
    fed = feed(tmp_path / "1", prog, path)
    assert fed.ok and fed.profile["target"]["kind"] == "classes" and set(fed.profile["target"]["labels"]) == set(labels), fed.profile["target"]
    assert fed.index["label"] == labels * 30
    folder, got = learned(tmp_path, prog, fed)
    assert got["quality"] > 0.9
    assert [a["answer"]["kind"] for a in answers(folder, path)[:len(labels)]] == labels


def test_a_label_that_looks_missing(tmp_path):
    path = write_csv(tmp_path / "t.csv", rows(["NA", "EU"] * 20))
    plain = feed(tmp_path / "1", program(ONE["input"]["fields"], [{"name": "kind", "class_count": 2}]), path)
    assert plain.profile["examples"]["rejected"] == 20 and plain.rejects[0]["reason"] == "kind is missing"
    assert 't.csv: kind counts as missing where it is "NA" (if that is a label, declare it: Class["NA", …])' in plain.profile["read_as"]
    declared = feed(tmp_path / "2", program(ONE["input"]["fields"], [{"name": "kind", "classes": ["NA", "EU"]}]), path)
    assert declared.profile["classes"] == {"NA": 20, "EU": 20}


def test_a_label_that_was_not_there_before(tmp_path):
    prog = program(ONE["input"]["fields"], [{"name": "kind", "classes": ["a", "b"]}])
    fed = feed(tmp_path / "1", prog, write_csv(tmp_path / "t.csv", rows(["a", "b", "a", "B", "bb", "c"] * 10)))
    assert fed.profile["classes"] == {"a": 20, "b": 20} and {(r["value"], r["remedy"]) for r in fed.rejects} == {("bb", 'did you mean "b"?'), ("c", "correct it, or leave the row out")}


def test_every_class_is_counted(tmp_path):
    labels = ["a"] * 60 + ["b"] * 30 + ["c"] * 9 + ["d"]
    fed = feed(tmp_path / "1", program(ONE["input"]["fields"], [{"name": "kind", "class_count": 4}]), write_csv(tmp_path / "t.csv", rows(labels)))
    assert fed.profile["classes"] == Counter(labels) and any(w["code"] == "rare_class" and '"d"' in w["message"] for w in fed.profile["warnings"])


def test_a_class_of_one_or_two_costs_nothing(tmp_path):
    fed = feed(tmp_path / "1", ONE, write_csv(tmp_path / "t.csv", rows(["a"] * 40 + ["b"] * 2 + ["c"])))
    _, got = learned(tmp_path, ONE, fed)
    assert got["outcome"] == "ok" and np.isfinite(got["quality"])


def test_two_classes_of_text(tmp_path):
    prog = program(ONE["input"]["fields"], [{"name": "kind", "tensor": [2]}])
    fed = feed(tmp_path / "1", prog, write_csv(tmp_path / "t.csv", rows(["good", "bad"] * 40)))
    assert learned(tmp_path, prog, fed)[1]["quality"] > 0.9


def test_one_class_only_is_said(tmp_path):
    prog = program(ONE["input"]["fields"], [{"name": "kind", "class_count": 2}])
    fed = feed(tmp_path / "1", prog, write_csv(tmp_path / "t.csv", rows(["a"] * 40)))
    assert fed.profile["classes"] == {"a": 40}
    assert [w["message"] for w in fed.profile["warnings"] if w["code"] == "one_class"] == ['All examples are "a": there is nothing to tell apart, and no model, until others are fed.']
    assert not any(w["code"] == "one_class" for w in feed(tmp_path / "2", prog, write_csv(tmp_path / "u.csv", rows(["a", "b"]))).profile["warnings"])
    _, got = learned(tmp_path, prog, fed)
    assert got["outcome"] == "failed" and got["message"].startswith('Only one class, "a", is among the examples')


def test_five_examples_in_all(tmp_path):
    prog = program(ONE["input"]["fields"], [{"name": "kind", "class_count": 2}])
    fed = feed(tmp_path / "1", prog, write_csv(tmp_path / "t.csv", rows(["a", "b", "a", "b", "a"])))
    assert fed.ok and fed.profile["parts"] == {"train": 5, "validation": 0, "test": 0} and fed.profile["protocol"]["kind"] == "folds"
    offered = choose(fed, prog)
    assert "dummy" in offered and len(offered) > 1  # a real model can be had
    _, got = learned(tmp_path, prog, fed, next(c for c in offered if c != "dummy"))
    assert got["outcome"] == "ok", got


def test_targets_that_are_missing_or_infinite(tmp_path):
    prog = program(ONE["input"]["fields"], [{"name": "y", "tensor": [1]}])
    table = [{"x": i, "y": v} for i, v in enumerate(["1", "", "nan", "inf", "-Infinity", "1e400", "abc", "2"])]
    fed = feed(tmp_path / "1", prog, write_csv(tmp_path / "t.csv", table))
    assert fed.profile["examples"]["accepted"] == 2
    assert [(r["row"], r["reason"]) for r in fed.rejects] == [(3, "y is missing"), (4, "y is missing"), (5, "y is infinite"), (6, "y is infinite"), (7, "y is infinite"), (8, '"abc" is not a number')]


def test_missing_is_a_state_of_its_own(tmp_path):
    prog = program([{"name": "x", "tensor": [1]}, {"name": "sex", "class_count": 2}], [{"name": "kind", "class_count": 3}])
    path = write_csv(tmp_path / "t.csv", rows(["a", "b", "c"] * 30, sex=["f", "m", ""] * 30))
    fed = feed(tmp_path / "1", prog, path)
    about = next(f for f in fed.profile["fields"] if f["name"] == "sex")
    assert about["levels"] == {"f": 30, "m": 30} and about["missing"] == 30
    folder, got = learned(tmp_path, prog, fed)
    assert got["quality"] > 0.9 and len(answers(folder, path)) == 90


def test_categories_of_hundreds_of_levels_and_unseen_ones(tmp_path):
    prog = program([{"name": "x", "tensor": [1]}, {"name": "city", "class_count": 3}], [{"name": "kind", "class_count": 3}])
    path = write_csv(tmp_path / "t.csv", rows(["a", "b"] * 200, city=[f"city {i // 2}" for i in range(400)]))
    fed = feed(tmp_path / "1", prog, path)
    assert "city has 200 different values: the 50 most frequent count one by one, the others as one" in fed.profile["read_as"]
    folder, got = learned(tmp_path, prog, fed)
    assert got["outcome"] == "ok"
    new = write_csv(tmp_path / "new.csv", [{"x": 0.1, "city": "a place never seen"}, {"x": 10, "city": ""}])
    assert [a["answer"]["kind"] for a in answers(folder, new)] == ["a", "b"]
    few = feed(tmp_path / "2", prog, write_csv(tmp_path / "u.csv", rows(["a", "b"] * 20, city=[f"c{i % 5}" for i in range(40)])))
    assert "city has 5 different values, though Class[3] is declared; all are kept" in few.profile["read_as"]


def test_text_is_hashed_and_said(tmp_path):
    rng = np.random.default_rng(0)
    good, bad = ["lovely", "great", "fine", "sunny", "sweet"], ["awful", "broken", "dull", "sad", "sour"]
    labels = ["good", "bad"] * 60
    texts = [" ".join(rng.choice(good if label == "good" else bad, 4)) + f" no {i}" for i, label in enumerate(labels)]
    prog = program([{"name": "review", "class_count": 1000}], [{"name": "kind", "class_count": 2}])
    path = write_csv(tmp_path / "t.csv", [{"review": t, "kind": k} for t, k in zip(texts, labels)])
    fed = feed(tmp_path / "1", prog, path)
    assert "review is text: models see its words, hashed into 256 columns" in fed.profile["read_as"]
    assert not any(w["code"] == "id_column" for w in fed.profile["warnings"])
    for id in ("logistic.c1", "forest.300"):
        shutil.rmtree(tmp_path / "trial", ignore_errors=True)
        shutil.rmtree(tmp_path / "data", ignore_errors=True)
        folder, got = learned(tmp_path, prog, fed, id)
        assert got["quality"] > 0.9
    new = write_csv(tmp_path / "new.csv", [{"review": "a great and sunny day"}, {"review": "sad, sour, awful"}])
    assert [a["answer"]["kind"] for a in answers(folder, new)] == ["good", "bad"]


def test_columns_without_a_field_are_named(tmp_path):
    path = write_csv(tmp_path / "t.csv", rows(["a", "b"] * 30, notes=["hello"] * 60, age=[3] * 60, secret=[1] * 60))
    fed = feed(tmp_path / "1", ONE, path, options={"ignore": "secret"})
    assert "t.csv: left out, as no field bears the name: notes, age" in fed.profile["read_as"]


def test_duplicate_and_strange_names(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(' Größe (cm) ,x,x,"a\nb",,kind\n' + "".join(f"{i},{i},{-i},1,2,{'ab'[i % 2]}\n" for i in range(40)))
    prog = program([{"name": "gr_e_cm", "tensor": [1]}, {"name": "x", "tensor": [1]}], [{"name": "kind", "class_count": 2}])
    fed = feed(tmp_path / "1", prog, path)
    assert fed.last["type"] == "failed" and 't.csv has no column x; it has "x (1)".' == fed.last["message"] and fed.last["hint"] == 'If they are the same: using x = "x (1)"'
    fed = feed(tmp_path / "2", prog, path, using={"x": "x (2)"})
    assert fed.ok and fed.examples["x"][3] == [-3.0] and fed.examples["gr_e_cm"][3] == [3.0]
    assert 't.csv: 2 columns are called "x"; they are "x (1)" to "x (2)" here' in fed.profile["read_as"]
    assert "t.csv: left out, as no field bears the name: x (1), a b, column_5" in fed.profile["read_as"]


def test_dates(tmp_path):
    assert day_of("1970-01-02") == 1 and day_of("1970-01-01T12:00:00Z") == 0.5 and day_of("1970-01-01 12:00+12:00") == 0 and day_of("2.1.1970") == 1
    assert day_of("1969-12-31") == -1 and day_of("0001-01-01") is not None
    assert day_of("1/2/2026") is None and day_of("2026-13-01") is None and day_of("31.2.2026") is None and day_of("10000-01-01") is None and day_of("x") is None
    prog = program([{"name": "seen", "tensor": [1]}], [{"name": "kind", "class_count": 2}])
    cells = ["2026-01-31", "2026-02-01T10:30:00+02:00", "1.2.2026", "", "2026-02-31", "20260101", "3/4/2026", "2026-03-01 08:00"]
    fed = feed(tmp_path / "1", prog, write_csv(tmp_path / "t.csv", [{"seen": c, "kind": "ab"[i % 2]} for i, c in enumerate(cells)]))
    assert "t.csv: seen is read as dates: days since 1970-01-01 (UTC)" in fed.profile["read_as"]
    assert [(r["value"], r["remedy"]) for r in fed.rejects] == [("2026-02-31", "correct it"), ("20260101", "correct it"), ("3/4/2026", "write dates as 2026-01-31")]
    assert len(fed.examples["seen"]) == 5 and np.isnan(fed.examples["seen"][3][0])
    mixed = feed(tmp_path / "2", prog, write_csv(tmp_path / "u.csv", [{"seen": v, "kind": "ab"[i % 2]} for i, v in enumerate(["1", "2", "3", "4", "2026-01-31"])]))
    assert [r["value"] for r in mixed.rejects] == ["2026-01-31"]  # a date among numbers is out of place


def test_truth_values(tmp_path):
    prog = program([{"name": "x", "tensor": [1]}, {"name": "wild", "tensor": [1]}], [{"name": "kind", "class_count": 2}])
    for i, (yes, no) in enumerate([("true", "false"), ("TRUE", "FALSE"), ("Yes", "no")]):
        fed = feed(tmp_path / str(i), prog, write_csv(tmp_path / f"{i}.csv", rows(["a", "b"] * 20, wild=[yes, no] * 19 + ["", "maybe"])))
        assert fed.profile["examples"]["rejected"] == (39 if i == 99 else len(fed.rejects))
        got = [v[0] for v in fed.examples["wild"][:2]] if len(fed.examples["wild"]) > 2 else None
        assert got in ([1.0, 0.0], None)


def test_a_table_without_rows_is_said_to_be_one(tmp_path):
    """A header alone; beside a file with rows it costs nothing."""
    for ending, head in {"csv": "x,kind", "tsv": "x\tkind\n", "arrow": None, "parquet": None}.items():
        path = tmp_path / f"empty.{ending}"
        if head:
            path.write_text(head)
        else:
            t = pa.table({"x": pa.array([], pa.float64()), "kind": pa.array([], pa.string())})
            feather.write_feather(t, path) if ending == "arrow" else parquet.write_table(t, path)
        last = feed(tmp_path / ending, ONE, path).last
        assert last["type"] == "failed" and last["message"] == f"empty.{ending} has no rows, only names of columns.", last
    fed = feed(tmp_path / "two", ONE, tmp_path / "empty.csv", write_csv(tmp_path / "some.csv", rows(["a", "b", "c"] * 4)))
    assert fed.profile["examples"]["accepted"] == 12


def test_constant_and_empty_columns(tmp_path):
    prog = program([{"name": n, "tensor": [1]} for n in ("x", "same", "nearly", "empty")], [{"name": "kind", "class_count": 2}])
    path = write_csv(tmp_path / "t.csv", rows(["a", "b"] * 30, same=[5] * 60, nearly=[5] * 59 + [""], empty=[""] * 60))
    fed = feed(tmp_path / "1", prog, path)
    assert {w["code"] for w in fed.profile["warnings"]} >= {"constant_column", "empty_column"}
    for id in ("logistic.c1", "forest.300", "knn.5"):
        shutil.rmtree(tmp_path / "trial", ignore_errors=True)
        shutil.rmtree(tmp_path / "data", ignore_errors=True)
        folder, got = learned(tmp_path, prog, fed, id)
        assert got["quality"] > 0.9
        assert len(answers(folder, write_csv(tmp_path / "new.csv", [{"x": 0, "same": "", "nearly": "", "empty": 3}]))) == 1


def test_parts_are_disjoint_and_add_up(tmp_path):
    table = rows(["a", "b", "c"] * 200)
    fed = feed(tmp_path / "1", ONE, write_csv(tmp_path / "t.csv", table + table[:90]))
    assert sum(fed.profile["parts"].values()) == 690 == len(fed.index["number"])
    of: dict[str, set] = {}
    for h, part in zip(fed.index["input_hash"], fed.index["part"]):
        of.setdefault(h, set()).add(part)
    assert all(len(parts) == 1 for parts in of.values()) and len(of) < 690


def test_pictures_of_every_kind_in_one_folder(tmp_path):
    files = pets(20)
    grey = np.arange(64, dtype=np.uint8).reshape(8, 8)
    exif = Image.Exif()
    exif[0x0112] = 6
    for name, content in {"deep.tif": tiff(DEEP), "sky.fits": fits(DEEP.astype(np.float32)), "array.npy": npy(grey), "wide.png": png(np.zeros((4, 40), np.uint8)),
                          "clear.png": png(Image.new("RGBA", (8, 8), (9, 9, 9, 0))), "palette.gif": png(grey, format="GIF"), "turned.jpg": png(grey, format="JPEG", exif=exif),
                          "cmyk.jpg": png(Image.new("CMYK", (8, 8)), format="JPEG"), "bits.png": png(grey, "1")}.items():
        files["cat/" + name] = content
    for name, content in {"empty.png": b"", "page.png": b"<html>", "cut.tif": tiff(DEEP)[:90], "cut.fits": fits(DEEP)[:2900], "table.npy": npy(np.zeros((3, 3)))}.items():
        files["dog/" + name] = content
    fed = feed(tmp_path / "1", PETS, tar(tmp_path / "t", files), names=["pets/"])
    assert fed.ok and fed.profile["examples"]["accepted"] == 29, fed.rejects
    assert {r["source"] for r in fed.rejects} == {f"pets/dog/{n}" for n in ("empty.png", "page.png", "cut.tif", "cut.fits", "table.npy")}
    assert all(r["remedy"] and len(r["reason"]) < 120 for r in fed.rejects)
