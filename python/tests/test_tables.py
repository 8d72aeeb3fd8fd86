"""Tables in every kind of file: the same rows come out, whatever they lay in; and what `infer` answers is the same too."""

from __future__ import annotations

import json

import numpy as np
import pytest

from easeml.trainer.convert import day_of
from folders import choose, feed, trial, version
from tables import KINDS, PLANTS, make, plants, text


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_rows_come_out_of_every_kind(tmp_path, kind):
    rows = plants()
    fed = feed(tmp_path / "1", PLANTS, make(tmp_path, kind, rows))
    assert fed.ok, fed.last
    assert fed.profile["examples"] == {"read": 80, "accepted": 80, "known": 0, "rejected": 0}, fed.rejects[:3]
    nan = lambda v: float("nan") if v is None else v  # noqa: E731
    assert np.array_equal(np.array(fed.examples["height"])[:, 0], np.array([nan(r["Height"]) for r in rows]), equal_nan=True)
    assert [v[0] for v in fed.examples["leaves"]] == [r["leaves"] for r in rows]
    assert fed.examples["color"] == [r["color"] for r in rows]
    assert [v[0] for v in fed.examples["seen"]] == [day_of(r["seen"]) for r in rows]
    assert [v[0] for v in fed.examples["wild"]] == [float(r["wild"]) for r in rows]
    assert fed.index["label"] == [r["kind"] for r in rows]
    types = {} if kind.endswith((".csv", ".tsv", ".txt")) or "packed.csv" in kind else {"type": "text"}
    assert fed.profile["target"] == {"kind": "classes", "labels": ["oak", "elm"], **types}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model of the plants."""
    from easeml.trainer.predict import Predictor
    from easeml.trainer.runner import run
    folder = tmp_path_factory.mktemp("model")
    fed = feed(folder / "1", PLANTS, make(folder, "plants.parquet", plants()))
    candidate = choose(fed, PLANTS)["logistic.c1"]
    run(trial(folder / "trial", fed, version(folder / "data", fed), PLANTS, candidate))
    return Predictor(folder / "trial" / "model")


@pytest.mark.parametrize("kind", KINDS)
def test_infer_answers_the_same_from_every_kind(tmp_path, model, kind):
    rows = plants(30, seed=1)
    path, out = make(tmp_path, kind, rows), tmp_path / "answers.ndjson"
    reply = model.reply(json.dumps({"id": 1, "sources": [{"name": path.name, "path": str(path)}], "out": str(out)}).encode())
    assert reply.get("done", {}).get("answers") == 30, reply
    answers = [json.loads(line) for line in out.read_text().splitlines()]
    right = sum(a["answer"]["kind"] == r["kind"] for a, r in zip(answers, rows))
    assert right >= 28
    if "values" in answers[0]:  # arrays are not echoed
        names = ["Height", "leaves", "color", "seen", "wild", "kind"]
        height, leaves, *_, label = names = [n.upper() for n in names] if kind == "plants.por" else names  # it has capitals only
        assert list(answers[0]["values"]) == names
        assert answers[5]["values"][height] == "" and answers[0]["values"][label] == "oak"
        assert answers[1]["values"][leaves] == str(rows[1]["leaves"])


def test_what_was_found_out_is_said(tmp_path):
    rows = plants()
    said = {kind: "; ".join(feed(tmp_path / str(i), PLANTS, make(tmp_path, kind, rows)).profile["read_as"])
            for i, kind in enumerate(["semicolon.csv", "titled.csv", "titled.xlsx", "plants.sav", "comma.csv"])}
    assert "separated by semicolons" in said["semicolon.csv"] and "decimal commas" in said["semicolon.csv"]
    assert "names of the columns are in row 3" in said["titled.csv"] and "names of the columns are in row 3" in said["titled.xlsx"]
    assert "value labels of color, kind are used" in said["plants.sav"]
    assert "seen is read as dates: days since 1970-01-01 (UTC)" in said["comma.csv"]
    assert "wild is read as 1 for true and 0 for false" in said["comma.csv"]


def test_sheets_and_header_rows(tmp_path):
    from tables import workbook
    path, rows = tmp_path / "book.xlsx", plants()
    workbook(path, rows, above=3, sheets=("Notes", "Plants 2024"))
    first = feed(tmp_path / "1", PLANTS, path)
    assert first.ok and 'book.xlsx: the first sheet, "Notes", is read; it also has "Plants 2024"' in first.profile["read_as"]
    for i, options in enumerate([{"sheet": "Plants 2024"}, {"sheet": "plants 2024", "header": "4"}, {"sheet": "2", "header": "on"}]):
        fed = feed(tmp_path / f"a{i}", PLANTS, path, options=options)
        assert fed.ok and fed.profile["examples"]["accepted"] == 80 and fed.index["row"][0] == 5, fed.last
    for i, (options, said, hint) in enumerate([({"sheet": "Other"}, 'book.xlsx has no sheet "Other"; it has "Notes", "Plants 2024".', 'Say which: with sheet = "Notes"'),
                                               ({"header": "900"}, "has only 84 rows", "header = 1"), ({"header": "maybe"}, 'not "maybe"', None)]):
        fed = feed(tmp_path / f"b{i}", PLANTS, path, options=options)
        assert fed.last["type"] == "failed" and said in fed.last["message"] and (hint is None or hint in fed.last["hint"]), fed.last


def test_cells_of_a_workbook_are_rejected_by_their_row(tmp_path):
    import openpyxl
    book = openpyxl.Workbook()
    for row in (["Height", "kind"], [1, "oak"], [None, None], ["tall", "elm"], [2.5, "ash"], [3, None]):
        book.active.append(row)
    book.save(tmp_path / "b.xlsx")
    from folders import program
    fed = feed(tmp_path / "1", program([{"name": "height", "tensor": [1]}], [{"name": "kind", "classes": ["oak", "elm"]}]), tmp_path / "b.xlsx")
    assert [(r["row"], r["column"], r["value"], r["reason"]) for r in fed.rejects] == [
        (4, "Height", "tall", '"tall" is not a number'), (5, "kind", "ash", 'kind "ash", but there are "oak", "elm"'), (6, "kind", None, "kind is missing")]


def test_merged_cells_formulas_and_dates_among_names(tmp_path):
    """What spreadsheets do to tables: a cell for several rows, formulas that a program wrote, genes that became days."""
    import datetime

    import openpyxl
    from folders import program
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["Greenhouse of 2024"])
    sheet.merge_cells("A1:D1")
    sheet.append(["genotype", "gene", "height", "area"])
    for i in range(30):
        sheet.append([["WT", "mut"][i // 3 % 2] if i % 3 == 0 else None, datetime.datetime(2024, 9, 2) if i % 5 == 0 else "TP53", 10.0 + i, f"=C{i + 3}*2"])
    for i in range(0, 30, 3):
        sheet.merge_cells(start_row=i + 3, end_row=i + 5, start_column=1, end_column=1)
    book.save(tmp_path / "b.xlsx")
    fed = feed(tmp_path / "1", program([{"name": "height", "tensor": [1]}, {"name": "gene", "class_count": 2}], [{"name": "genotype", "classes": ["WT", "mut"]}]), tmp_path / "b.xlsx")
    assert fed.ok and fed.index["label"] == [["WT", "mut"][i // 3 % 2] for i in range(30)], fed.last
    for said in ("10 merged cells count in each of their rows and columns", "gene has 6 dates among its texts; spreadsheets make dates of names such as MARCH1 and SEPT2",
                 "30 formulas in column D hold no value yet, so these cells are empty; open the file in a spreadsheet and save it"):
        assert f"b.xlsx: {said}" in fed.profile["read_as"]


def test_the_first_sheet_with_a_table_and_names_in_two_rows(tmp_path):
    import openpyxl
    from folders import program
    book = openpyxl.Workbook()
    book.active.title = "Read me"
    book.active["A1"] = "All measurements are in the other sheet."
    sheet = book.create_sheet("Data")
    sheet.append(["Plant", "Measured", None, "Class"])
    sheet.append([None, "height", "weight", None])
    for cells in ("A1:A2", "B1:C1", "D1:D2"):
        sheet.merge_cells(cells)
    for i in range(30):
        sheet.append([f"p{i}", 10 + i % 2 * 5 + i / 50, 3.5, "ab"[i % 2]])
    book.save(tmp_path / "b.xlsx")
    fed = feed(tmp_path / "1", program([{"name": "height", "tensor": [1]}, {"name": "weight", "tensor": [1]}], [{"name": "class", "class_count": 2}]), tmp_path / "b.xlsx")
    assert fed.ok and fed.profile["examples"]["accepted"] == 30 and fed.index["row"][0] == 3, fed.last
    assert fed.profile["read_as"][:3] == ['b.xlsx: the first sheet with a table, "Data", is read; it also has "Read me"', "b.xlsx: the names of the columns are in rows 1 to 2",
                                          "b.xlsx: left out, as no field bears the name: Plant"]
    alone = openpyxl.Workbook()
    alone.active["A1"] = "nothing here"
    alone.create_sheet("Also nothing")
    alone.save(tmp_path / "c.xlsx")
    assert feed(tmp_path / "2", PLANTS, tmp_path / "c.xlsx").last["message"] == "c.xlsx has no sheet with names and rows below them."


@pytest.mark.parametrize("cells,decimal,numbers,odd", [
    (["1.234,5", "1.234", "985,1", "-12"], ",", [1234.5, 1234, 985.1, -12], []), (["1,234,567", "1,234", "5.5"], ".", [1234567, 1234, 5.5], []),
    (["1 234", "1'000,5", "7"], ",", [1234, 1000.5, 7], []), (["1,234", "5"], ".", [None, 5], [0]), (["1.234", "985,1"], ",", [None, 985.1], [0]),
    (["12:30", "0:07:30.5", ""], ".", [12.5 / 24, 450.5 / 86400, None], []), (["12:30", "12:61", "1:00"], ".", [12.5 / 24, None, 1 / 24], [1]), (["$5", "3"], ".", [None, 3], [0]),
])
def test_numbers_as_people_write_them(cells, decimal, numbers, odd):
    """Thousands that are set apart are read where nothing else can be meant, 1,234 alone is not; clocks and durations are parts of a day."""
    from easeml.trainer import convert
    problems: list = []
    got = convert.numbers(cells, "c", decimal, convert.MISSING_NUMBERS, problems, {})
    assert np.array_equal(got, np.array([np.nan if x is None else x for x in numbers]), equal_nan=True) and [p.at for p in problems] == odd
    assert all(p.remedy != "correct it" or ":" in cells[p.at] for p in problems)


def test_times_and_durations_have_numbers(tmp_path):
    import datetime

    import pyarrow as pa
    from pyarrow import parquet

    from folders import program
    t = pa.table({"took": [datetime.timedelta(hours=6 * (1 + i % 2)) for i in range(20)], "at": [datetime.time(6 * (i % 4)) for i in range(20)], "kind": ["a", "b"] * 10})
    parquet.write_table(t, tmp_path / "t.parquet")
    fed = feed(tmp_path / "1", program([{"name": "took", "tensor": [1]}, {"name": "at", "tensor": [1]}], [{"name": "kind", "class_count": 2}]), tmp_path / "t.parquet")
    assert [v[0] for v in fed.examples["took"][:2]] == [0.25, 0.5] and [v[0] for v in fed.examples["at"][:4]] == [0, 0.25, 0.5, 0.75], fed.last
    assert "t.parquet: took is read as hours and minutes, in days" in fed.profile["read_as"]


@pytest.mark.parametrize("rows,found", [
    ([["5.1", "3.5", "setosa"], ["4.9", "3.0", "setosa"]], (0, False)), ([["a", "b"], ["1", "2"]], (0, True)), ([["id", "2019", "2020"], ["x", "1", "2"]], (0, True)),
    ([["Report"], [], ["a", "b", "c"], ["1", "2", "3"], ["4", "5", "6"]], (2, True)), ([["?", "3", "yes"], ["1", "3", "no"], ["2", "4", "no"]], (0, False)),
    ([["name", "1", "2"], ["x", "0.5", "0.1"], ["y", "0.1", "0.2"]], (0, False)), ([["x"], ["1"], ["2"]], (0, True)), ([["word"], ["other"]], (0, True)),
])
def test_where_the_names_stand(rows, found):
    from easeml.trainer.readers.csv import _is_number
    from easeml.trainer.readers.header import find_header
    assert find_header(rows, lambda c: _is_number(c, ".")) == found


def test_json_is_read_piece_by_piece(tmp_path, monkeypatch):
    from easeml.trainer.readers import Options
    from easeml.trainer.readers import json as reader
    monkeypatch.setattr(reader, "_CHUNK", 64)
    monkeypatch.setattr(reader, "_BYTES", 1000)
    monkeypatch.setattr(reader, "MOST_ROWS", 7)
    items = [{"a": i, "s": "ü\n]," * (i % 50), "n": [1.5e3, None, {"x": -i}]} for i in range(60)] + [{"late": 12345678901234567890}]
    for name, text in (("a.json", json.dumps(items)), ("b.json", json.dumps(items, indent=3)), ("c.jsonl", "\n\n".join(map(json.dumps, items)))):
        (tmp_path / name).write_text(text)
        source = reader.JSON(name, tmp_path / name, Options({}))
        assert source.names == ["a", "s", "n", "late"]
        blocks = list(source.blocks())
        assert len(blocks) >= 9 and max(len(b.rows) for b in blocks) <= 7 and [v for b in blocks for v in b.columns["s"]][:60] == [i["s"] for i in items[:60]]
        assert blocks[-1].columns["late"][-1] == 12345678901234567890
    for text, said in (('[{"a": 1}, {"a": 2', "line 1, column"), ('[{"a": 1} {"a": 2}]', "Expecting ',' delimiter"), ('[{"a": 1},\n{"a": oops}]', "line 2, column 7"), ('[{"a": 1}] x', "Extra data")):
        (tmp_path / "d.json").write_text(text)
        fed = feed(tmp_path / str(abs(hash(text))), PLANTS, tmp_path / "d.json")
        assert said in fed.last["message"], fed.last


@pytest.mark.parametrize("form,said", [
    ("columns", "read as columns"), ("split", "read as a table of columns and data"), ("index", "each of its 80 objects is a row; their names are left out"),
    ("wrapped", 'its rows are the list in "rows"; made, by beside it is left out')])
def test_json_as_programs_write_tables(tmp_path, form, said):
    """Data frames as pandas saves them, and answers of web services: a list of objects within one object."""
    import pandas as pd
    rows = [{**r, "seen": str(r["seen"])} for r in plants()]
    frame, path = pd.DataFrame(rows), tmp_path / "t.json"
    if form == "wrapped":
        path.write_text(json.dumps({"made": 2024, "rows": rows, "by": {"who": "x"}}))
    else:
        path.write_text(frame.set_index(pd.Index([f"p{i}" for i in range(80)])).to_json(orient="index") if form == "index" else frame.to_json(orient=form))
    fed = feed(tmp_path / "1", PLANTS, path)
    assert fed.ok and fed.index["label"] == [r["kind"] for r in rows] and fed.examples["color"] == [r["color"] for r in rows], fed.last
    assert f"t.json: {said}" in fed.profile["read_as"]


@pytest.mark.parametrize("form", ["aligned", "comment", "r", "titled"])
def test_tables_with_blanks_between_their_cells(tmp_path, form):
    """As instruments, Fortran and R write them: aligned by blanks, names behind a #, a number above each row without a name."""
    from folders import program
    line = {"r": '"{i}" {x:.3f} "q so" "{k}"\n'}.get(form, "  obj{i:03d}   {x:9.4f}    q    {k}\n")
    head = {"aligned": "  name  x  w  kind\n", "comment": "# name     x    w   kind\n", "r": '"x" "w" "kind"\n', "titled": "Seen in 2024 by us\n\n  name  x  w  kind\n"}[form]
    path = tmp_path / "t.dat"
    path.write_text(head + "".join(line.format(i=i, x=i / 7 - 3, k=("STAR", "QSO")[i % 2]) for i in range(40)) + "1 2\n")
    fed = feed(tmp_path / "1", program([{"name": "x", "tensor": [1]}], [{"name": "kind", "class_count": 2}]), path)
    assert fed.ok and "t.dat: columns are separated by blanks" in fed.profile["read_as"], fed.last
    assert [v[0] for v in fed.examples["x"]] == [round(i / 7 - 3, 3 if form == "r" else 4) for i in range(40)] and fed.index["label"] == ["STAR", "QSO"] * 20
    assert [r["reason"] for r in fed.rejects] == ["2 cells, but there are 4 columns"]
    (tmp_path / "one.csv").write_text("species\n" + "Iris setosa\nIris virginica\n" * 20)
    from easeml.trainer.readers import Options, open_source
    assert open_source("one.csv", tmp_path / "one.csv", Options({})).names == ["species"]


