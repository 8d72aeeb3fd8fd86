"""What reading data costs: `make bench-data`.

Throughput of an ingest beside a plain script with pandas or Pillow, in turns in the same run; the peak of an ingest's own
memory for two sizes of a file, with its slope; and how long one `infer` of one example takes with a resident model. Figures are printed, not asserted.
"""

from __future__ import annotations

import io
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "ARROW_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np  # noqa: E402

COLUMNS = 20
TURNS = int(os.environ.get("TURNS", "5"))

TABLE = {"input": {"fields": [{"name": "x", "tensor": [COLUMNS]}], "pointers": []}, "output": {"fields": [{"name": "y", "class_count": 2}], "pointers": []}}
PICTURES = {"input": {"fields": [{"name": "image", "tensor": [32, 32, 3]}], "pointers": []}, "output": {"fields": [{"name": "y", "class_count": 2}], "pointers": []}}

WIDE = 500
PROGRAMS = {"png": PICTURES, "wide": {"input": {"fields": [{"name": f"x_{i}", "tensor": [1]} for i in range(WIDE)], "pointers": []}, "output": TABLE["output"]}}

# What a plain script does: read, and have numbers and labels in arrays.
PEERS = {
    "csv": "import pandas as pd; t = pd.read_csv(p); x = t.drop(columns='y').to_numpy(); y = t.y.to_numpy()",
    "parquet": "import pandas as pd; t = pd.read_parquet(p); x = t.drop(columns='y').to_numpy(); y = t.y.to_numpy()",
    "jsonl": "import pandas as pd; t = pd.read_json(p, lines=True); x = t.drop(columns='y').to_numpy(); y = t.y.to_numpy()",
    "xlsx": "import pandas as pd; t = pd.read_excel(p, engine='calamine'); x = t.drop(columns='y').to_numpy(); y = t.y.to_numpy()",
    "npz": "import numpy as np; f = np.load(p); x = f['x'].astype(float); y = f['y']",
    "png": "import io, tarfile, numpy as np; from PIL import Image; "
           "x = np.stack([np.asarray(Image.open(io.BytesIO(t.extractfile(m).read())).convert('RGB').resize((32, 32))) for t in [tarfile.open(p)] for m in t if m.isfile()])",
}


def make(folder: Path, kind: str, rows: int) -> Path:
    """A file of a kind with so many examples."""
    rng = np.random.default_rng(rows)
    path = folder / f"{rows}.{kind}"
    if kind == "png":
        from PIL import Image
        path = folder / f"{rows}.tar"
        with tarfile.open(path, "w") as t:
            for i in range(rows):
                out = io.BytesIO()
                Image.fromarray(rng.integers(0, 255, (64, 64, 3), dtype=np.uint8)).save(out, "PNG", compress_level=1)
                info = tarfile.TarInfo(f"{'ab'[i % 2]}/{i:06d}.png")
                info.size = out.tell()
                out.seek(0)
                t.addfile(info, out)
        return path
    x = rng.normal(size=(rows, WIDE if kind == "wide" else COLUMNS)).round(6)
    y = np.array(["no", "yes"])[(x[:, 0] > 0).astype(int)]
    if kind == "npz":
        np.savez(path, x=x, y=y)
        return path
    import pandas as pd
    t = pd.DataFrame(x, columns=[f"x_{i}" for i in range(x.shape[1])]).assign(y=y)
    {"wide": lambda: t.to_parquet(path), "arrow": lambda: t.to_feather(path, compression="uncompressed", chunksize=len(t)), "csv": lambda: t.to_csv(path, index=False), "parquet": lambda: t.to_parquet(path, row_group_size=20_000), "xlsx": lambda: t.to_excel(path, index=False),
     "jsonl": lambda: t.to_json(path, orient="records", lines=True)}[kind]()
    return path


def ingest(folder: Path, path: Path, program: dict) -> tuple[float, float, int, dict]:
    """What `timed` tells of an ingest in a process of its own, and its last event."""
    work = Path(tempfile.mkdtemp(dir=folder))
    (work / "ingest.json").write_text(json.dumps({"format": 1, "program": program, "sources": [{"name": path.name, "path": str(path)}]}))
    return *timed([sys.executable, "-m", "easeml.trainer", "ingest", str(work)]), json.loads((work / "events.jsonl").read_text().splitlines()[-1])


def timed(command: list[str]) -> tuple[float, float, int]:
    """Seconds, seconds of a CPU, and the peak of private bytes of a process from its start, watched from outside."""
    begun, peak = time.perf_counter(), 0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    while True:
        pid, status, used = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        try:
            with open(f"/proc/{process.pid}/smaps_rollup", encoding="ascii") as f:
                peak = max(peak, sum(int(line.split()[1]) for line in f if line.startswith("Private_")) * 1024)
        except OSError:
            pass
        time.sleep(0.02)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command} ended with {process.returncode}")
    return time.perf_counter() - begun, used.ru_utime + used.ru_stime, peak


