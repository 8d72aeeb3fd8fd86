"""`make demo`: one server, two people, three notebooks at once on the Go kernel, with real trainings; in the middle the server is killed.

    python notebooks/demo.py [NOTEBOOK …]

Ada feeds pictures of textures and a table of penguins, Ben a table of diabetes patients. The allocator shares two CPU slots among the
three. The server is killed and comes back, and the charts go on. Everything lies under build/demo; no process is left.
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbconvert import HTMLExporter

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
OUT = ROOT / "build" / "demo"
BINARY = ROOT / "bin" / "easeml"
WHO = {"textures": "ada", "penguins": "ada", "diabetes": "ben", "digits": "ada"}
SCENE = ["textures", "penguins", "diabetes"]

begun = time.monotonic()
lock = threading.Lock()


def say(line: str) -> None:
    with lock:
        print(f"{time.monotonic() - begun:4.0f} s  {line}", flush=True)


class Server:
    """The demo's own server, on a port that stays the same when it comes back."""

    def __init__(self) -> None:
        self.address = "127.0.0.1:0"
        self.start()

    def start(self) -> None:
        self.log = (OUT / "server.log").open("a")
        self.process = subprocess.Popen(
            [BINARY, "server", "--state", OUT / "state", "--listen", self.address, "--devices", "cpu:2", "--python", sys.executable],
            stdout=subprocess.PIPE, stderr=self.log, text=True, start_new_session=True)
        for line in self.process.stdout:
            if found := re.search(r"http://(\S+)", line):
                self.address = found[1]
                return
        raise SystemExit(f"the server did not start; see {OUT / 'server.log'}")

    def token(self, user: str) -> str:
        done = subprocess.run([BINARY, "token", user, "--state", OUT / "state"], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def end(self, how: signal.Signals) -> None:
        self.process.send_signal(how)
        self.process.wait(timeout=60)
        self.process.stdout.close()
        self.log.close()


class Play:
    """One notebook being executed."""

    def __init__(self, name: str, server: Server) -> None:
        self.name, self.who = name, WHO[name]
        self.notebook = nbformat.read(OUT / f"{name}.ipynb", as_version=4)
        self.searching = threading.Event()
        self.env = os.environ | {"EASEML_SERVER": f"http://{server.address}", "EASEML_TOKEN": server.token(self.who)}

    def before(self, cell, cell_index) -> None:
        if cell.cell_type == "code":
            say(f"{self.who:4}{self.name:10}{first_line(cell)}")
            if cell.source.startswith("wait"):
                self.searching.set()

    def run(self) -> str | None:
        client = NotebookClient(self.notebook, timeout=900, kernel_name="easeml", resources={"metadata": {"path": str(OUT)}},
                                on_cell_start=self.before)
        try:
            client.execute(env=self.env)
        except CellExecutionError as failed:
            return f"{self.name}: {failed}"
        finally:
            self.searching.set()
            nbformat.write(self.notebook, OUT / f"{self.name}-executed.ipynb")
            (OUT / f"{self.name}.html").write_text(HTMLExporter().from_notebook_node(self.notebook)[0], encoding="utf-8")
        return None

    def told(self, word: str) -> str:
        return "\n".join(text_of(c) for c in self.notebook.cells if c.cell_type == "code" and c.source.startswith(word))


def text_of(cell) -> str:
    parts = (o.get("text") or o.get("data", {}).get("text/plain", "") for o in cell.outputs)
    return "\n".join(p.rstrip() for p in parts if p.strip())


def first_line(cell) -> str:
    return next((line.strip() for line in cell.source.splitlines() if line.strip()), "")


def main(names: list[str]) -> int:
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    for path in HERE.iterdir():
        if path.suffix in (".npz", ".csv", ".ipynb"):
            shutil.copy(path, OUT)
        elif path.is_dir() and path.name == "textures":
            shutil.copytree(path, OUT / path.name)
    server = Server()
    say(f"a server for everybody at {server.address}, with two CPU slots")
    try:
        plays = [Play(name, server) for name in names]
        with concurrent.futures.ThreadPoolExecutor(len(plays)) as pool:
            running = [pool.submit(play.run) for play in plays]
            for play in plays:
                play.searching.wait()
            if not all(r.done() for r in running):
                server.end(signal.SIGKILL)
                say("the server is killed, in the middle of three searches")
                server.start()
                say("it is back; what was running is queued again, what was learned is there")
            faults = [fault for r in running if (fault := r.result())]
        turns = subprocess.run([sys.executable, HERE / "turns.py", OUT / "state"], capture_output=True, text=True, check=False).stdout
    finally:
        server.end(signal.SIGTERM)
    looked = subprocess.run([sys.executable, ROOT / "python" / "tests" / "audit.py", OUT / "state"], capture_output=True, text=True)
    if looked.returncode:
        faults.append("The audit of the server's state: " + looked.stderr.strip().splitlines()[-1])
    say("done; no process is left")

    if turns:
        print("\n" + turns.rstrip())
    for play in plays:
        print(f"\n── {play.who}: best {play.name} " + "─" * (60 - len(play.name)) + "\n" + play.told("best"))
    print("\n── the leaderboard of " + plays[0].name + "\n" + plays[0].told("models"))
    print("\nExecuted notebooks and pages:")
    for play in plays:
        print(f"  {(OUT / play.name).relative_to(ROOT)}-executed.ipynb   {(OUT / play.name).relative_to(ROOT)}.html")
    for fault in faults:
        print(fault, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or SCENE))
