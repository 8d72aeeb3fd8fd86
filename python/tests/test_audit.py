"""The audit that every test with a server of its own ends with: what the product keeps apart passes, what is planted in its state is caught."""

from __future__ import annotations

import json
import pathlib
import shutil
import sqlite3
import subprocess

import numpy as np
import pyarrow as pa
import pytest

import private
from audit import audit
from private import BINARY

PROGRAM = "{ input: {[size :: Tensor[1], code :: Class[2], patient :: Tensor[1]], []}, output: {[kind :: Class[2]], []} }"


def rows(n: int = 400, seed: int = 0) -> list[str]:
    """Lines of a table with a planted leak (`code` says `kind`), every tenth row twice, and ten rows a patient."""
    rng = np.random.default_rng(seed)
    out = []
    for i in range(n):
        kind = rng.integers(2)
        out.append(f"{rng.normal(kind, 2):.6f},{'AB'[kind]},{i // 10},{('no', 'yes')[kind]}")
        out += out[-1:] if i % 10 == 0 else []
    return out


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    """What the cells said, and the state of a server after two feeds and a refinement; it passed the audit."""
    home = tmp_path_factory.mktemp("audit")
    lines = rows()
    for name, part in (("a.csv", lines[:330]), ("b.csv", lines[330:])):
        (home / name).write_text("size,code,patient,kind\n" + "\n".join(part) + "\n")
    text = f'schema t {PROGRAM}\nfeed t "a.csv" with group = patient\nfeed t "b.csv" with group = patient\nrefine t off 7, 9\nwait t until final or 2m\nbest t\ntasks\nmodels t\nfeed t as is\nbest t\nfeed t as is'
    with private.served(private.environment(home)) as environment:
        said = subprocess.run([BINARY, "run", "-"], input=text, env=environment, cwd=home, check=True, capture_output=True, text=True).stdout
    return said, home / "state"


def test_what_is_planted_in_the_data_is_said_and_kept_apart(left):
    said, state = left
    assert "code alone gives the answer" in said and "rows are copies" in said
    assert audit(state) == 3


def test_figures_are_marked_until_somebody_says_that_it_is_fine(left):
    said = " ".join(left[0].split())
    marked, plain = said.split("› feed t as is", 1)
    assert marked.count("column code alone gives the answer: see feed") >= 4  # wait, best, tasks, models
    assert "right (column code alone gives the answer: see feed): " in marked and "feed t as is" in marked
    assert "taken as it is: column code alone gives the answer" in plain and "see feed" not in plain
    assert "nothing of its examples is in doubt" in plain


OTHER = "UPDATE examples SET part = CASE part WHEN 'train' THEN 'test' ELSE 'train' END "
PLANTED = {
    "a copy in another part": (OTHER + "WHERE number = 2", "one input_hash stands in several parts"),
    "a patient in two parts": ("UPDATE examples SET input_hash = number; " + OTHER + "WHERE number = 2", "one group_hash stands in several parts"),
    "a part that a later version changed": (OTHER, "a part changed by version 1"),
    "a count that is off": ("UPDATE feeds SET accepted = accepted - 1 WHERE number = 1", "have not taken as many"),
    "an example that is gone": ("DELETE FROM examples WHERE number = 5", "a number is missing"),
}


def planted(left: pathlib.Path, state: pathlib.Path, script: str) -> sqlite3.Connection:
    """A copy of a state in which a script has changed the database."""
    shutil.copytree(left, state)
    db = sqlite3.connect(state / "easeml.db")
    db.execute("UPDATE searches SET data_path = replace(data_path, ?, ?)", (str(left), str(state)))
    db.executescript(script)
    return db


@pytest.mark.parametrize("what", PLANTED)
def test_what_is_planted_in_the_state_is_caught(left, tmp_path, what):
    script, told = PLANTED[what]
    planted(left[1], tmp_path / "state", script).close()
    with pytest.raises(AssertionError, match=told):
        audit(tmp_path / "state")


def test_a_copy_that_no_hash_knows_is_caught(left, tmp_path):
    """Everything says that example 2, a copy of example 1, is tested, and its hashes are others; only the inputs are the same."""
    db = planted(left[1], tmp_path / "state", "UPDATE examples SET input_hash = number, group_hash = ''")
    before = db.execute("SELECT part FROM examples WHERE number = 2").fetchone()[0]
    after = "test" if before != "test" else "train"
    db.execute("UPDATE examples SET part = ? WHERE number = 2", (after,))
    for version, parts, folder in db.execute("SELECT v.number, v.parts, s.data_path FROM versions v JOIN searches s ON s.id = v.search_id").fetchall():
        counts = json.loads(parts)
        db.execute("UPDATE versions SET parts = ? WHERE number = ?", (json.dumps({**counts, before: counts[before] - 1, after: counts[after] + 1}), version))
        path = pathlib.Path(folder) / "index.arrow"
        index = pa.ipc.open_file(pa.BufferReader(path.read_bytes())).read_all()
        told = [after if n == 2 else p for n, p in zip(index["number"].to_pylist(), index["part"].to_pylist())]
        index = index.set_column(index.schema.get_field_index("part"), "part", pa.array(told, index.schema.field("part").type))
        path.unlink()  # trials read it by a link
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, index.schema) as w:
            w.write_table(index)
    db.commit()
    db.close()
    with pytest.raises(AssertionError, match="one input stands in several parts"):
        audit(tmp_path / "state")