def throughput(folder: Path) -> None:
    """Each kind: ingest and peer in turns; the ratio of their CPU seconds, which a busy machine changes least, with its spread."""
    print(f"Throughput, {TURNS} turns each, processes from their start (ratio of CPU seconds, ingest / plain script: median, least–most)")
    for kind, rows in (("csv", 100_000), ("parquet", 100_000), ("jsonl", 100_000), ("xlsx", 20_000), ("npz", 200_000), ("png", 3_000)):
        path = make(folder, kind, rows)
        ours, theirs = [], []
        for _ in range(TURNS):
            *took, last = ingest(folder, path, PROGRAMS.get(kind, TABLE))
            assert last["type"] == "done" and last["accepted"] == rows, last
            ours.append(took)
            theirs.append(timed([sys.executable, "-c", f"p = {str(path)!r}; {PEERS[kind]}"]))
        ratios = sorted(a[1] / b[1] for a, b in zip(ours, theirs))
        size, wall, cpu = path.stat().st_size / 1e6, statistics.median(o[0] for o in ours), statistics.median(o[1] for o in ours)
        print(f"  {kind:8} {rows:8,} examples {size:6.1f} MB   ingest {wall:6.2f} s, CPU {cpu:6.2f} s: {rows / cpu:8,.0f} examples and {size / cpu:5.1f} MB a CPU second"
              f"   plain {statistics.median(t[0] for t in theirs):6.2f} s, CPU {statistics.median(t[1] for t in theirs):6.2f} s"
              f"   ratio {statistics.median(ratios):5.2f} ({ratios[0]:.2f}–{ratios[-1]:.2f})", flush=True)
        path.unlink()


def slope(folder: Path, kind: str, rows: int) -> tuple[list[float], list[float]]:
    """Sizes and peaks of private bytes, in MB, of an ingest of a file and of one four times as large."""
    peaks, sizes = [], []
    for n in (rows, 4 * rows):
        path = make(folder, kind, n)
        peaks.append(ingest(folder, path, PROGRAMS.get(kind, TABLE))[2] / 1e6)
        sizes.append(path.stat().st_size / 1e6)
        path.unlink()
    return sizes, peaks


def memory(folder: Path) -> None:
    """Peaks for a file and one four times as large, and what a byte of the file, and an example, adds."""
    print("Memory: peak of an ingest's own bytes, for a file and one four times as large; what a byte of the file adds, and an example")
    for kind, rows in (("csv", 50_000), ("parquet", 100_000), ("wide", 5_000), ("arrow", 100_000), ("jsonl", 50_000), ("npz", 100_000), ("png", 2_000)):
        sizes, peaks = slope(folder, kind, rows)
        more = peaks[1] - peaks[0]
        print(f"  {kind:8} {rows:8,} examples, {sizes[0]:6.1f} MB: {peaks[0]:5.0f} MB   {4 * rows:8,} examples, {sizes[1]:6.1f} MB: {peaks[1]:5.0f} MB"
              f"   {more / (sizes[1] - sizes[0]):6.3f} bytes a byte, {more * 1e6 / (3 * rows):6.0f} an example", flush=True)


def latency(folder: Path) -> None:
    """One example asked of a resident model, over its pipe, file to answer."""
    sys.path.insert(0, str(Path(__file__).parent / "tests"))
    from folders import choose, feed, trial, version
    from easeml.trainer.runner import run
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, COLUMNS))
    np.savez(folder / "train.npz", x=x, y=np.array(["no", "yes"])[(x[:, 0] > 0).astype(int)])
    fed = feed(folder / "fed", TABLE, folder / "train.npz")
    offered = choose(fed, TABLE)
    data = version(folder / "data", fed)
    (folder / "one.json").write_text(json.dumps({"x": x[0].tolist()}))
    print("Latency of one example, asked of a resident model (median, 95th percentile of 300)")
    for id in ("logistic.c1", "forest.300"):
        work = trial(folder / id, fed, data, TABLE, offered[id])
        run(work)
        process = subprocess.Popen([sys.executable, "-m", "easeml.trainer", "predict", str(work / "model")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        json.loads(process.stdout.readline())["ready"]
        took = []
        for i in range(310):
            begun = time.perf_counter()
            process.stdin.write(json.dumps({"id": i, "sources": [{"name": "one.json", "path": str(folder / "one.json")}], "out": str(folder / "out.ndjson")}) + "\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline())["done"]["answers"] == 1
            took.append(time.perf_counter() - begun)
        process.stdin.close()
        process.wait()
        took = sorted(took[10:])
        print(f"  {id:14} {1e3 * statistics.median(took):6.2f} ms, {1e3 * took[int(0.95 * len(took))]:6.2f} ms", flush=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in (throughput, memory, latency):
            if len(sys.argv) < 2 or part.__name__ in sys.argv[1:]:
                part(folder)


if __name__ == "__main__":
    main()
