"""Programs that run notebooks of others run ours for real: papermill from the command line, and nbgrader's whole way from a
course's source to the points of three students. The kernel and the private server behind it are the real ones."""

import os
import pathlib
import subprocess
import sys

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

import private
from private import BINARY

PROGRAM = "schema boxes {input: {[width :: Tensor[1], height :: Tensor[1]], []}, output: {[kind :: Class[2]], []}}"
SPEC = {"kernelspec": {"name": "easeml", "display_name": "easeml", "language": "easeml"}}

pytestmark = pytest.mark.models

# What docs/frontends.md gives to a course.
COURSE = """
c = get_config()
c.CourseDirectory.course_id = "ml101"
c.ClearSolutions.code_stub = {"easeml": "# YOUR STATEMENTS HERE"}
c.ExecutePreprocessor.timeout = 600
"""

@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A Jupyter and an easeml of their own, with a table to learn from; the private server is stopped and audited at the end."""
    home = tmp_path_factory.mktemp("graders")
    # nbgrader calls its database's tool by name.
    base = os.environ | {"HOME": str(home), "PATH": str(pathlib.Path(sys.executable).parent) + os.pathsep + os.environ["PATH"]}

    def run(*command, folder=home, status=0):
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr

    rows = [f"{(i % 2) * 4 + (i * 7 % 5) / 4},{(i * 3 % 7) / 7},{('short', 'long')[i % 2]}" for i in range(160)]
    (home / "boxes.csv").write_text("width,height,kind\n" + "\n".join(rows) + "\n")
    (home / "new.csv").write_text("width,height\n0.2,0.5\n4.4,0.1\n")
    with private.served(private.jupyter(home, base)) as environment:
        yield home, run


def code(*cells):
    return new_notebook(cells=[new_code_cell(c) for c in cells], metadata=SPEC)


def test_papermill(home):
    folder, run = home
    data = folder / "boxes.csv"
    good = code("# a table of boxes", PROGRAM, f'feed boxes "{data}"', "watch boxes", "wait boxes until test >= 0.9 or final or 5m", "best boxes",
                f'infer boxes "{folder / "new.csv"}" into "answers.csv"', "assert boxes.test >= 0.9", "boxes.examples")
    nbformat.write(good, folder / "good.ipynb")
    run(sys.executable, "-m", "papermill", "good.ipynb", "out.ipynb", "--no-progress-bar")
    out = nbformat.read(folder / "out.ipynb", as_version=4)
    nbformat.validate(out)
    assert [c.execution_count for c in out.cells] == list(range(1, 10))
    assert out.cells[-1].outputs[0].data["text/plain"] == "160"
    chart, table = out.cells[3].outputs  # live ones: what was drawn last is what is saved
    assert "best so far" in chart.data["text/plain"] and "best so far" in table.data["text/plain"], table.data["text/plain"]
    assert (folder / "answers.csv").read_text().splitlines()[0] == "width,height,kind,sure,check"

    # A cell that fails ends the run with a status that is not zero; the cell is in the file with its error, those behind it did not run.
    nbformat.write(code("print boxes.examples", "assert boxes.test >= 1.1", 'print "never"'), folder / "bad.ipynb")
    told = run(sys.executable, "-m", "papermill", "bad.ipynb", "out.ipynb", "--no-progress-bar", status=1)
    assert "boxes.test is" in told and "so it is not >= 1.1." in told
    out = nbformat.read(folder / "out.ipynb", as_version=4)
    failed = next(c for c in out.cells if c.source.startswith("assert"))
    assert [o.output_type for o in failed.outputs] == ["error"]
    assert not out.cells[-1].outputs


def graded(source, name, points):
    """A cell with points that students can't change."""
    return new_code_cell(source, metadata={"nbgrader": {
        "schema_version": 3, "grade": True, "grade_id": name, "locked": True, "points": points, "solution": False, "task": False}})


def test_nbgrader(home):
    folder, run = home
    course = folder / "course"
    source = course / "source" / "ps1" / "boxes.ipynb"
    source.parent.mkdir(parents=True)
    (course / "nbgrader_config.py").write_text(COURSE)
    data = folder / "boxes.csv"
    answer = f'{PROGRAM}\nfeed boxes "{data}"\nwait boxes until test >= 0.9 or final or 5m'
    task = {"nbgrader": {"schema_version": 3, "grade": False, "grade_id": "task", "locked": False, "solution": True, "task": False}}
    nbformat.write(new_notebook(metadata=SPEC, cells=[
        new_markdown_cell("Find a model that tells short boxes from long ones."),
        new_code_cell(f"### BEGIN SOLUTION\n{answer}\n### END SOLUTION", metadata=task),
        graded("assert boxes.examples == 160\n### BEGIN HIDDEN TESTS\nassert boxes.test >= 0.5\n### END HIDDEN TESTS", "right", 2),
        graded("boxes.test", "quality", 1),
        graded('warn "a look at stderr"', "warned", 1),
        graded("best boxes", "shown", 1),
        graded("drop boxes yes", "dropped", 1),
    ]), source)
    nbgrader = (sys.executable, "-m", "nbgrader")
    run(*nbgrader, "generate_assignment", "ps1", "--create", folder=course)
    released = nbformat.read(course / "release" / "ps1" / "boxes.ipynb", as_version=4)
    assert released.cells[1].source == "# YOUR STATEMENTS HERE"
    assert "HIDDEN" not in str(released) and "boxes.test >= 0.5" not in str(released)

    few = answer.replace(f'"{data}"', '[{"width": 1, "height": 1, "kind": "a"}]')
    for student, cell in {"ann": answer, "ben": few, "cleo": None}.items():
        handed_in = nbformat.from_dict(released)
        if cell:
            handed_in.cells[1].source = cell
        path = course / "submitted" / student / "ps1" / "boxes.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(handed_in, path)
        run(*nbgrader, "autograde", "ps1", "--create", "--student", student, folder=course)

    points = {}
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        for student in ("ann", "ben", "cleo"):
            notebook = book.find_submission_notebook("boxes", "ps1", student)
            points[student] = {g.name: g.auto_score for g in notebook.grades}
    # All of it for a notebook that works, a number as its part of the points, none for what writes to stderr.
    ann = nbformat.read(course / "autograded" / "ann" / "ps1" / "boxes.ipynb", as_version=4)
    shown = next(o for c in ann.cells if c.source == "boxes.test" for o in c.outputs)
    assert shown.output_type == "execute_result"
    assert points["ann"] == {"right": 2, "quality": float(shown.data["text/plain"]), "warned": 0, "shown": 1, "dropped": 1}
    assert 0.5 < points["ann"]["quality"] <= 1
    # One that has fed too little fails the assertion, and has no figure; one that did nothing has nothing.
    assert points["ben"]["right"] == points["ben"]["quality"] == 0
    assert points["cleo"] == {"right": 0, "quality": 0, "warned": 0, "shown": 0, "dropped": 0}
