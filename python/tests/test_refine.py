"""Correcting labels, from the cell to the trainer: what it brings on digits of which a quarter bears a wrong label."""

from __future__ import annotations

import csv
import json
import pathlib
import subprocess
import urllib.request
from collections.abc import Mapping

import numpy as np
import pytest

import private
from audit import audit
from private import BINARY

PROGRAM = "{ input: {[image :: Tensor[8, 8, 1]], []}, output: {[digit :: Class[10]], []} }"


class Lab:
    """A folder with files, a private server, and statements that are run there."""

    def __init__(self, folder: pathlib.Path, environment: Mapping[str, str]):
        self.folder, self.state = folder / "work", folder / "state"
        self.folder.mkdir()
        self.environment = environment

    def run(self, statements: str, status: int = 0) -> str:
        """What the statements print; with another status than 0, what they say is wrong."""
        (self.folder / "cell.easeml").write_text(statements)
        done = subprocess.run([BINARY, "run", "cell.easeml"], cwd=self.folder, env=self.environment, capture_output=True, encoding="utf-8", timeout=300)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout if status == 0 else done.stderr

    def ask(self, path: str, body: dict | None = None) -> list:
        """What the server answers: the values of all lines."""
        record = json.loads(next(self.state.rglob("server.json")).read_text())
        me = self._send(record, "/me", None)[0]["user"]
        return self._send(record, path.replace("ME", me), body)

    @staticmethod
    def _send(record: dict, path: str, body: dict | None) -> list:
        request = urllib.request.Request(record["url"] + "/api/v1" + path, headers={"Authorization": "Bearer " + record["token"], "Content-Type": "application/json"},
                                         data=None if body is None else json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=300) as answer:
            return [json.loads(line) for line in answer.read().splitlines() if line.strip()]


@pytest.fixture
def lab(tmp_path):
    with private.served(private.environment(tmp_path)) as environment:
        yield Lab(tmp_path, environment)


@pytest.mark.models
def test_correcting_suspects_pays(lab):
    from sklearn.datasets import load_digits
    data, rng = load_digits(), np.random.default_rng(0)
    rows = rng.permutation(len(data.target))
    fed, new = rows[:300], rows[300:]
    said = data.target[fed].copy()
    wrong = rng.choice(300, 75, replace=False)
    said[wrong] = (said[wrong] + rng.integers(1, 10, 75)) % 10
    np.savez(lab.folder / "noisy.npz", image=data.images[fed].astype(np.uint8), digit=said)
    np.savez(lab.folder / "new.npz", image=data.images[new].astype(np.uint8))

    def right() -> float:
        lab.run('wait d until final or 3m; infer d "new.npz" into "answers.csv"')
        with open(lab.folder / "answers.csv") as f:
            answers = [int(r["digit"]) for r in csv.DictReader(f)]
        return float(np.mean(np.array(answers) == data.target[new]))

    lab.run(f'schema d {PROGRAM}\nfeed d "noisy.npz"')
    before = right()

    out = lab.run("refine d suspects")
    assert "of 300 labels look wrong" in out and "refine d off" in out
    done = lab.ask("/tasks/ME/d/studies", {"kind": "suspects"})[-1]["done"]
    suspects = [s["number"] for s in done["suspects"]]
    assert sum(n - 1 in wrong for n in suspects[:10]) >= 9

    # The person looks at the suspects, and corrects those that are wrong.
    statements = "\n".join(f"refine d {','.join(map(str, numbers))} as {label}" for label in range(10)
                           if (numbers := [n for n in suspects if n - 1 in wrong and data.target[fed[n - 1]] == label]))
    out = lab.run("stop d\n" + statements + "\nresume d")
    assert "corrected" in out and "the model of before is scored again" in out
    after = right()
    print(f"\nright of {len(new)} new digits: {before:.3f} with the wrong labels, {after:.3f} after correcting the suspects")
    # Which model is served is chosen anew, robust ones before as after; in three draws 0.916, 0.925, 0.935 became 0.963,
    # 0.939, 0.954, of 0.97 with all labels right. How much better the same model gets is asserted in test_study.
    assert after > before

    assert audit(lab.state) == len(lab.ask("/tasks/ME/d/versions")[0]) > 3

    # Again is the same; who did what is kept; a class that isn't there is refused by the names of those that are.
    n = next(n for n in suspects if n - 1 in wrong)
    label = data.target[fed[n - 1]]
    assert "Nothing changed" in lab.run(f"refine d {n} as {label}")
    shown = lab.run(f"refine d {n}")
    assert f"was {said[n - 1]}" in shown
    versions = lab.ask("/tasks/ME/d/versions")[0]
    assert versions[-1]["by"] and {"number": n, "from": str(said[n - 1]), "to": str(label)} in [c for v in versions[1:] for c in v["changes"]["labels"]]
    assert "Refined: version" in lab.run("refine d")
    assert '"11" is none of the classes of d' in (told := lab.run("refine d 1 as 11", status=1)) and "0, 1, 2" in told
    # The file as it was is known still, and doesn't bring the wrong labels back.
    assert "here already" in lab.run('feed d "noisy.npz"')
    assert lab.ask("/tasks/ME/d/versions")[0][-1]["number"] == versions[-1]["number"]
