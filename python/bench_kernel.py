"""`make bench-kernel`: our kernel beside ipykernel, in the same run: start, echo, many messages, large ones, memory.

Each figure is taken from both kernels one after the other, several times, so that a busy machine is busy for both; what counts
is the ratio of each pair, with its spread. Both are met as Jupyter meets them, over ZeroMQ on TCP; the client tries to connect
every millisecond, as libzmq's own tenth of a second would hide a quick start.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import psutil
import zmq
from jupyter_client.connect import write_connection_file
from jupyter_client.session import Session

ROOT = pathlib.Path(__file__).resolve().parents[1]
BINARY = pathlib.Path(os.environ.get("EASEML_BINARY", ROOT / "bin" / "easeml")).resolve()
SMALL, LARGE, IN_FLIGHT = 10_000, 100, 100
MEGABYTE = "x" * (1 << 20)

OURS = {"name": "easeml", "argv": [str(BINARY), "kernel", "--connection-file"], "value": "1", "print": 'print "%s"'}
PEER = {"name": "ipykernel", "argv": [sys.executable, "-m", "ipykernel_launcher", "-f"], "value": "1", "print": "print('%s')"}


class Kernel:
    """A running kernel and a client of it."""

    def __init__(self, what: dict, folder: str) -> None:
        self.what = what
        path, info = write_connection_file(os.path.join(folder, f"{what['name']}-{time.monotonic_ns()}.json"))
        self.session = Session(key=info["key"].encode() if isinstance(info["key"], str) else info["key"], signature_scheme="hmac-sha256")
        self.context = zmq.Context()
        self.sockets = {}
        environment = os.environ | {"EASEML_STATE": os.path.join(folder, "state"), "IPYTHONDIR": os.path.join(folder, "ipython")}
        begun = time.perf_counter()
        self.process = subprocess.Popen([*what["argv"], path], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder)
        for name, kind in (("iopub", zmq.SUB), ("shell", zmq.DEALER), ("control", zmq.DEALER)):
            socket = self.sockets[name] = self.context.socket(kind)
            socket.linger, socket.reconnect_ivl, socket.identity = 0, 1, self.session.bsession
            socket.rcvhwm = socket.sndhwm = 0
            if kind == zmq.SUB:
                socket.subscribe(b"")
            socket.connect(f"tcp://{info['ip']}:{info[name + '_port']}")
        self.session.send(self.sockets["shell"], "kernel_info_request", {})
        self.receive("shell")
        self.started = time.perf_counter() - begun
        # A cell's outputs are missed before the subscription has arrived.
        while not self.sockets["iopub"].poll(1000):
            self.session.send(self.sockets["shell"], "kernel_info_request", {})
        self.echo()

    def receive(self, channel: str) -> dict:
        if not self.sockets[channel].poll(60_000):
            raise TimeoutError(f"{self.what['name']}: nothing comes on {channel}")
        _, message = self.session.recv(self.sockets[channel], mode=0)
        return message

    def execute(self, code: str) -> str:
        content = {"code": code, "silent": False, "store_history": False, "user_expressions": {}, "allow_stdin": False, "stop_on_error": True}
        return self.session.send(self.sockets["shell"], "execute_request", content)["header"]["msg_id"]

    def idle(self) -> str:
        """Waits for the next end of a cell and says whose it is."""
        while True:
            message = self.receive("iopub")
            if message["content"].get("execution_state") == "idle":
                return message["parent_header"]["msg_id"]

    def echo(self) -> float:
        """Seconds from sending a cell to its idle and its reply."""
        begun = time.perf_counter()
        sent = self.execute(self.what["value"])
        while self.idle() != sent:
            pass
        while self.receive("shell")["parent_header"]["msg_id"] != sent:
            pass
        return time.perf_counter() - begun

    def complete(self) -> float:
        """Seconds for a completion of what two kernels know alike: a word of the language."""
        begun = time.perf_counter()
        self.session.send(self.sockets["shell"], "complete_request", {"code": "pri", "cursor_pos": 3})
        if "print" not in self.receive("shell")["content"]["matches"]:
            raise RuntimeError(f"{self.what['name']} does not complete print")
        self.idle()
        return time.perf_counter() - begun

    def many(self, code: str, count: int, in_flight: int) -> float:
        """Seconds for as many cells, sent without waiting for each, up to the last idle; what they say is counted."""
        begun = time.perf_counter()
        for i in range(min(in_flight, count)):
            self.execute(code)
        for done in range(count):
            self.idle()
            if self.receive("shell")["content"]["status"] != "ok":
                raise RuntimeError(f"{self.what['name']} failed at {code[:40]}")
            if done + in_flight < count:
                self.execute(code)
        return time.perf_counter() - begun

    def memory(self) -> tuple[float, float]:
        """MB resident, and of these what no other process shares (the file of the program left out)."""
        info = psutil.Process(self.process.pid).memory_info()
        return info.rss / 1e6, (info.rss - info.shared) / 1e6

    def close(self) -> None:
        self.session.send(self.sockets["control"], "shutdown_request", {"restart": False})
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for socket in self.sockets.values():
            socket.close()
        self.context.term()


def pair(folder: str, small: int, large: int) -> dict[str, dict[str, float]]:
    """The figures of both kernels, taken in turns."""
    figures = {}
    kernels = []
    for what in (OURS, PEER):
        kernel = Kernel(what, folder)
        kernels.append(kernel)
        figures[what["name"]] = {"start to kernel_info, ms": kernel.started * 1e3}
    echoes = {what["name"]: [] for what in (OURS, PEER)}
    for _ in range(50):
        for kernel in kernels:
            echoes[kernel.what["name"]].append(kernel.echo())
    for kernel in kernels:
        mine = figures[kernel.what["name"]]
        mine["echo of a cell, ms"] = statistics.median(echoes[kernel.what["name"]]) * 1e3
    time.sleep(2)  # a kernel at rest gives memory back; most kernels are at rest most of the time
    for kernel in kernels:
        mine = figures[kernel.what["name"]]
        mine["memory after 50 cells, MB"], mine["  not of the program's file, MB"] = kernel.memory()
        mine["completion of a word, ms"] = statistics.median(kernel.complete() for _ in range(20)) * 1e3
        mine[f"{small:,} small cells, s"] = kernel.many(kernel.what["value"], small, IN_FLIGHT)
        mine[f"{large} cells that print 1 MB, s"] = kernel.many(kernel.what["print"] % MEGABYTE, large, 4)
    time.sleep(2)
    for kernel in kernels:
        figures[kernel.what["name"]]["memory after all that, MB"], _ = kernel.memory()
    for kernel in kernels:
        kernel.close()
    return figures


WANTED = {"start to kernel_info, ms": 5, "echo of a cell, ms": 3, "memory after 50 cells, MB": 4, "memory after all that, MB": 4}


def main(repeats: int = 5, small: int = SMALL, large: int = LARGE) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Kernel(OURS, folder).close()  # both files are in the page cache from here on
        Kernel(PEER, folder).close()
        pairs = [pair(folder, small, large) for _ in range(repeats)]
    print(f"{repeats} pairs, medians; the ratio is ipykernel's figure over ours, of each pair (least–most)")
    result = {}
    for name in pairs[0]["easeml"]:
        ours, peer = ([p[k][name] for p in pairs] for k in ("easeml", "ipykernel"))
        ratios = [b / a for a, b in zip(ours, peer)]
        result[name] = {"easeml": ours, "ipykernel": peer}
        wanted = f"   wanted {WANTED[name]}" if name in WANTED else ""
        print(f"{name:36} easeml {statistics.median(ours):9.2f}   ipykernel {statistics.median(peer):9.2f}"
              f"   ratio {statistics.median(ratios):6.1f} ({min(ratios):.1f}–{max(ratios):.1f}){wanted}")
    (ROOT / "build").mkdir(exist_ok=True)
    (ROOT / "build" / "bench-kernel.json").write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
