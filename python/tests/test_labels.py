"""What went in as a label comes out as that label: the same text, and of the same type where the file knows types, in every kind of file."""

from __future__ import annotations

import datetime
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from easeml.trainer.convert import text_of
from easeml.trainer.predict import Predictor
from easeml.trainer.study import Study
from folders import choose, feed, program, version

LABELS = {
    "truth values": [True, False],
    "0 and 1": [0, 1],
    "whole numbers": [3, -7, 120],
    "numbers": [1.5, 2.25],
    "whole floats": [1.0, 2.0],
    "codes": ["01", "1", "007"],
    "text as truth": ["True", "False", "TRUE"],
    "looks missing": ["NA", "None", "null"],
    "days": [datetime.date(2024, 2, 29), datetime.date(1969, 12, 31)],
    "days as text": ["2024-02-29", "29.2.2024"],
    "long": ["x" * 5000, "x" * 5000 + "y"],
    "pictures of feelings": ["😀", "👩🏽‍🔬", "é", "e\u0301"],
    "signs": ['a "b"', "a;b,c\td", "it's", "<b>&amp;</b>", "=1+1", "back\\slash"],
    "other scripts": ["ель", "橡木", "بلوط"],
    "numbers as codes": ["+1", "-1", "1_0", "10"],
    "long codes": ["100000000000000001", "100000000000000002", "x"],
    "one case": ["oak", "Oak", "OAK"],
}
BLANKS = {" oak": "oak", "elm ": "elm", "two words": "two words"}
"""Blanks around a label are none of it."""

TYPES = {"truth values": "truth", "0 and 1": "whole", "whole numbers": "whole", "numbers": "number", "whole floats": "number", "days": "day"}


def _csv(path: Path, xs, labels) -> None:
    import csv
    with open(path, "w", newline="", encoding="utf-8") as f:
        csv.writer(f, delimiter="\t" if path.suffix == ".tsv" else ",").writerows([["x", "kind"], *zip(xs, map(str, labels))])


def _json(path: Path, xs, labels) -> None:
    rows = [json.dumps({"x": x, "kind": v}, ensure_ascii=False, default=str) for x, v in zip(xs, labels)]
    path.write_text("\n".join(rows) if path.suffix == ".jsonl" else f"[{','.join(rows)}]", encoding="utf-8")


def _columns(path: Path, xs, labels) -> None:
    table = pa.table({"x": xs, "kind": pa.array(labels)})
    parquet.write_table(table, path) if path.suffix == ".parquet" else feather.write_feather(table, path)


def _sheet(path: Path, xs, labels) -> None:
    import openpyxl
    book = openpyxl.Workbook()
    book.active.append(["x", "kind"])
    for at, (x, v) in enumerate(zip(xs, labels), 2):
        book.active.cell(at, 1, x)
        cell = book.active.cell(at, 2, v)
        cell.data_type = "s" if isinstance(v, str) else cell.data_type  # =1+1 is text here
    book.save(path)


def _arrays(path: Path, xs, labels) -> None:
    values = np.array(labels)
    np.savez(path, x=np.array(xs), kind=values.astype(str) if values.dtype.kind == "O" else values)


FILES = {"t.csv": _csv, "t.tsv": _csv, "t.json": _json, "t.jsonl": _json, "t.parquet": _columns, "t.arrow": _columns, "t.xlsx": _sheet, "t.npz": _arrays}


class _Silent:
    def seconds(self):
        return 0.0

    def write(self, *_, **__):
        return True


def answered(folder: Path, path: Path, labels: list, fields: dict) -> tuple[dict, list, dict]:
    """A feed's profile, the answers of a model that knows its examples by heart to the same file, and their kinds."""
    prog = program([{"name": "x", "tensor": [1]}], [{"name": "kind", **fields}])
    fed = feed(folder / "fed", prog, path)
    assert fed.ok, fed.last
    data = version(folder / "data", fed)
    spec = {"program": prog, "target": fed.profile["target"], "data": {"path": str(data)}}
    study = Study(folder, _Silent(), spec)
    model = study.fit(choose(fed, prog)["knn.1"], study.examples())
    done = Predictor.of(model).answer({"sources": [{"name": path.name, "path": str(path)}], "out": str(folder / "out")})
    lines = [json.loads(line) for line in (folder / "out").read_text().splitlines()]
    return fed.profile, [line["answer"]["kind"] for line in lines], done["fields"]


@pytest.mark.parametrize("name", FILES)
def test_labels_come_out_as_they_went_in(tmp_path, name):
    for what, labels in LABELS.items():
        folder = tmp_path / what
        folder.mkdir()
        said = [labels[i % len(labels)] for i in range(30)]
        path = folder / name
        FILES[name](path, [float(1 + i % len(labels)) for i in range(30)], said)
        # What looks missing has to be declared.
        fields = {"classes": labels} if what == "looks missing" else {"class_count": len(labels)}
        profile, got, kinds = answered(folder, path, labels, fields)
        as_text = name.endswith("sv") or (name.endswith("npz") and what == "days") or ("json" in name and what == "days")
        want = [str(v) if as_text and isinstance(v, bool) else text_of(v) for v in said]
        assert got == want, (what, set(got), set(want))
        assert set(profile["target"]["labels"]) == set(want), what
        wanted = TYPES.get(what, "text")
        if name.endswith("sv"):
            wanted = None
        elif what == "days" and as_text:
            wanted = "text"
        elif what == "whole floats" and name.endswith("xlsx"):
            wanted = "whole"  # a sheet has one kind of number
        assert kinds.get("kind") == wanted, (what, kinds)


@pytest.mark.parametrize("name", FILES)
def test_blanks_around_a_label_are_none_of_it(tmp_path, name):
    labels = list(BLANKS)
    said = [labels[i % 3] for i in range(30)]
    FILES[name](tmp_path / name, [float(1 + i % 3) for i in range(30)], said)
    _, got, _ = answered(tmp_path, tmp_path / name, labels, {"class_count": 3})
    assert got == [BLANKS[v] for v in said]
