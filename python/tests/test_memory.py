"""Memory doesn't grow with the file: of files four times as large an ingest's own bytes grow by a fraction of what the files do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from easeml.trainer.examples import read_examples
from folders import choose, feed, program, result, settled, trial, version

sys.path.insert(0, str(Path(__file__).parents[1]))
import bench_data  # noqa: E402


# The smaller file already fills what is held at a time, so that growth is the file's.
@pytest.mark.models
@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="private bytes are read from /proc")
@pytest.mark.parametrize("kind,rows", [("wide", 12_000), ("arrow", 300_000), ("npz", 300_000), ("png", 1_000)])
def test_memory_does_not_grow_with_the_file(tmp_path, kind, rows):
    sizes, peaks = bench_data.slope(tmp_path, kind, rows)
    grown = (peaks[1] - peaks[0]) / (sizes[1] - sizes[0])
    print(f"{kind}: {sizes[0]:.0f} MB and {sizes[1]:.0f} MB take {peaks[0]:.0f} MB and {peaks[1]:.0f} MB: {grown:.2f} bytes a byte")
    assert grown < 0.6  # a file that is held whole, or its numbers, would make it 1 and more


ROWS = program([{"name": "x", "tensor": [50]}], [{"name": "y", "classes": ["no", "yes"]}])


def test_examples_that_do_not_fit_are_thinned(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 50))
    np.savez(tmp_path / "t.npz", x=x, y=np.array(["no", "yes"])[(x[:, 0] > 0).astype(int)])
    fed = feed(tmp_path / "fed", ROWS, tmp_path / "t.npz")
    data = version(tmp_path / "data", fed)
    prog, _ = settled(fed, ROWS)
    whole = read_examples(data, prog)
    some = read_examples(data, prog, memory=60_000_000 * 4 // 3 + 4 * 8 * 52 * 2000)
    assert whole.on == some.on == len(whole) == 4000 and 1000 < len(some) < 2000
    rows = np.searchsorted(whole.numbers, some.numbers)
    assert (whole.columns["x"][rows] == some.columns["x"]).all() and (whole.columns["y"][rows] == some.columns["y"]).all()
    for part in range(3):  # each part keeps its share
        share = np.mean(some.parts == part) / np.mean(whole.parts == part)
        assert 0.97 < share < 1.03
    path = trial(tmp_path / "trial", fed, data, ROWS, choose(fed, ROWS)["logistic.c1"], limits={"memory_bytes": 400_000_000})
    # In a process of its own, as an attempt is: the limit is on its bytes alone. Each example counts as if it were much larger.
    code = "import sys; from pathlib import Path; from easeml.trainer import examples, runner; examples.COPIES = 1000; runner.run(Path(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    found = result(path)
    assert found["outcome"] == "ok" and found["sample"]["of"] == 4000 and found["sample"]["rows"] < 1000
    assert found["sample"]["memory_bytes"] == 400_000_000
