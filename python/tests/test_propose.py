"""`schema … from`: what is proposed for tables, arrays and folders of pictures, and why columns are left out."""

from __future__ import annotations

import tarfile

import numpy as np
import pytest
from PIL import Image

from folders import ask, digits, shop_rows, write_csv


def propose(folder, path, *output, name=None, **options) -> dict:
    """The findings for a file, or the last event where there are none."""
    return ask(folder, {"format": 1, "kind": "propose", "sources": [{"name": name or path.name, "path": str(path)}], "output": list(output), "options": options})


def types(found: dict) -> dict[str, str]:
    return {f["name"]: f["type"] for f in found["fields"]}


def test_a_table(tmp_path):
    rows = [{"row_id": i, "patient_id": f"p{i % 40}", **r, "seen": f"2024-01-{1 + i % 28:02}", "remark": f"word{i}", "unit": "kg", "kind_code": "B" if r["kind"] == "book" else "P"}
            for i, r in enumerate(shop_rows(200))]
    found = propose(tmp_path / "p", write_csv(tmp_path / "shop.csv", rows), "kind")
    assert found["says"] == "shop.csv: 200 rows, 10 columns." and found["predicts"] == "kind, 2 classes"
    assert types(found) == {"size": "Tensor[1]", "color": 'Class["blue", "green", "red"]', "weight": "Tensor[1]", "kind_code": 'Class["B", "P"]', "kind": 'Class["book", "pen"]'}
    left = {c["column"]: c["reason"] for c in found["left_out"]}
    assert set(left) == {"row_id", "patient_id", "seen", "remark", "unit"} and left["remark"] == "different in every row"
    assert found["clauses"] == ["with group = patient_id", "with order = seen"]  # either, or both
    comments = {f["name"]: f["comment"] for f in found["fields"]}
    assert comments["size"].endswith("missing") and comments["color"].endswith("kept as a state of its own")
    assert any(note.startswith("! kind_code alone gives the answer in 100.0 %") for note in found["notes"])


@pytest.mark.parametrize("column,type_,predicts", [
    ("grade", 'Class["1", "2", "3"]', "grade, 3 classes"), ("digit", "Class[3]", "digit, 3 classes"), ("price", "Tensor[1]", "price, a number")])
def test_what_is_predicted(tmp_path, column, type_, predicts):
    rng = np.random.default_rng(0)
    rows = [{"x": f"{x:.3f}", "grade": 1 + i % 3, "digit": i % 3, "price": f"{10 * x:.2f}"} for i, x in enumerate(rng.normal(size=90))]
    found = propose(tmp_path / "p", write_csv(tmp_path / "a.csv", rows), column)
    assert found["predicts"] == predicts and types(found)[column] == type_


def test_columns_that_are_one_tensor(tmp_path):
    rows = [{**{f"v_{k}": i * k % 7 for k in range(5)}, "label": "ab"[i % 2]} for i in range(60)]
    assert types(propose(tmp_path / "p", write_csv(tmp_path / "a.csv", rows))) == {"v": "Tensor[5]", "label": 'Class["a", "b"]'}


def test_arrays(tmp_path):
    found = propose(tmp_path / "p", digits(tmp_path))
    assert types(found) == {"image": "Tensor[8, 8]", "digit": "Class[10]"} and found["predicts"] == "digit, 10 classes"


def test_a_folder_of_pictures(tmp_path):
    root = tmp_path / "leaves"
    rng = np.random.default_rng(0)
    for label, n in (("oak", 30), ("maple", 25), ("birch", 3)):
        (root / label).mkdir(parents=True)
        for i in range(n):
            Image.fromarray(rng.integers(0, 255, (40 + i % 5, 60, 3)).astype(np.uint8)).save(root / label / f"{i}.png")
    with tarfile.open(tmp_path / "leaves.tar", "w") as tar:
        tar.add(root, arcname=".")
    found = propose(tmp_path / "p", tmp_path / "leaves.tar", name="leaves/")
    assert found["says"] == "leaves/: 58 pictures in 3 folders, so 3 classes: oak 30, maple 25, birch 3."
    assert types(found) == {"image": "Tensor[32, 32, 3]", "label": 'Class["birch", "maple", "oak"]'}
    assert found["notes"][0].startswith("Sizes 40×60 to 44×60; each is fitted whole into 32×32")
    assert found["notes"][1].startswith("! birch is rare (5.2 %)")


@pytest.mark.parametrize("rows,message", [
    ([{"x": i, "y": "same"} for i in range(30)], 'y of a.csv is "same" in every row'),
    ([{"x": i % 5, "y": f"name {i}"} for i in range(30)], "y of a.csv has 30 different values in 30 rows"),
    ([{"id": i, "y": "ab"[i % 2]} for i in range(30)], "a.csv has no column to predict y from"),
    ([{"x": i % 5, "y": ""} for i in range(30)], "y of a.csv has no value in any row")])
