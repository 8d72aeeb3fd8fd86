"""Files from outside: whatever is cut, flipped or made up ends in one clear sentence, or is taken; nothing is executed, nothing leads out, nothing hangs."""

from __future__ import annotations

import json
import os
import pickle
import random
import signal
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from easeml.trainer import ingest as ingesting
from easeml.trainer.fault import Fault
from easeml.trainer.picture import Canon
from easeml.trainer.program import Field
from folders import Fed, feed, program
from tables import KINDS, PLANTS, make, plants
from test_decode import DEEP, fits, npy, tiff
from test_old_sheets import write as old_sheet
from test_pictures import PETS, packed, pets, png, tar
from test_series import TREES, WAVES, trees, waves

ROUNDS = int(os.environ.get("EASEML_FUZZ", "6"))
"""Mutations of each file; more with EASEML_FUZZ=200."""

SECONDS = 60


def _series(path: Path) -> None:
    path.write_text("@timestamps false\n@classlabel true slow fast\n@data\n" + "".join(",".join(map(str, v)) + f":{k}\n" for v, k in waves(20)))


OTHERS = {
    "waves.ts": (WAVES, _series),
    "trees.jsonl": (TREES, lambda path: path.write_text("\n".join(map(json.dumps, trees(20))))),
    "pets.zip": (PETS, lambda path: packed(path, pets(12), zipfile.ZIP_DEFLATED)),
    "plants.xls": (PLANTS, old_sheet),
    "plants.xlsb": (PLANTS, old_sheet),
    "pets.tar": (PETS, lambda path: tar(path, pets(12))),
}


def mutated(content: bytes, rng: random.Random) -> bytes:
    """Cut, flipped in some places, or with a piece doubled, blanked or moved."""
    how = rng.randrange(5)
    if how == 0:
        return content[:rng.randrange(len(content))]
    out = bytearray(content)
    if how in (1, 2):
        for _ in range(rng.choice((1, 3, 30))):
            at = rng.randrange(min(len(out), 600)) if how == 2 else rng.randrange(len(out))
            out[at] = rng.choice((0, 255, rng.randrange(256), out[at] ^ (1 << rng.randrange(8))))
        return bytes(out)
    a, n = rng.randrange(len(out)), rng.randrange(1, 200)
    if how == 3:
        out[a:a + n] = bytes(len(out[a:a + n]))
    else:
        out[a:a] = out[:n]
    return bytes(out)


def read_apart(folder: Path, prog: dict, path: Path) -> dict:
    """How an ingest in a child ended: its last event, or how the child died. A crash of a C library costs that ingest only."""
    folder.mkdir()
    (folder / "ingest.json").write_text(json.dumps({"format": 1, "program": prog, "sources": [{"name": path.name, "path": str(path)}]}))
    pid = os.fork()
    if pid == 0:
        try:
            import resource
            signal.alarm(SECONDS)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            ingesting.ingest(folder)
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    lines = (folder / "events.jsonl").read_text().splitlines() if (folder / "events.jsonl").exists() else []
    last = json.loads(lines[-1]) if lines else {}
    return {"died": os.WTERMSIG(status)} if os.WIFSIGNALED(status) else last


@pytest.mark.parametrize("kind", [*KINDS, *OTHERS])
def test_damaged_files_end_in_a_sentence(tmp_path, kind):
    if kind in KINDS:
        prog, path = PLANTS, make(tmp_path, kind, plants(40))
    else:
        prog, write = OTHERS[kind]
        path = tmp_path / kind
        write(path)
    content, rng = path.read_bytes(), random.Random(kind)
    taken = 0
    for i in range(ROUNDS):
        path.write_bytes(mutated(content, rng))
        last = read_apart(tmp_path / str(i), prog, path)
        assert "died" not in last or last["died"] != signal.SIGALRM, f"round {i}: it hangs"
        if last.get("died"):  # in a library of C: the server says that the file could not be read
            assert kind in CRASHING, f"round {i}: it died of signal {last['died']}"
            continue
        assert last.get("type") in ("done", "failed"), last
        if last["type"] == "failed":
            assert last["kind"] != "bug", f"round {i}: {last['message']}\n{log(tmp_path / str(i))}"
            assert len(last["message"]) < 400 and "\n" not in last["message"] and "Traceback" not in last["message"]
        taken += last["type"] == "done"


CRASHING = ("plants.h5", "records.hdf5", "new.mat", "plants.sav", "packed.zsav")
"""Kinds whose library may end its process on a damaged file (HDF5; pyreadstat, where the text that an SPSS file has a label for
can't be decoded): the feed ends with a sentence of the server's, nothing else is touched."""


def log(folder: Path) -> str:
    """What to look for: the mutation is made again from the kind and the round."""
    return (folder / "events.jsonl").read_text()[-400:]


