"""`make demo`: runs a notebook on the Go kernel with a server of its own and real trainings, and says what came of it.

Everything it makes lies under build/demo. It ends by itself and leaves no process.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import time

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbconvert import HTMLExporter

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
OUT = ROOT / "build" / "demo"
BINARY = ROOT / "bin" / "easeml"


def text_of(cell) -> str:
    parts = []
    for output in cell.outputs:
        if output.output_type == "stream":
            parts.append(output.text)
        elif output.output_type == "error":
            parts.append("\n".join(output.traceback))
        else:
            parts.append(output.data.get("text/plain", ""))
    return "\n".join(p.rstrip() for p in parts if p.strip())


def first_line(cell) -> str:
    return next((line.strip() for line in cell.source.splitlines() if line.strip()), "")


def main(name: str = "digits") -> int:
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    for path in HERE.iterdir():
        if path.suffix in (".npz", ".csv", ".ipynb"):
            shutil.copy(path, OUT)
    os.environ["EASEML_STATE"] = str(OUT / "state")
    os.environ["EASEML_PYTHON"] = sys.executable
    for variable in ("EASEML_SERVER", "EASEML_TOKEN"):
        os.environ.pop(variable, None)

    notebook = nbformat.read(OUT / f"{name}.ipynb", as_version=4)
    begun = time.monotonic()

    def say(line: str) -> None:
        print(f"{time.monotonic() - begun:5.0f} s  {line}", flush=True)

    def before(cell, cell_index) -> None:
        if cell.cell_type == "code":
            say(first_line(cell))

    client = NotebookClient(notebook, timeout=900, kernel_name="easeml", resources={"metadata": {"path": str(OUT)}}, on_cell_start=before)
    status = 0
    try:
        say(f"the notebook {name}.ipynb starts on the easeml kernel; a private server starts with it")
        client.execute()
    except CellExecutionError as failed:
        print(failed)
        status = 1
    finally:
        stopped = subprocess.run([BINARY, "server", "stop"], check=False)
        status = status or stopped.returncode
    say("done")

    executed = OUT / f"{name}-executed.ipynb"
    nbformat.write(notebook, executed)
    page = OUT / f"{name}.html"
    page.write_text(HTMLExporter().from_notebook_node(notebook)[0], encoding="utf-8")

    for cell in notebook.cells:
        if cell.cell_type == "code" and first_line(cell).split(" ")[0] in ("best", "models"):
            print("\n" + text_of(cell))
    print(f"\nThe executed notebook  {executed.relative_to(ROOT)}\nThe same as a page     {page.relative_to(ROOT)}")
    return status


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
