"""notebooks/digits.easeml, three tasks at once as a file of statements, is run by the binary as a person and as a program would."""

import csv
import json
import re
import shutil
import subprocess
import sys

import pytest

import private
from private import BINARY, ROOT


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Runs the file with a private server of its own, which is stopped and audited at the end."""
    home = tmp_path_factory.mktemp("statements")
    subprocess.run([sys.executable, ROOT / "notebooks" / "make_data.py"], check=True, stdout=subprocess.DEVNULL)
    work = home / "work"
    work.mkdir()
    for name in ("digits.easeml", "digits.npz", "digits-new.npz", "penguins-fed.csv", "diabetes.csv"):
        shutil.copy(ROOT / "notebooks" / name, work)

    def run(*arguments):
        done = subprocess.run([BINARY, "run", "digits.easeml", *arguments], cwd=work, env=environment, capture_output=True, encoding="utf-8", timeout=600)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return done.stdout, work

    with private.served(private.environment(home)) as environment:
        yield run


def test_as_a_person_reads_it(run):
    out, work = run()
    lines = out.splitlines()
    assert max(map(len, lines)) <= 110
    assert "\x1b" not in out  # no moving about in what goes to a file
    order = ["› schema digits {", "pictures of 8×8", "› feed digits", "1,437 examples taken", "› feed penguins", "276 examples taken", "› feed diabetes",
             "quality >= 0.97 holds", "› tasks", "3 tasks, ", "› why digits", "went to", "Your turn, because",
             "› wait penguins", "final holds", "› watch digits", "in the order of their end", "› best digits", "examples that the search never saw",
             "› best diabetes", "A weak model: it explains", "› infer digits", "360 answers", "3 tasks"]
    place = 0
    for words in order:
        place = out.find(words, place)
        assert place >= 0, f"{words} is not where it should be in\n{out}"
    # Several tasks took turns: each had device time before the first was through.
    board = out[out.index("› tasks"):out.index("› why")]
    used = {task: re.search(rf"^ {task} .* ([\d.]+) s$", board, re.M) for task in ("digits", "penguins", "diabetes")}
    assert sum(m is not None and float(m[1]) > 0 for m in used.values()) >= 2, board
    assert float(lines[lines.index("› digits.test") + 1]) >= 0.9
    with (work / "answers-digits.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 360


def test_as_a_program_reads_it(run):
    out, _ = run("--json")  # all of it again: nothing is searched anew
    outputs = [json.loads(line) for line in out.splitlines()]
    assert {o["type"] for o in outputs} <= {"display", "update", "result"}
    assert all("text/plain" in o["data"] for o in outputs)
    charts = [o for o in outputs if "application/vnd.vegalite.v5+json" in o["data"]]
    assert charts and charts[0]["id"]
    texts = [o["data"]["text/plain"] for o in outputs]
    assert all("as before" in t for t in texts[:3]) and all("Nothing changed" in t for t in texts[3:6])
    assert outputs[-1]["type"] == "result" and float(texts[-1]) >= 0.9
