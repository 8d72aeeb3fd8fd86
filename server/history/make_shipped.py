"""Makes shipped.json: what the catalogue's candidates reach and take on data sets that Python packages ship.

    .venv/bin/python server/history/make_shipped.py            # a quarter of an hour on two cores
    .venv/bin/python server/history/make_shipped.py --check --only iris wine      # how far a second run differs

Every candidate that the trainer's own choice offers for a data set is fitted by the trainer itself (ingest, then one trial a
candidate, forked by the warm parent as the engine does it), one thread each. Deep candidates and those that take longer than
the limit are left out: a trial that didn't end says nothing of its quality. A fresh server starts its first searches from
these rows; its own history joins them. The seconds are this machine's; the allocator learns a search's own.

A trial's seconds are its processor's: with one thread and data in memory that is how long it takes on a slot of its own, and
it hardly changes when others use the machine, as the clock's seconds do. Short trials are run again, and the least counts:
what disturbs only ever adds. The rows are the measurements themselves, so a prior of another form needs no training.
"""

import argparse
import json
import math
import os
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from skimage import color
from skimage import data as photographs
from sklearn import datasets

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "python" / "tests"))
from folders import DIGITS, Warm, choose, digits, events, feed, program, result, trial, version  # noqa: E402

from easeml.trainer.program import parse_program, template_of  # noqa: E402
from easeml.trainer.runner import versions  # noqa: E402

SHORT = 1.0
"""Trials of fewer processor seconds are run again."""


def table(frame: pd.DataFrame, output: str, classes: bool):
    """A program and a frame with names that the language takes."""
    names = {c: "x%d" % i for i, c in enumerate(c for c in frame if c != output)} | {output: "y"}
    frame = frame.rename(columns=names)
    fields = [{"name": n, "tensor": [1]} for n in frame if n != "y"]
    if not classes:
        return program(fields, [{"name": "y", "tensor": [1]}]), frame
    frame["y"] = frame["y"].map(lambda v: f"c{v}")
    return program(fields, [{"name": "y", "classes": sorted(frame["y"].unique())}]), frame


def tables():
    """Name, program, frame of each table."""
    iris, wine, cancer, diabetes, shown = (f(as_frame=True).frame for f in (
        datasets.load_iris, datasets.load_wine, datasets.load_breast_cancer, datasets.load_diabetes, datasets.load_digits))
    penguins = pd.read_csv(HERE.parents[1] / "notebooks" / "penguins.csv").dropna().drop(columns=["island", "year"])
    penguins["sex"] = (penguins["sex"] == "male").astype(int)
    yield "iris", *table(iris, "target", True)
    yield "wine", *table(wine, "target", True)
    yield "breast cancer", *table(cancer, "target", True)
    yield "breast cancer, means", *table(cancer[[c for c in cancer if c.startswith("mean") or c == "target"]], "target", True)
    yield "digits as a table", *table(shown, "target", True)
    yield "penguins", *table(penguins, "species", True)
    yield "penguins, sex", *table(penguins.drop(columns="species"), "sex", True)
    yield "diabetes", *table(diabetes, "target", False)
    yield "diabetes, blood pressure", *table(diabetes.drop(columns="target"), "bp", False)
    yield "penguins, mass", *table(penguins.drop(columns="species"), "body_mass_g", False)
    yield "wine, alcohol", *table(wine, "alcohol", False)
    yield "breast cancer, radius", *table(cancer[["mean radius", "mean texture", "mean smoothness", "mean compactness", "mean concavity", "mean symmetry"]],
                                           "mean radius", False)