def test_labels_that_differ_in_case_are_told(tmp_path):
    from folders import program, write_csv
    rows_ = [{"x": i % 7, "kind": ["Yes", "yes", "no"][i % 3]} for i in range(60)]
    for classes, told in ({"class_count": 3}, True), ({"classes": ["yes", "no"]}, False):
        fed = feed(tmp_path / str(told), program([{"name": "x", "tensor": [1]}], [{"name": "kind", **classes}]), write_csv(tmp_path / "t.csv", rows_))
        assert any(w["code"] == "case" and '"Yes", "yes" differ only in case' in w["message"] for w in fed.profile["warnings"]) == told
        assert fed.profile["classes"] == ({"Yes": 20, "yes": 20, "no": 20} if told else {"yes": 40, "no": 20})


def test_a_zero_byte_costs_its_row_alone(tmp_path):
    rows_ = text(plants()).splitlines(keepends=True)
    rows_[7] = rows_[7].replace("oak", "o\0k").replace("elm", "e\0m")
    (tmp_path / "t.csv").write_text("".join(rows_))
    fed = feed(tmp_path / "1", PLANTS, tmp_path / "t.csv")
    assert fed.ok and fed.profile["examples"]["accepted"] == 79 and [(r["line"], r["reason"]) for r in fed.rejects] == [(8, "there is a NUL byte in it")], fed.last
    (tmp_path / "u.csv").write_bytes("".join(rows_).encode("utf-16-le"))
    assert "holds binary data" in feed(tmp_path / "2", PLANTS, tmp_path / "u.csv").last["message"]
