"""`infer … into` a file that knows types: columns, their order and their types are kept, answers have the type that labels came in."""

from __future__ import annotations

import datetime
import subprocess

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import private
from private import BINARY

PROGRAM = "{ input: {[size :: Tensor[1]], []}, output: {[kind :: Class[2]], []} }"


def table(n: int, seed: int = 0) -> pa.Table:
    """Rows with a column of every type, some of it missing; the label is a whole number."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(2, size=n)
    some = [i % 7 != 3 for i in range(n)]
    day = datetime.date(2024, 2, 29)
    return pa.table({
        "zip": [f"0{i:04d}" for i in range(n)], "size": rng.normal(4 * kind, 0.5), "kind": (10 * kind + 5).tolist(),
        "n": pa.array([i if ok else None for i, ok in enumerate(some)], pa.int64()), "wild": [bool(i % 2) for i in range(n)],
        "day": pa.array([day + datetime.timedelta(i) if ok else None for i, ok in enumerate(some)], pa.date32()),
        "at": pa.array([datetime.datetime(2024, 2, 29, 12, i % 60, 0, 500) for i in range(n)], pa.timestamp("us")),
        "zoned": pa.array([datetime.datetime(2024, 2, 29, i % 24, tzinfo=datetime.timezone.utc) for i in range(n)], pa.timestamp("us", "UTC")),
        "note": ["" if i % 5 == 0 else f"é 😀 {i}" for i in range(n)],
        "spectrum": pa.array([[float(i), 0.5] if ok else None for i, ok in enumerate(some)])})


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    home = tmp_path_factory.mktemp("into")
    parquet.write_table(table(200), home / "fed.parquet")
    parquet.write_table(table(60, 1), home / "new.parquet")
    (home / "new.csv").write_text("zip,size,n,share\n" + "".join(f"0{i},{4 * (i % 2)}.0,{i},{'' if i % 3 else i / 4}\n" for i in range(30)))
    workbook = '\nfeed t "parquet.xlsx" using size = size, kind = kind\ninfer t "parquet.xlsx" into "again.parquet"'
    text = f'schema t {PROGRAM}\nfeed t "fed.parquet"\nwait t until quality >= 0.9 or final or 2m\nstop t\n' + "\n".join(
        f'infer t "new.{source}" into "{source}.{ending}" with probabilities = on' for source in ("parquet", "csv") for ending in ("parquet", "arrow", "feather", "jsonl", "xlsx")
    ) + '\nmodels t into "board.parquet"' + workbook
    with private.served(private.environment(home)) as environment:
        subprocess.run([BINARY, "run", "-"], input=text, env=environment, cwd=home, check=True, capture_output=True, text=True)
    return home


@pytest.mark.parametrize("ending", ["parquet", "arrow", "feather"])
def test_types_are_kept(work, ending):
    path, fed = work / f"parquet.{ending}", table(60, 1)
    got = parquet.read_table(path) if ending == "parquet" else feather.read_table(path)
    assert got.column_names == [*fed.column_names, "kind (answer)", "sure", "p(5)", "p(15)", "check"]
    for name in fed.column_names:
        assert str(got.schema.field(name).type).replace("element:", "item:").replace(" not null", "") == str(fed.schema.field(name).type), name
        assert got.column(name).to_pylist() == [None if v == "" else v for v in fed.column(name).to_pylist()], name
    assert got.schema.field("kind (answer)").type == pa.int64() and got.schema.field("p(5)").type == pa.float64()
    right = np.array(got.column("kind (answer)").to_pylist()) == np.array(fed.column("kind").to_pylist())
    assert right.mean() > 0.9
    assert np.allclose(np.array(got.column("p(5)").to_pylist()) + np.array(got.column("p(15)").to_pylist()), 1, atol=2e-4)


def test_columns_of_text_files_are_what_all_of_their_cells_are(work):
    got = parquet.read_table(work / "csv.parquet")
    assert [str(got.schema.field(n).type) for n in ("zip", "size", "n", "share", "kind", "check")] == ["string", "double", "int64", "double", "int64", "string"]
    assert got.column("zip").to_pylist() == [f"0{i}" for i in range(30)] and got.column("n").to_pylist() == list(range(30))
    assert got.column("share").to_pylist() == [None if i % 3 else i / 4 for i in range(30)]


def test_lines_and_boards(work):
    import json
    lines = [json.loads(line) for line in (work / "parquet.jsonl").read_text().splitlines()]
    assert lines[1]["spectrum"] == [1.0, 0.5] and lines[3]["spectrum"] is None
    assert lines[0]["kind (answer)"] in (5, 15) and lines[1]["wild"] is True and lines[4]["zip"] == "00004" and lines[3]["n"] is None
    lines = [json.loads(line) for line in (work / "csv.jsonl").read_text().splitlines()]
    assert lines[2]["zip"] == "02" and lines[2]["n"] == "2" and lines[2]["kind"] in (5, 15)  # CSV knows no types: text
    board = parquet.read_table(work / "board.parquet")
    assert [str(board.schema.field(n).type) for n in ("trial", "label", "search", "tied")] == ["int64", "string", "double", "bool"] and board.num_rows > 5


def test_a_workbook_has_types_and_is_read_again(work):
    import openpyxl
    sheet = openpyxl.load_workbook(work / "parquet.xlsx").active
    names = [c.value for c in sheet[1]]
    assert names == [*table(1).column_names, "kind (answer)", "sure", "p(5)", "p(15)", "check"]
    first = dict(zip(names, sheet[2]))
    assert first["zip"].value == "00000" and first["n"].value == 0 and first["wild"].value is False and first["kind (answer)"].value in (5, 15)
    assert first["day"].is_date and first["day"].value.date() == datetime.date(2024, 2, 29) and first["at"].value.hour == 12
    assert first["zoned"].value == "2024-02-29T00:00:00+00:00" and sheet["I3"].value == "é 😀 1" and sheet["I2"].value is None and sheet["D5"].value is None
    again, once = parquet.read_table(work / "again.parquet"), parquet.read_table(work / "parquet.parquet")
    assert again.column("kind (answer 2)").to_pylist() == once.column("kind (answer)").to_pylist()
    assert [str(again.schema.field(n).type) for n in ("zip", "size", "kind", "n", "wild", "day", "at", "check (answer)")] == [
        "string", "double", "int64", "int64", "bool", "date32[day]", "timestamp[us]", "string"]
    assert len(set(again.column_names)) == len(again.column_names)
    assert again.column("kind (answer)").to_pylist() == once.column("kind (answer)").to_pylist()
