"""Which reader opens which file: by its first bytes, where they tell, else by its ending.

More kinds come from entry points of the group ``easeml.readers``, asked before ours: the entry's name is the
ending that it reads, its object a callable ``(name, path, options)`` that gives a `Source`.
"""

from __future__ import annotations

import functools
import sys
import zipfile
from pathlib import Path
from typing import Callable

from ..fault import Fault, one_sentence
from . import Options, Source

GROUP = "easeml.readers"

TEXT = (".csv", ".tsv", ".txt", ".tab", ".dat")
LINES = (".json", ".jsonl", ".ndjson")
PICKLED = (".pkl", ".pickle", ".joblib", ".pt", ".pth", ".rds", ".rda", ".rdata")
PACKED = (".gz", ".bz2", ".xz", ".zst")
WORKBOOKS = (".xlsx", ".xlsm", ".xls", ".xlsb", ".ods")

_STARTS = (  # first bytes, where they begin, the kind
    (b"PAR1", 0, "parquet"), (b"ARROW1", 0, "arrow"), (b"\xff\xff\xff\xff", 0, "arrow"), (b"\x89HDF\r\n\x1a\n", 0, "hdf5"), (b"\x89HDF\r\n\x1a\n", 512, "mat7"),
    (b"MATLAB 7.3 MAT-file", 0, "mat7"), (b"MATLAB 5.0 MAT-file", 0, "mat"), (b"SIMPLE  =", 0, "fits"), (b"\x93NUMPY", 0, "npy"),
    (b"$FL2", 0, "spss"), (b"$FL3", 0, "spss"), (b"<stata_dta>", 0, "stata"), (b"\xd0\xcf\x11\xe0", 0, "workbook"), (b"FEA1", 0, "feather1"),
    (b"\x1f\x8b", 0, "packed"), (b"BZh", 0, "packed"), (b"\xfd7zXZ", 0, "packed"), (b"\x28\xb5\x2f\xfd", 0, "packed"), (b"SQLite format 3", 0, "sqlite"),
)
_ENDINGS = {".parquet": "parquet", ".pq": "parquet", ".feather": "arrow", ".arrow": "arrow", ".ipc": "arrow", ".h5": "hdf5", ".hdf5": "hdf5", ".hdf": "hdf5",
            ".mat": "mat", ".fits": "fits", ".fit": "fits", ".npy": "npy", ".sav": "spss", ".zsav": "spss", ".por": "spss", ".dta": "stata",
            ".sas7bdat": "sas", ".xpt": "sas", ".npz": "npz", ".ts": "ts", **dict.fromkeys(WORKBOOKS, "workbook"),
            **dict.fromkeys(LINES, "json"), **dict.fromkeys(PICKLED, "pickled")}


@functools.cache
def plugins() -> dict[str, object]:
    """The readers that other packages bring, by ending."""
    from importlib.metadata import entry_points
    return {"." + e.name.lower().lstrip("."): e for e in entry_points(group=GROUP)}


def open_kind(name: str, path: Path, options: Options) -> Source:
    """Open a file. Raises `Fault` where it can't be read at all."""
    if path.is_dir():
        raise Fault(f"{name} is a folder; this trainer reads files.", kind="unsupported", where={"file": name})
    try:
        with open(path, "rb") as f:
            start = f.read(1024)
    except OSError as error:
        raise Fault(f"{name} can't be read: {error.strerror or error}.", where={"file": name}) from None
    if not start:
        raise Fault(f"{name} is empty.", where={"file": name})
    endings = [Path(name).suffix.lower(), path.suffix.lower()]
    for ending in endings:
        if ending in plugins():
            return _of_plugin(ending, name, path, options)
    return _opener(kind_of(start, endings, path), name)(name, path, options)


