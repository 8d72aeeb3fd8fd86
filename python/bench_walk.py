"""`make bench-walk`: how long from `feed` to the first real model that a chart shows, beside a plain scikit-learn script in the same run.

warm: a server that has been up for a while. cold: the server is started with the statement, as the first cell of the day does.
peer: a Python script that reads the same file, holds out a part, fits kNN, and prints its score. Pairs are made one after the
other, so that a busy machine is busy for all three; what counts is the ratio, with its spread. Each round is told as it ends;
no round is begun that would not end within the time, and what there is is summed up also when it is interrupted.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
BINARY = ROOT / "bin" / "easeml"
DATA = ROOT / "notebooks" / "digits.npz"
PROGRAM = "{input: {[image :: Tensor[8, 8, 1]], []}, output: {[digit :: Class[10]], []}}"
PEER = """
import sys, numpy as np
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
data = np.load(sys.argv[1])
a, b, y, z = train_test_split(data["image"].reshape(len(data["digit"]), -1), data["digit"], test_size=0.15, stratify=data["digit"], random_state=0)
print(KNeighborsClassifier(5).fit(a, y).score(b, z))
"""


class Server:
    """A server of its own in a folder of its own."""

    def __init__(self, folder: str) -> None:
        self.state = pathlib.Path(folder)
        self.log = (self.state / "bench.log").open("w")
        self.process = subprocess.Popen([BINARY, "server", "--state", folder, "--listen", "127.0.0.1:0", "--devices", "cpu:2", "--python", sys.executable],
                                        stdout=subprocess.PIPE, stderr=self.log, text=True)
        self.url = next(found[0] for line in self.process.stdout if (found := re.search(r"http://\S+", line)))

    def __enter__(self):
        return self

    def __exit__(self, *_) -> None:
        self.process.terminate()
        self.process.wait(60)
        self.process.stdout.close()
        self.log.close()

    def call(self, token: str, method: str, path: str, body=None, headers=None):
        raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + "/api/v1" + path, raw, method=method, headers={
            "Authorization": "Bearer " + token, "Content-Type": "application/json"} | (headers or {}))
        with urllib.request.urlopen(request, timeout=60) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def walk(self, user: str) -> float:
        """Seconds from the feed to the first real model. Each user is new, so that nothing has been searched for them."""
        token = subprocess.run([BINARY, "token", user, "--state", self.state], check=True, capture_output=True, text=True).stdout.strip()
        self.call(token, "PUT", f"/tasks/{user}/digits", {"program": PROGRAM})
        begun = time.perf_counter()
        content = DATA.read_bytes()
        upload = self.call(token, "POST", "/uploads", {"name": DATA.name, "size": len(content)})["id"]
        self.call(token, "PATCH", f"/uploads/{upload}", content, {"Upload-Offset": "0", "Content-Type": "application/offset+octet-stream"})
        self.call(token, "POST", f"/tasks/{user}/digits/feeds", {"uploads": [upload]})
        while True:
            best = self.call(token, "GET", f"/tasks/{user}/digits")["best"]
            if best and not best["baseline"]:
                took = time.perf_counter() - begun
                self.call(token, "DELETE", f"/tasks/{user}/digits")
                return took
            time.sleep(0.01)  # a look, as a reader's eye; the stream would say it sooner


def peer() -> float:
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-c", PEER, DATA], check=True, stdout=subprocess.DEVNULL, env=os.environ | {"OMP_NUM_THREADS": "1"})
    return time.perf_counter() - begun


def rounds(rows: dict[str, list[float]], repeats: int, end: float) -> None:
    """Fill the rows, one of each a round, until there are enough or the next would end too late."""
    with tempfile.TemporaryDirectory() as folder, Server(folder) as server:
        took = server.walk("warmup")  # waits until the trainer has imported what it needs
        print(f"a first walk, while the trainer imports: {took:.1f} s", flush=True)
        for i in range(repeats):
            begun = time.monotonic()
            row = {"warm": server.walk(f"user{i}")}
            with tempfile.TemporaryDirectory() as fresh, Server(fresh) as other:
                row["cold"] = other.walk("ada")
            row["peer"] = peer()
            for name, seconds in row.items():
                rows[name].append(seconds)
            print(f"round {i + 1} of {repeats}: " + ", ".join(f"{name} {seconds:.2f} s" for name, seconds in row.items()), flush=True)
            if time.monotonic() + 1.2 * (time.monotonic() - begun) > end and i + 1 < repeats:
                print("the time is over: no further round", flush=True)
                break


def interrupt(*_) -> None:
    """End as Ctrl-C does: servers are stopped, folders removed."""
    raise KeyboardInterrupt


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=200, help="for everything; a round that would end later is not begun")
    args = parser.parse_args()
    rows: dict[str, list[float]] = {"warm": [], "cold": [], "peer": []}
    signal.signal(signal.SIGTERM, interrupt)
    try:
        rounds(rows, args.rounds, time.monotonic() + args.seconds)
    except KeyboardInterrupt:
        print("interrupted; so far:", flush=True)
    n = len(rows["peer"])
    if n == 0:
        raise SystemExit("no round has ended: nothing can be said")
    for name, seconds in rows.items():
        print(f"{name}  {statistics.median(seconds):6.2f} s  ({min(seconds):.2f}–{max(seconds):.2f}, {n} runs)")
    for name in ("warm", "cold"):
        ratios = sorted(a / b for a, b in zip(rows[name], rows["peer"]))
        print(f"{name} / peer  {statistics.median(ratios):.2f}  ({ratios[0]:.2f}–{ratios[-1]:.2f}), paired")


if __name__ == "__main__":
    main()
