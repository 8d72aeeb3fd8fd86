"""One small table in every kind of file that holds tables, made by the tests themselves."""

from __future__ import annotations

import bz2
import csv
import datetime
import gzip
import io
import json
import lzma
from pathlib import Path

import numpy as np

import sas
from folders import program

PLANTS = program(
    [{"name": "height", "tensor": [1]}, {"name": "leaves", "tensor": [1]}, {"name": "color", "classes": ["red", "green", "blue"]},
     {"name": "seen", "tensor": [1]}, {"name": "wild", "tensor": [1]}],
    [{"name": "kind", "classes": ["oak", "elm"]}])

NAMES = ["Height", "leaves", "color", "seen", "wild", "kind"]


def plants(n: int = 80, seed: int = 0) -> list[dict]:
    """Rows of Python values: a number with gaps, a whole number, a category with gaps, a date, a truth value, a label."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        oak = i % 2 == 0
        rows.append({"Height": None if i % 13 == 5 else round(float(rng.normal(12 if oak else 4, 1)), 3), "leaves": int(rng.integers(1, 90)),
                     "color": None if i % 17 == 3 else ["red", "green", "blue"][int(rng.integers(3))],
                     "seen": datetime.date(2024, 1, 1) + datetime.timedelta(days=int(rng.integers(0, 700))), "wild": bool(rng.integers(2)),
                     "kind": "oak" if oak else "elm"})
    return rows


def column(rows: list[dict], name: str) -> list:
    return [r[name] for r in rows]


def text(rows: list[dict], *, delimiter: str = ",", decimal: str = ".", header: bool = True, above: tuple[str, ...] = ()) -> str:
    """The rows as a text table."""
    out = io.StringIO()
    for line in above:
        out.write(line + "\r\n")
    writer = csv.writer(out, delimiter=delimiter)
    if header:
        writer.writerow(NAMES)
    for r in rows:
        cells = ["" if r[n] is None else str(r[n]) for n in NAMES]
        writer.writerow([cells[0].replace(".", decimal), *cells[1:]])
    return out.getvalue()


def _written(content: bytes):
    return lambda path, rows: path.write_bytes(content(rows) if callable(content) else content)


def workbook(path: Path, rows: list[dict], *, above: int = 0, sheets: tuple[str, ...] = ("Plants",)) -> None:
    import openpyxl
    book = openpyxl.Workbook()
    for i, name in enumerate(sheets):
        sheet = book.active if i == 0 else book.create_sheet()
        sheet.title = name
        for _ in range(above):
            sheet.append(["Field work of 2024"])
        sheet.append(NAMES)
        for r in rows:
            sheet.append([r[n] for n in NAMES])
    book.save(path)


def table(rows: list[dict]):
    import pyarrow as pa
    t = pa.table({n: column(rows, n) for n in NAMES})
    return t.set_column(2, "color", t.column("color").dictionary_encode())


def parquet(path: Path, rows: list[dict]) -> None:
    import pyarrow.parquet as pq
    pq.write_table(table(rows), path, row_group_size=32)


def feather(path: Path, rows: list[dict]) -> None:
    import pyarrow.feather
    pyarrow.feather.write_feather(table(rows), str(path), compression="lz4", chunksize=32)


def stream(path: Path, rows: list[dict]) -> None:
    import pyarrow as pa
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table(rows).schema) as writer:
        writer.write_table(table(rows), max_chunksize=32)


def coded(rows: list[dict]):
    """The rows as statistics packages have them: categories as codes with labels."""
    import pandas as pd
    frame = pd.DataFrame({"Height": [np.nan if v is None else v for v in column(rows, "Height")], "leaves": column(rows, "leaves"),
                          "color": [np.nan if v is None else ["red", "green", "blue"].index(v) + 1.0 for v in column(rows, "color")],
                          "seen": column(rows, "seen"), "wild": [float(v) for v in column(rows, "wild")],
                          "kind": [1.0 if v == "oak" else 2.0 for v in column(rows, "kind")]})
    return frame, {"color": {1: "red", 2: "green", 3: "blue"}, "kind": {1: "oak", 2: "elm"}}


def spss(path: Path, rows: list[dict]) -> None:
    import pyreadstat
    frame, labels = coded(rows)
    pyreadstat.write_sav(frame, str(path), variable_value_labels=labels, compress=path.suffix == ".zsav")


def stata(path: Path, rows: list[dict]) -> None:
    import pyreadstat
    frame, labels = coded(rows)
    pyreadstat.write_dta(frame, str(path), variable_value_labels=labels)


def portable(path: Path, rows: list[dict]) -> None:
    """SPSS's portable and SAS's transport format: no value labels, so text."""
    import pyreadstat
    frame, _ = coded(rows)
    frame["color"], frame["kind"] = [v or "" for v in column(rows, "color")], column(rows, "kind")
    (pyreadstat.write_por if path.suffix == ".por" else pyreadstat.write_xport)(frame, str(path))


def dataset(path: Path, rows: list[dict]) -> None:
    """SAS's data sets: no value labels, days with a format, and gaps of two kinds."""
    columns = [sas.Column(n, {"color": 5, "kind": 3}.get(n, 0), "DATE" if n == "seen" else "") for n in NAMES]
    gaps = iter([None, "A"] * len(rows))
    sas.write(path, columns, [[next(gaps) if r["Height"] is None else r["Height"], *(r[n] for n in NAMES[1:])]
                              for r in rows])