def pictures(folder: Path):
    """Name, program and file of each set of pictures: digits, and parts of them."""
    for name, rows in (("digits", slice(None)), ("digits, a quarter", slice(0, 450)), ("digits, the rest", slice(900, None))):
        yield name, DIGITS, digits(folder, rows, name=f"{name.replace(', ', '-').replace(' ', '-')}.npz")
    # Where what counts is the surface: crops of photographs, none of which the example notebooks use.
    for name, side, channels, kinds in (
            ("crops in grey", 16, 1, ("camera", "chelsea", "coffee", "rocket", "astronaut", "clock", "text", "cell")),
            ("crops in grey, larger", 24, 1, ("camera", "coffee", "astronaut", "clock", "cell")),
            ("crops in colours", 16, 3, ("chelsea", "coffee", "rocket", "astronaut"))):
        images, labels = crops(side, channels, kinds)
        path = folder / f"{name.replace(', ', '-').replace(' ', '-')}.npz"
        np.savez(path, image=images, photo=labels)
        yield name, program([{"name": "image", "tensor": [side, side, channels]}], [{"name": "photo", "class_count": len(kinds)}]), path


def crops(side: int, channels: int, kinds: tuple[str, ...]):
    """40 crops of each photograph from a grid, with their names."""
    images, labels = [], []
    for kind in kinds:
        photo = getattr(photographs, kind)()
        if channels == 1 and photo.ndim == 3:
            photo = (color.rgb2gray(photo[..., :3]) * 255).round().astype(np.uint8)
        photo = photo.reshape(*photo.shape[:2], -1)[..., :channels]
        for i in range(40):
            top, left = (i // 8) * ((photo.shape[0] - side) // 4), (i % 8) * ((photo.shape[1] - side) // 7)
            images.append(photo[top:top + side, left:left + side])
            labels.append(kind)
    return np.stack(images), np.array(labels)


def measure(warm: Warm, root: Path, limit: float, repeats: int, *made) -> tuple[str, float | None, float]:
    """Outcome, quality and processor seconds of a trial. One that takes longer than the limit is ``late``."""
    seconds = math.inf
    for i in range(repeats):
        # The trainer's own limit is by the clock, which a busy machine makes late.
        folder = trial(root / str(i), *made, limits={"seconds": 40 * limit})
        if warm.run(folder)["code"] != 0:
            return "failed", None, seconds
        r = result(folder)
        cut = any(e["type"] == "done" and e["reason"] == "out_of_time" for e in events(folder))
        if r["outcome"] != "ok" or cut:
            return "late" if cut else r["outcome"], r.get("quality"), seconds
        # Processor time has the child's first steps in it, the clock has waiting: the truth is below both.
        seconds = min(seconds, r["cpu_seconds"], sum(r["seconds"].values()))
        if seconds > SHORT:
            break
    return "ok" if seconds <= limit else "late", r["quality"], max(seconds, 0.001)


def write(out: Path, measured: dict, rows: list[dict]) -> None:
    """Put the file there by rename: after each data set, so that a run that is cut short can be gone on with (--add)."""
    partial = out.with_suffix(".partial")
    partial.write_text(json.dumps({"format": 1, "measured": measured, "rows": rows}, indent=1) + "\n")
    partial.replace(out)


def provenance(args) -> dict:
    """How the rows were measured, for whoever reads the file."""
    model = platform.processor()
    if Path("/proc/cpuinfo").exists():
        named = [line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
        model = named[0] if named else model
    return {"seconds": f"of the processor, one thread; the least of {args.repeats} where they are below {SHORT:g}",
            "limit": args.seconds, "processor": model, "versions": versions(), "date": time.strftime("%Y-%m-%d"), "seed": 0}


def compare(before: list[dict], after: list[dict]) -> None:
    """Print how far two measurements of the same trials differ, by their seconds and qualities."""
    old = {(r["name"], c): cell for r in before for c, cell in r["candidates"].items()}
    ratios, other, apart = [], [], []
    for r in after:
        for c, cell in r["candidates"].items():
            was = old.pop((r["name"], c), None)
            if was is None:
                apart.append(f"{r['name']}, {c}: only in the second")
                continue
            ratios.append((math.log(cell["seconds"] / was["seconds"]), r["name"], c, was["seconds"], cell["seconds"]))
            if cell["quality"] != was["quality"]:
                other.append(f"{r['name']}, {c}: quality {was['quality']}, then {cell['quality']}")
    names = {r["name"] for r in after}
    apart += [f"{name}, {c}: only in the first" for name, c in old if name in names]
    if not ratios:
        print("no trial is in both")
        return
    off = sorted(abs(x) for x, *_ in ratios)
    at = lambda q: math.exp(off[min(len(off) - 1, int(q * len(off)))])  # noqa: E731
    print(f"{len(ratios)} trials twice: the second took {math.exp(statistics.median(x for x, *_ in ratios)):.2f} times the first in the middle; "
          f"half differ by less than {at(0.5):.2f} times, 9 of 10 by less than {at(0.9):.2f}, all by at most {at(1):.2f}")
    for x, name, c, was, now in sorted(ratios, key=lambda r: -abs(r[0]))[:5]:
        print(f"  {name}, {c}: {was:.2f} s, then {now:.2f} s")
    print(f"{len(other)} qualities differ" + "".join(f"\n  {line}" for line in other[:10]))
    print(f"{len(apart)} trials ended in one of the two only" + "".join(f"\n  {line}" for line in apart[:10]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="a trial's limit, in processor seconds")
    parser.add_argument("--repeats", type=int, default=2, help="how often a short trial is run; the least of its seconds counts")
    parser.add_argument("--budget", type=float, default=1e9, help="seconds for everything; data sets not reached are left out")
    parser.add_argument("--only", nargs="*", metavar="NAME", help="these data sets; what the file says of others stays")
    parser.add_argument("--add", action="store_true", help="what the file says stays; only data sets and candidates that it lacks are tried, and the trainer's estimates taken anew")
    parser.add_argument("--check", action="store_true", help="write nothing: print how far the file differs from what is measured now")
    parser.add_argument("--out", type=Path, default=HERE / "shipped.json")
    args = parser.parse_args()
    end = time.monotonic() + args.budget
    before = json.loads(args.out.read_text())["rows"] if args.add or args.only or args.check else []
    rows, known = [], {}
    if not args.check:
        rows = [r for r in before if args.only and r["name"] not in args.only]
    if args.add:
        known = {r["name"]: r["candidates"] for r in before}
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        sets = list(pictures(root))
        for name, prog, frame in tables():
            path = root / f"{len(sets)}.csv"
            frame.to_csv(path, index=False)
            sets.append((name, prog, path))
        warm = Warm(wait_for_deep=False)
        for i, (name, prog, path) in enumerate(sets):
            if args.only and name not in args.only:
                continue
            fed = feed(root / f"ingest{i}", prog, path)
            if not fed.ok:
                raise SystemExit(f"{name}: {fed.last}")
            data = version(root / f"data{i}", fed)
            cells = dict(known.get(name, {}))
            for id, candidate in choose(fed, prog).items():
                if time.monotonic() > end:
                    break
                estimate = candidate["estimate"]["seconds"]["cpu1"]
                if id in cells:
                    cells[id]["estimate"] = estimate
                    continue
                if "torch" in candidate["requires"]:
                    continue
                outcome, quality, seconds = measure(
                    warm, root / f"trial{i}" / id, args.seconds, args.repeats, fed, data, prog, candidate)
                print(name, id, outcome, quality, f"{seconds:.2f} s, load {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
                if outcome == "ok":
                    cells[id] = {"family": candidate["family"], "quality": round(quality, 5), "seconds": round(seconds, 3), "estimate": estimate}
            if time.monotonic() > end:
                break
            rows.append({"name": name, "template": template_of(parse_program(prog)), "target": fed.profile["target"]["kind"],
                         "examples": fed.profile["rows"], "features": fed.profile.get("features", 0), "candidates": cells})
            if not args.check:
                done = {r["name"] for r in rows}
                write(args.out, provenance(args), rows + [r for r in before if r["name"] not in done])
        warm.close()
    if args.check:
        compare(before, rows)


if __name__ == "__main__":
    main()
