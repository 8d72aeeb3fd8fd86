"""SAS's data sets as the tests write them: two readers that know nothing of each other find the same."""

from __future__ import annotations

import datetime
import math

import pandas as pd
import pyreadstat
import pytest

import sas
from easeml.trainer.readers import Options, open_source

COLUMNS = [sas.Column("Height", label="in metres, höchstens"), sas.Column("color", 6),
           sas.Column("seen", format="DATE"), sas.Column("a_name_of_more_than_eight", 3)]


def table(n: int) -> list[list]:
    """Rows over some pages, with gaps of every kind."""
    gaps, begin = [None, "A", "Z", "_"], datetime.date(1959, 12, 1)
    return [[i / 7 if i % 5 else gaps[i // 5 % 4], ["grün", "green", ""][i % 3],
             begin + datetime.timedelta(days=100 * i) if i % 7 else None, ["abc", "ab", "c"][i % 3]] for i in range(n)]


@pytest.mark.parametrize("n", [1, 90, 700])
def test_two_readers_find_the_same(tmp_path, n):
    path, rows = tmp_path / "t.sas7bdat", table(n)
    sas.write(path, COLUMNS, rows)
    ours, meta = pyreadstat.read_sas7bdat(str(path), user_missing=True)
    theirs = pd.read_sas(path, encoding="infer")
    names = [c.name for c in COLUMNS]
    assert list(ours) == list(theirs) == meta.column_names == names and len(ours) == len(theirs) == meta.number_rows == n
    assert meta.column_labels[0] == COLUMNS[0].label and meta.original_variable_types["seen"] == "DATE"
    for row, one, other in zip(rows, ours.itertuples(index=False), theirs.itertuples(index=False)):
        height, color, seen, name = row
        if isinstance(height, float):
            assert one[0] == other[0] == height
        else:
            assert math.isnan(other[0]) and (one[0] == height or height is None and math.isnan(one[0]))
        assert one[1] == color and (other[1] == color or not color and pd.isna(other[1]))
        assert seen is None and pd.isna(one[2]) and pd.isna(other[2]) or one[2] == seen == other[2].date()
        assert one[3] == other[3] == name


def test_a_data_set_comes_block_by_block(tmp_path, monkeypatch):
    from easeml.trainer.readers import statistics
    monkeypatch.setattr(statistics, "rows_at_once", lambda columns: 128)
    path, rows = tmp_path / "t.sas7bdat", table(300)
    sas.write(path, COLUMNS, rows)
    blocks = list(open_source(path.name, path, Options({})).blocks())
    assert [list(b.rows) for b in blocks] == [list(range(1, 129)), list(range(129, 257)), list(range(257, 301))]
    assert [v for b in blocks for v in b.columns["color"]] == [r[1] or None for r in rows]
    assert [v for b in blocks for v in b.columns["Height"]] == [r[0] if isinstance(r[0], float) else None for r in rows]
    assert [v for b in blocks for v in b.columns["seen"]] == [r[2] for r in rows]