def opendocument(path: Path, rows: list[dict]) -> None:
    """A sheet as an office program saves it: typed cells, empty ones with nothing in them."""
    import zipfile
    from xml.sax.saxutils import escape

    def cell(v) -> str:
        if v is None:
            return "<table:table-cell/>"
        if isinstance(v, bool):
            return f'<table:table-cell office:value-type="boolean" office:boolean-value="{str(v).lower()}"><text:p>{str(v).upper()}</text:p></table:table-cell>'
        if isinstance(v, (int, float)):
            return f'<table:table-cell office:value-type="float" office:value="{v!r}"><text:p>{v}</text:p></table:table-cell>'
        if hasattr(v, "isoformat"):
            return f'<table:table-cell office:value-type="date" office:date-value="{v.isoformat()}"><text:p>{v}</text:p></table:table-cell>'
        return f'<table:table-cell office:value-type="string"><text:p>{escape(v)}</text:p></table:table-cell>'

    lines = [NAMES, *([r[n] for n in NAMES] for r in rows)]
    spaces = " ".join(f'xmlns:{n}="urn:oasis:names:tc:opendocument:xmlns:{n}:1.0"' for n in ("office", "table", "text"))
    content = f'<?xml version="1.0" encoding="UTF-8"?><office:document-content {spaces} office:version="1.2"><office:body><office:spreadsheet>' \
        '<table:table table:name="Plants">' + "".join(f"<table:table-row>{''.join(map(cell, line))}</table:table-row>" for line in lines) + \
        "</table:table></office:spreadsheet></office:body></office:document-content>"
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = '<?xml version="1.0" encoding="UTF-8"?><manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">' \
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>' \
        '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/></manifest:manifest>'
    with zipfile.ZipFile(path, "w") as z:
        z.writestr("mimetype", kind)
        z.writestr("content.xml", content)
        z.writestr("META-INF/manifest.xml", manifest)


def _zstandard(content: bytes) -> bytes:
    import pyarrow as pa
    return pa.Codec("zstd").compress(content, asbytes=True)


def _arrays(rows: list[dict]) -> dict[str, np.ndarray]:
    from easeml.trainer.convert import day_of
    return {"Height": np.array([np.nan if v is None else v for v in column(rows, "Height")]), "leaves": np.array(column(rows, "leaves"), np.int16),
            "color": np.array([v or "" for v in column(rows, "color")]), "seen": np.array([day_of(v) for v in column(rows, "seen")]),
            "wild": np.array(column(rows, "wild")), "kind": np.array(column(rows, "kind"))}


def records(rows: list[dict]) -> np.ndarray:
    arrays = _arrays(rows)
    out = np.zeros(len(rows), dtype=[(k, a.dtype) for k, a in arrays.items()])
    for k, a in arrays.items():
        out[k] = a
    return out