def test_what_nothing_is_proposed_for(tmp_path, rows, message):
    last = propose(tmp_path / "p", write_csv(tmp_path / "a.csv", rows))
    assert last["type"] == "failed" and last["message"].startswith(message) and last["kind"] == "data"


def test_digits_with_a_zero_in_front_are_codes(tmp_path):
    rows = [{"ward": f"{i % 7:03d}", "count": i % 7, "zip": f"{i * 37:05d}", "kind": ["a", "b"][i % 2]} for i in range(80)]
    found = propose(tmp_path / "p", write_csv(tmp_path / "a.csv", rows))
    assert types(found) == {"ward": 'Class["000", "001", "002", "003", "004", "005", "006"]', "count": "Tensor[1]", "kind": 'Class["a", "b"]'}
    assert found["left_out"] == [{"column": "zip", "reason": "different in every row"}]


def test_numbers_with_texts_among_them_and_text(tmp_path):
    """A few texts cost a column of numbers nothing but themselves; text that people wrote is an input; what is named as an id groups rows."""
    rng = np.random.default_rng(0)
    rows = [{"PlantNr": i // 4, "size": "n.d." if i % 17 == 0 else round(float(x), 3), "price": f"{i % 7 + 1},{100 + i},{300 + i}.5", "took": f"{i % 9}:30",
             "review": f"a lovely stay number {i}" if i % 2 else f"what a sad room {i}", "y": "lost" if i % 19 == 0 else round(float(2 * x), 3)} for i, x in enumerate(rng.normal(size=120))]
    found = propose(tmp_path / "p", write_csv(tmp_path / "a.csv", rows))
    assert types(found) == {"size": "Tensor[1]", "price": "Tensor[1]", "took": "Tensor[1]", "review": "Class[1000]", "y": "Tensor[1]"}
    comments = {f["name"]: f["comment"] for f in found["fields"]}
    assert comments["size"] == "8 are no numbers" and comments["y"].endswith("7 are no numbers: such rows are not taken") and comments["took"] == "hours and minutes, in days"
    assert found["clauses"] == ["with group = plantnr, missing = n.d."]


@pytest.mark.parametrize("names,clauses", [(["g{}"], []), (["sample", "g{}"], ["with ignore = sample"])])
def test_many_numbers_are_one_tensor(tmp_path, names, clauses):
    rng = np.random.default_rng(0)
    genes = [f"{'abc'[k % 3]}{k * 7}x" for k in range(60)]
    rows = [{**({"sample": f"S{i}"} if "sample" in names else {}), **{g: round(float(v), 4) for g, v in zip(genes, rng.normal(size=60))}, "status": ["case", "control"][i % 2]} for i in range(40)]
    found = propose(tmp_path / "p", write_csv(tmp_path / "a.csv", rows))
    assert types(found) == {"": "Tensor[60]", "status": 'Class["case", "control"]'} and found["clauses"] == clauses


def test_pictures_and_masks_and_a_table_of_labels(tmp_path):
    root = tmp_path / "set"
    (root / "p").mkdir(parents=True)
    rng = np.random.default_rng(0)
    for i in range(20):
        Image.fromarray(rng.integers(0, 255, (24, 32, 3)).astype(np.uint8)).save(root / "p" / f"{i}.png")
        Image.fromarray(255 * (rng.random((24, 32)) > 0.5).astype(np.uint8)).save(root / "p" / f"m{i}.png")
    for name, head, cells in (("masks", "image,mask", "p/{i}.png,p/m{i}.png"), ("labels", "file,who,size", "p/{i}.png,x{k},{i}.5")):
        (root / "table.csv").write_text(head + "\n" + "".join(cells.format(i=i, k=i % 2) + "\n" for i in range(20)))
        with tarfile.open(tmp_path / f"{name}.tar", "w") as tar:
            tar.add(root, arcname=".")
    found = propose(tmp_path / "1", tmp_path / "masks.tar", name="set/")
    assert types(found) == {"image": "Tensor[24, 32, 3]", "mask": "Tensor[24, 32, 1]"} and found["predicts"] == "mask, a picture"
    found = propose(tmp_path / "2", tmp_path / "masks.tar", "image", name="set/")
    assert types(found) == {"mask": "Tensor[24, 32, 1]", "image": "Tensor[24, 32, 3]"}
    found = propose(tmp_path / "3", tmp_path / "labels.tar", "who", name="set/")
    assert types(found) == {"file": "Tensor[24, 32, 3]", "who": 'Class["x0", "x1"]'} and found["says"] == "set/: 20 rows, each with a picture."