@pytest.mark.parametrize("kind", ["plants.feather", "stream.arrow", "plants.parquet", "plants.sav", "packed.zsav", "plants.dta", "plants.xpt", "plants.sas7bdat", "plants.h5"])
@pytest.mark.parametrize("name", ["Height", "leaves", "color"])
def test_names_that_are_no_text(tmp_path, kind, name):
    """A byte that UTF-8 doesn't know, wherever a column's name stands."""
    path = make(tmp_path, kind, plants(40))
    content = path.read_bytes()
    for spelled in (name.encode(), name.upper().encode()):
        content = content.replace(spelled, b"\xff" + spelled[1:])
    path.write_bytes(content)
    last = read_apart(tmp_path / "1", PLANTS, path)
    assert last.get("type") in ("done", "failed") and last.get("kind") != "bug", last
    assert last["type"] == "done" or path.name in last["message"] and last["hint"]


@pytest.mark.parametrize("kind", ["plants.sav", "plants.dta", "plants.xpt", "plants.sas7bdat"])
def test_names_in_an_encoding_that_is_told(tmp_path, kind):
    """The remedy for names that are no text works; so does any name that Python has for an encoding, and no other."""
    path = make(tmp_path, kind, plants(40))
    content = path.read_bytes()
    for spelled in (b"Height", b"HEIGHT"):
        content = content.replace(spelled, "\u00d6".encode("latin-1") + spelled[1:])
    path.write_bytes(content)
    prog = {**PLANTS, "input": {**PLANTS["input"], "fields": PLANTS["input"]["fields"][1:]}}
    last = feed(tmp_path / "1", prog, path).last
    assert last["message"] == f"{kind} holds text that is none in the encoding that it names." and last["hint"] == "Say which encoding it has: with encoding = latin-1"
    for i, name in enumerate(("latin-1", "ISO_8859_1", "cp1252", "mac_roman")):
        fed = feed(tmp_path / f"a{i}", prog, path, options={"encoding": name})
        assert fed.ok and fed.profile["examples"]["accepted"] == 40, fed.last
    for i, name in enumerate(("klingon", "hex")):
        last = feed(tmp_path / f"b{i}", prog, path, options={"encoding": name}).last
        assert last["message"] == f"There is no encoding {name}." and last["hint"]


@pytest.mark.parametrize("head", [b"{'descr': '<f8', 'fortran_order': False, 'shape': (3, }\n", b"{'descr': (\n", b"'\n", b"{'descr': '<f8', 'shape': (3L,)\n"])
def test_heads_of_arrays_that_break_off(tmp_path, head):
    for version in (b"\x01\x00", b"\x02\x00"):
        length = len(head).to_bytes(2 if version[0] == 1 else 4, "little")
        path = tmp_path / "a.npy"
        path.write_bytes(b"\x93NUMPY" + version + length + head + bytes(24))
        last = read_apart(tmp_path / str(version[0]), PLANTS, path)
        assert last["type"] == "failed" and last["kind"] == "data" and last["message"].startswith("a.npy is not a whole NPY file"), last


PICTURES = {"png": png(DEEP.astype(np.uint8)), "png16": png(DEEP), "jpg": png(DEEP.astype(np.uint8), format="JPEG"), "gif": png(DEEP.astype(np.uint8), format="GIF"),
            "webp": png(np.stack([DEEP.astype(np.uint8)] * 3, -1), format="WEBP"), "bmp": png(DEEP.astype(np.uint8), format="BMP"), "tif": tiff(DEEP, compression="zlib"),
            "lzw": tiff(np.stack([DEEP] * 3), photometric="minisblack", compression="lzw"), "fits": fits(DEEP), "packed": fits(DEEP.astype(np.int32), packed=True), "npy": npy(DEEP)}


@pytest.mark.parametrize("kind", PICTURES)
def test_damaged_pictures_end_in_a_sentence(kind):
    rng = random.Random(kind)
    for i in range(10 * ROUNDS):
        content = mutated(PICTURES[kind], rng)
        try:
            values = Canon.of(Field("image", (8, 8, 1))).convert(content)
            assert values.shape == (64,) and np.isfinite(values).all()
        except Fault as fault:
            assert fault.hint and len(fault.message) < 200 and "\n" not in fault.message, (i, fault.message)


def test_bytes_that_are_nothing(tmp_path):
    rng = random.Random(0)
    endings = [".csv", ".json", ".npz", ".npy", ".xlsx", ".parquet", ".feather", ".h5", ".mat", ".sav", ".dta", ".fits", ".ts", ".zip", ".gz", ".bin"]
    for i, ending in enumerate(endings):
        path = tmp_path / f"x{ending}"
        path.write_bytes(rng.randbytes(3000))
        last = read_apart(tmp_path / str(i), PLANTS, path)
        assert last.get("type") == "failed" and last["kind"] != "bug" and path.name in last["message"], (ending, last)