def hdf5(path: Path, rows: list[dict], *, compound: bool = False) -> None:
    import h5py
    with h5py.File(path, "w") as f:
        if compound:
            r = records(rows)
            f["plants"] = r.astype([(n, f"S{r.dtype[n].itemsize}" if r.dtype[n].kind == "U" else r.dtype[n]) for n in r.dtype.names])
            return
        for k, a in _arrays(rows).items():
            f.create_dataset(k, data=a.astype(object) if a.dtype.kind == "U" else a, dtype=h5py.string_dtype() if a.dtype.kind == "U" else None)


def mat(path: Path, rows: list[dict]) -> None:
    from scipy import io as mio
    arrays = _arrays(rows)
    mio.savemat(path, {k: a.astype(object)[:, None] if a.dtype.kind == "U" else a[None, :] if k == "leaves" else a[:, None] for k, a in arrays.items()})


def mat7(path: Path, rows: list[dict]) -> None:
    """As MATLAB writes version 7.3: axes turned round, text as cells of references."""
    import h5py
    with h5py.File(path, "w", userblock_size=512) as f:
        refs = f.create_group("#refs#")
        for k, a in _arrays(rows).items():
            if a.dtype.kind != "U":
                f[k] = a.astype(np.uint8 if a.dtype.kind == "b" else a.dtype)[None, :]  # n×1 in MATLAB
                f[k].attrs["MATLAB_class"] = np.bytes_("double")
                continue
            cell = np.zeros((1, len(a)), dtype=h5py.ref_dtype)
            for i, v in enumerate(a):
                s = refs.create_dataset(f"{k}{i}", data=np.array([[ord(c)] for c in v] or [[0]], np.uint16))
                s.attrs["MATLAB_class"] = np.bytes_("char")
                if not v:
                    s.attrs["MATLAB_empty"] = 1
                cell[0, i] = s.ref
            f[k] = cell
            f[k].attrs["MATLAB_class"] = np.bytes_("cell")
    with open(path, "r+b") as f:
        f.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM")


def fits(path: Path, rows: list[dict]) -> None:
    from astropy.table import Table
    t = Table(_arrays(rows))
    t.write(path, overwrite=True)


KINDS = {
    "comma.csv": _written(lambda rows: text(rows).encode()),
    "semicolon.csv": _written(lambda rows: text(rows, delimiter=";", decimal=",").encode("utf-8-sig")),
    "tab.tsv": _written(lambda rows: text(rows, delimiter="\t").encode("utf-16")),
    "bar.txt": _written(lambda rows: text(rows, delimiter="|").encode("latin-1")),
    "titled.csv": _written(lambda rows: text(rows, above=("Field work", "")).encode()),
    "packed.csv.gz": _written(lambda rows: gzip.compress(text(rows).encode())),
    "packed.csv.bz2": _written(lambda rows: bz2.compress(text(rows).encode())),
    "packed.csv.xz": _written(lambda rows: lzma.compress(text(rows).encode())),
    "packed.csv.zst": _written(lambda rows: _zstandard(text(rows).encode())),
    "array.json": _written(lambda rows: json.dumps(rows, default=str, indent=1).encode()),
    "lines.jsonl": _written(lambda rows: "\n".join(json.dumps(r, default=str) for r in rows).encode()),
    "book.xlsx": workbook,
    "titled.xlsx": lambda path, rows: workbook(path, rows, above=2),
    "plants.ods": opendocument,
    "plants.parquet": parquet,
    "plants.feather": feather,
    "stream.arrow": stream,
    "plants.sav": spss,
    "packed.zsav": spss,
    "plants.dta": stata,
    "plants.por": portable,
    "plants.xpt": portable,
    "plants.sas7bdat": dataset,
    "plants.npz": lambda path, rows: np.savez(path, **_arrays(rows)),
    "records.npy": lambda path, rows: np.save(path, records(rows)),
    "plants.h5": hdf5,
    "records.hdf5": lambda path, rows: hdf5(path, rows, compound=True),
    "plants.mat": mat,
    "new.mat": mat7,
    "plants.fits": fits,
}


def make(folder: Path, kind: str, rows: list[dict]) -> Path:
    """The rows in a file of a kind."""
    path = folder / kind
    KINDS[kind](path, rows)
    return path