def kind_of(start: bytes, endings: list[str], path: Path) -> str | None:
    """The kind of a file with these first bytes and endings; None where nothing tells."""
    from .archive import is_tar
    if is_tar(start):
        return "pictures"
    for sign, at, kind in _STARTS:
        if start[at:at + len(sign)] == sign:
            return kind
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _zipped(path, endings)
    for ending in endings:
        if ending in _ENDINGS:
            return _ENDINGS[ending]
        if ending in (".tar", ".zip"):
            return "pictures"
    if any(e in TEXT for e in endings):
        return "csv"
    if start[:1] == b"\x80" and start[1:2] in b"\x02\x03\x04\x05":
        return "pickled"
    if b"\0" not in start or start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "json" if start.lstrip()[:1] in (b"[", b"{") else "csv"
    return None


def _zipped(path: Path, endings: list[str]) -> str | None:
    """What a zip holds: a workbook, arrays, or pictures; None where its ending promises something else."""
    known = next((_ENDINGS[e] for e in endings if e in _ENDINGS), None)
    if known in ("npz", "workbook", "pickled"):
        return known
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        names = []
    if "[Content_Types].xml" in names and any(n.startswith("xl/") for n in names):
        return "workbook"
    if names and all(n.endswith(".npy") and "/" not in n for n in names):
        return "npz"
    if "archive/data.pkl" in names or any(n.endswith("/data.pkl") for n in names):
        return "pickled"
    return "pictures" if {".zip", "", ".bin"} & set(endings) else None


def _opener(kind: str | None, name: str) -> Callable[[str, Path, Options], Source]:
    """The class that reads a kind of file."""
    if kind == "csv":
        from .csv import CSV as reader
    elif kind == "json":
        from .json import JSON as reader
    elif kind == "npz":
        from .npz import NPZ as reader
    elif kind == "npy":
        from .npz import NPY as reader
    elif kind == "pictures":
        from .pictures import Pictures as reader
    elif kind == "parquet":
        from .arrow import Parquet as reader
    elif kind == "arrow":
        from .arrow import Arrow as reader
    elif kind == "workbook":
        from .workbook import Workbook as reader
    elif kind in ("spss", "stata", "sas"):
        from .statistics import Statistics as reader
    elif kind == "hdf5":
        from .hdf5 import HDF5 as reader
    elif kind in ("mat", "mat7"):
        from .matlab import open_mat as reader
    elif kind == "fits":
        from .fits import FITS as reader
    elif kind == "ts":
        from .ts import TS as reader
    elif kind == "packed":
        from .packed import unpacked as reader
    elif kind == "pickled":
        raise Fault(f"{name} is refused: reading such a file runs code that lies in it.", kind="unsupported", where={"file": name},
                    hint="Save the data itself, for instance as Parquet, CSV or NPZ.")
    elif kind == "feather1":
        raise Fault(f"{name} is in the first version of Feather, which can't be read.", kind="unsupported", where={"file": name},
                    hint="Save it again with a newer library, or as Parquet.")
    elif kind == "sqlite":
        raise Fault(f"{name} is a database.", kind="unsupported", where={"file": name}, hint="Save the table that is meant as CSV or Parquet.")
    else:
        raise Fault(f"{name}: files of this kind can't be read.", kind="unsupported", where={"file": name},
                    hint="Save it as CSV, Parquet or NPZ; pictures as PNG or TIFF, in a folder or a .zip.")
    return reader


def library(module: str, name: str):
    """A module that a kind of file needs. Raises `Fault` with kind unsupported where it isn't installed."""
    import importlib
    try:
        return importlib.import_module(module)
    except ImportError:
        raise Fault(f"{name} needs the Python package {module.split('.')[0]}, which is not installed here.", kind="unsupported", where={"file": name},
                    hint="Install it beside the trainer, or save the file as CSV or Parquet.") from None


def _of_plugin(ending: str, name: str, path: Path, options: Options) -> Source:
    """A source that another package's reader opens; what goes wrong in it is said to be its own."""
    try:
        return plugins()[ending].load()(name, path, options)
    except Fault:
        raise
    except Exception as error:  # a plugin is other people's code
        print(f"the reader for {ending} fails: {one_sentence(error)}", file=sys.stderr)
        raise Fault(f"{name}: the reader for {ending} files that is installed here fails ({one_sentence(error)[:120]}).", kind="unsupported",
                    where={"file": name}) from None