@pytest.mark.parametrize("packed_", [False, True])
@pytest.mark.parametrize("type_", [0, 8, 14, 15, 19, 255])
def test_types_that_matlab_has_not(tmp_path, type_, packed_):
    """SciPy takes the type of an element for a place in a table of its own: such files never reach it."""
    import struct
    import zlib

    from scipy import io as mio
    path = tmp_path / "a.mat"
    mio.savemat(path, {"Height": np.arange(40.0)[:, None]})
    head, element = path.read_bytes()[:128], bytearray(path.read_bytes()[128:])
    at = element.index(b"Height") + 8
    assert element[at] == 9  # the type of 8-byte numbers
    element[at] = type_
    inside = zlib.compress(bytes(element))
    path.write_bytes(head + (struct.pack("<II", 15, len(inside)) + inside if packed_ else bytes(element)))
    last = read_apart(tmp_path / "1", PLANTS, path)
    assert last.get("type") == "failed" and last["message"].startswith(f"a.mat is not a whole MATLAB file (ValueError: an element has the type {type_})"), last


def test_sectors_that_lead_in_a_circle(tmp_path):
    """An old workbook's library would follow them, and keep what it reads, without end."""
    import struct
    path = old_sheet(tmp_path / "a.xls")
    content = path.read_bytes()
    table, = struct.unpack_from("<I", content, 76)
    at = 512 * (table + 1)
    after = struct.unpack_from("<128I", content, at)
    chained = [i for i, n in enumerate(after) if n < 128]
    assert len(chained) > 3
    for i in chained[:3]:
        changed = bytearray(content)
        struct.pack_into("<I", changed, at + 4 * i, i)
        path.write_bytes(changed)
        last = read_apart(tmp_path / f"1{i}", PLANTS, path)
        assert last.get("message", "").startswith("a.xls is not a whole workbook (ValueError: its sectors lead in a circle)"), last
    path.write_bytes(content[:68] + bytes(4) + content[72:table * 512 + 512] + bytes(508) + bytes(4) + content[table * 512 + 1024:])
    last = read_apart(tmp_path / "2", PLANTS, path)
    assert last["type"] == "failed" and last["message"].startswith("a.xls is not a whole workbook"), last


def test_heaps_of_texts_without_end(tmp_path):
    """HDF5 would look for the next text in the same place for ever."""
    path = make(tmp_path, "plants.h5", plants(40))
    content = bytearray(path.read_bytes())
    heap = content.index(b"GCOL")
    first = heap + 16
    assert content[first:first + 2] != b"\0\0"
    content[first:first + 16] = bytes(16)
    path.write_bytes(content)
    last = read_apart(tmp_path / "1", PLANTS, path)
    assert last.get("message", "").startswith("plants.h5 is not a whole HDF5 file (ValueError: a heap of texts has free space of no length)"), last


class Evil:
    """Touches a file when it is unpickled."""

    def __init__(self, path: str):
        self.path = path

    def __reduce__(self):
        return (os.mkdir, (self.path,))


