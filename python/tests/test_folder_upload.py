"""A folder of 10,000 small pictures through a line that is cut: resumed, read whole, in bounded memory, and for nothing the second time.

The real server, the real client; between them a proxy that cuts one connection in the middle of the upload. `make test-models` runs it.
"""

from __future__ import annotations

import os
import pathlib
import re
import socket
import subprocess
import sys
import threading
import urllib.request

import numpy as np
import pytest
from PIL import Image

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("EASEML_BINARY", ROOT / "bin" / "easeml")).resolve()

pytestmark = pytest.mark.models


class Line:
    """A proxy that counts what clients send, and cuts the first connection over which more than `budget` bytes went; budget 0 cuts none."""

    def __init__(self, port: int):
        self.target, self.budget, self.sent, self.cuts = port, 0, 0, 0
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.target))
            threading.Thread(target=self._pass, args=(client, server, True), daemon=True).start()
            threading.Thread(target=self._pass, args=(server, client, False), daemon=True).start()

    def _pass(self, source, sink, up):
        passed = 0
        try:
            while block := source.recv(65536):
                with self.lock:
                    self.sent += len(block) * up
                    passed += len(block) * up
                    cut = up and 0 < self.budget < passed
                    if cut:
                        self.budget, self.cuts = 0, self.cuts + 1
                if cut:
                    break
                sink.sendall(block)
        except OSError:
            pass
        for end in (source, sink):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def close(self):
        self.listener.close()


@pytest.fixture
def line(tmp_path, monkeypatch):
    """A server with one slot, and the line to it."""
    if not BINARY.exists():
        pytest.skip(f"there is no {BINARY}: run make build first")
    with socket.create_server(("127.0.0.1", 0)) as s:
        port = s.getsockname()[1]
    state = tmp_path / "state"
    with open(tmp_path / "server.log", "w") as log:
        server = subprocess.Popen([BINARY, "server", "--listen", f"127.0.0.1:{port}", "--state", state, "--devices", "cpu:1", "--python", sys.executable],
                                  stdout=log, stderr=log)
    proxy = Line(port)
    try:
        for _ in range(600):  # the server says nothing when it is there; its door does
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5).close()
                break
            except OSError:
                assert server.poll() is None, (tmp_path / "server.log").read_text()
                threading.Event().wait(0.1)
        token = subprocess.run([BINARY, "token", "alice", "--state", state], check=True, capture_output=True, text=True).stdout.split()[-1]
        monkeypatch.setenv("EASEML_SERVER", proxy.url)
        monkeypatch.setenv("EASEML_TOKEN", token)
        yield proxy
    finally:
        proxy.close()
        server.terminate()
        server.wait(60)


def pictures(folder: pathlib.Path, n: int) -> int:
    """n different pictures of two kinds; how many bytes their tar has, to within its end."""
    rng = np.random.default_rng(n)
    size = 0
    for i in range(n):
        kind = folder / ("bright", "dark")[i % 2]
        kind.mkdir(parents=True, exist_ok=True)
        values = rng.integers(0, 128, (16, 16), dtype=np.uint8) + np.uint8(127 * (i % 2 == 0))
        path = kind / f"{i:05d}.png"
        Image.fromarray(values).save(path)
        size += 512 + (path.stat().st_size + 511) // 512 * 512
    return size


def say(tmp_path, statements: str) -> tuple[str, int]:
    """What statements answer, and the client's peak of private bytes, watched from outside."""
    (tmp_path / "cell.easeml").write_text(statements)
    process = subprocess.Popen([BINARY, "run", "cell.easeml"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    heard: list[str] = []
    listener = threading.Thread(target=lambda: heard.append(process.stdout.read()))
    listener.start()
    peak = 0
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/smaps_rollup", encoding="ascii") as f:
                peak = max(peak, sum(int(x.split()[1]) for x in f if x.startswith("Private_")) * 1024)
            process.wait(0.01)
        except (OSError, subprocess.TimeoutExpired):
            continue
    listener.join()
    process.stdout.close()
    assert process.returncode == 0, heard[0]
    return heard[0], peak


def test_ten_thousand_pictures_through_a_line_that_is_cut(tmp_path, line):
    program = "{input: {[image :: Tensor[16, 16, 1]], []}, output: {[light :: Class[2]], []}}"
    pictures(tmp_path / "few", 1000)
    size = pictures(tmp_path / "many", 10_000)
    said, few = say(tmp_path, f'schema few {program}\nfeed few "few/"')
    assert "1,000 examples taken, 0 rejected" in said, said

    line.budget, line.sent = size // 3, 0
    said, many = say(tmp_path, f'schema many {program}\nfeed many "many/"')
    assert "10,000 examples taken, 0 rejected" in said and re.search("5,000 of each class", said), said
    assert line.cuts == 1
    assert size <= line.sent < 1.2 * size  # it went on where the line broke
    print(f"\n10,000 pictures, {size / 1e6:.1f} MB as a tar; {line.sent / 1e6:.1f} MB sent with one cut. "
          f"Client's peak private bytes: {few / 1e6:.0f} MB with 1,000, {many / 1e6:.0f} MB with 10,000")
    assert many < 3 * few

    line.sent = 0
    said, _ = say(tmp_path, 'feed many "many"\nstop many')
    assert "here already" in said and line.sent < size / 20, (line.sent, said)