def test_nothing_is_unpickled(tmp_path):
    import h5py
    from scipy import io as mio
    mark = tmp_path / "executed"
    evil = Evil(str(mark))
    objects = np.array([evil] * 3, dtype=object)
    np.save(tmp_path / "a.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "b.npz", x=objects)
    (tmp_path / "c.pkl").write_bytes(pickle.dumps(evil))
    (tmp_path / "d.bin").write_bytes(pickle.dumps(evil))
    with zipfile.ZipFile(tmp_path / "e.pt", "w") as z:
        z.writestr("archive/data.pkl", pickle.dumps(evil))
    with h5py.File(tmp_path / "f.h5", "w") as f:
        f["x"] = np.array([np.void(pickle.dumps(evil))] * 3)
    mio.savemat(tmp_path / "g.mat", {"x": {"a": 1}})
    for i, path in enumerate(sorted(p for p in tmp_path.iterdir() if p.suffix)):
        last = read_apart(tmp_path / str(i), PLANTS, path)
        assert last["type"] == "failed" and last["kind"] != "bug" and last.get("hint") or last["kind"] == "data", (path.name, last)
    assert not mark.exists()
    folder = tar(tmp_path / "t.tar", {"cat/1.npy": (tmp_path / "a.npy").read_bytes(), "dog/1.png": png(np.zeros((8, 8), np.uint8))})
    fed = feed(tmp_path / "fed", PETS, folder, names=["pets/"])
    assert fed.rejects[0]["reason"].startswith("holds Python objects") and not mark.exists()


def test_hdf5_leads_nowhere(tmp_path):
    import h5py
    with h5py.File(tmp_path / "secret.h5", "w") as f:
        f["x"] = np.arange(3.0)
    (tmp_path / "raw").write_bytes(bytes(24))
    with h5py.File(tmp_path / "a.h5", "w") as f:
        f["label"] = np.array([0, 1, 0])
        f["linked"] = h5py.ExternalLink("secret.h5", "x")
        f["soft"] = h5py.SoftLink("/label")
        f.create_dataset("outside", (3,), "f8", external=[(str(tmp_path / "raw"), 0, 24)])
        layout = h5py.VirtualLayout((3,), "f8")
        layout[:] = h5py.VirtualSource(str(tmp_path / "secret.h5"), "x", shape=(3,))
        f.create_virtual_dataset("virtual", layout)
    prog = program([{"name": "x", "tensor": [1]}], [{"name": "label", "class_count": 2}])
    for i, wanted in enumerate(("linked", "outside", "virtual")):
        fed = feed(tmp_path / str(i), prog, tmp_path / "a.h5", using={"x": wanted})
        assert fed.last["type"] == "failed" and f"has no column {wanted}" in fed.last["message"], fed.last


def test_bombs_are_refused_before_they_go_off(tmp_path, monkeypatch):
    import gzip

    from easeml.trainer.readers import npz, packed as packing, workbook
    monkeypatch.setattr(packing, "RATIO_FROM", 1_000_000)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"a,b\n" * 3_000_000))
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(gzip.compress(b"a,b\n1,2\n")))
    monkeypatch.setattr(workbook, "MOST_BYTES", 1_000_000)
    with zipfile.ZipFile(tmp_path / "c.xlsx", "w", zipfile.ZIP_DEFLATED) as z:
        z.writestr("[Content_Types].xml", "x")
        z.writestr("xl/workbook.xml", bytes(5_000_000))
    monkeypatch.setattr(npz, "MOST_BYTES", 1_000_000)
    np.savez_compressed(tmp_path / "d.npz", x=np.zeros(1_000_000))
    for i, (name, said) in enumerate({"a.csv.gz": "would grow from", "b.csv.gz": "packed more than once", "c.xlsx": "unpacked it would take", "d.npz": "unpacked it would take"}.items()):
        fed = feed(tmp_path / str(i), PLANTS, tmp_path / name)
        assert fed.last["type"] == "failed" and said in fed.last["message"] and fed.last["hint"], fed.last


def test_a_reader_of_another_package(tmp_path):
    """An installed distribution brings a reader; one that is broken costs nobody else anything."""
    (tmp_path / "lab_reader.py").write_text('''
from easeml.trainer.readers import Block, Source

class Lab(Source):
    """Lines of name=value, one example a line."""
    cells = True

    def __init__(self, name, path, options):
        super().__init__(name, path)
        self.rows = [dict(cell.split("=") for cell in line.split()) for line in path.read_text().splitlines()]
        if not self.rows:
            raise self.fault("holds no examples", "Measure something.")
        self.names = list(self.rows[0])

    def blocks(self, names=None):
        yield Block({n: [r.get(n) for r in self.rows] for n in self.names}, range(1, len(self.rows) + 1), None, read=self.size)

def broken(name, path, options):
    raise RuntimeError("no such instrument")
''')
    about = tmp_path / "lab-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: lab\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[easeml.readers]\nlab = lab_reader:Lab\nodd = lab_reader:broken\ngone = lab_nowhere:Lab\n")
    (tmp_path / "a.lab").write_text("".join(f"x={i} kind={'ab'[i % 2]}\n" for i in range(30)))
    (tmp_path / "b.odd").write_text("x")
    (tmp_path / "c.gone").write_text("x")
    import subprocess
    prog = program([{"name": "x", "tensor": [1]}], [{"name": "kind", "class_count": 2}])
    ends = {}
    for name in ("a.lab", "b.odd", "c.gone"):
        folder = tmp_path / ("in-" + name)
        folder.mkdir()
        (folder / "ingest.json").write_text(json.dumps({"format": 1, "program": prog, "sources": [{"name": name, "path": str(tmp_path / name)}]}))
        subprocess.run([sys.executable, "-m", "easeml.trainer", "ingest", str(folder)], check=True, env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])},
                       capture_output=True)
        ends[name] = Fed(folder)
    assert ends["a.lab"].profile["classes"] == {"a": 15, "b": 15}
    assert "the reader for .odd files that is installed here fails (RuntimeError: no such instrument)" in ends["b.odd"].last["message"]
    assert "the reader for .gone files that is installed here fails" in ends["c.gone"].last["message"] and ends["c.gone"].last["kind"] == "unsupported"
