"""A JupyterLab of its own with our kernel in it, and a Chromium that looks at it."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import private  # noqa: E402
from private import BINARY, ROOT  # noqa: E402

FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]


def chromium() -> str:
    named = os.environ.get("EASEML_CHROMIUM")
    if named:
        return named
    for name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
        if found := shutil.which(name):
            return found
    pytest.skip(
        "the browser tests need Chromium, and there is none here: install the package chromium of your system"
        " (Debian: apt-get install chromium), or name a Chrome's program in EASEML_CHROMIUM"
    )


class Server:
    """An easeml server for several people, which can be killed and comes back at the same address."""

    def __init__(self, home: pathlib.Path):
        self.state, self.log, self.address = home / "state", home / "server.log", "127.0.0.1:0"
        self.process: subprocess.Popen | None = None
        home.mkdir(parents=True, exist_ok=True)
        self.start()

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [BINARY, "server", "--state", self.state, "--listen", self.address, "--devices", "cpu:2", "--python", sys.executable],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True)
        for line in self.process.stdout:
            if found := re.search(r"http://(\S+)", line):
                self.address = found[1]
                return
        raise RuntimeError("the server did not start:\n" + self.log.read_text())

    def token(self, user: str) -> str:
        return subprocess.run([BINARY, "token", user, "--state", self.state], check=True, capture_output=True, text=True).stdout.strip()

    def end(self, how: signal.Signals) -> None:
        self.process.send_signal(how)
        self.process.wait(60)
        self.process.stdout.close()


class Lab:
    """A running JupyterLab. What it and the kernels keep lies under home; work is the folder that it shows.

    Its kernels talk to the given server as user; without one, to a private server of their own.
    """

    def __init__(self, home: pathlib.Path, server: Server | None = None, user: str = ""):
        self.home, self.work, self.server = home, home / "work", server
        self.log = home / "jupyter.log"
        for folder in (self.work, home / "config" / "labconfig", home / "temporary"):
            folder.mkdir(parents=True)
        # The question whether one wants news would lie over the page.
        (home / "config" / "labconfig" / "page_config.json").write_text(
            json.dumps({"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}))
        self.environment = private.jupyter(home)
        if server:
            self.environment |= {"EASEML_SERVER": f"http://{server.address}", "EASEML_TOKEN": server.token(user)}
        subprocess.run([sys.executable, ROOT / "notebooks" / "make_data.py"], check=True, stdout=subprocess.DEVNULL)
        for path in (*(ROOT / "notebooks").glob("digits*.npz"), ROOT / "notebooks" / "penguins.csv"):
            shutil.copy(path, self.work)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", f"--ServerApp.root_dir={self.work}",
             "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}", "--ServerApp.port_retries=0",
             "--IdentityProvider.token=", "--ServerApp.password=", "--ServerApp.disable_check_xsrf=True",
             "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"],
            cwd=self.work, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.begun = threading.Event()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        if not self.begun.wait(120) or self.process.poll() is not None:
            self.close()
            raise RuntimeError("JupyterLab did not start:\n" + self.log.read_text())
        for _ in range(600):  # it says so a moment before it listens
            with socket.socket() as knock:
                if knock.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)

    def _read(self) -> None:
        """Keeps what the server writes, and notes that it listens."""
        with self.log.open("wb") as kept:
            for line in self.process.stderr:
                kept.write(line)
                kept.flush()
                if b"is running at" in line:
                    self.begun.set()
        self.begun.set()

    def easeml(self, *arguments: str) -> None:
        subprocess.run([BINARY, *arguments], check=True, env=self.environment, stdout=subprocess.DEVNULL)

    def say(self, statements: str) -> None:
        """Runs statements elsewhere than in the notebook: with the binary, at the same server."""
        subprocess.run([BINARY, "run", "-"], input=statements.encode(), check=True, env=self.environment, cwd=self.work, stdout=subprocess.DEVNULL)

    def api(self, method: str, path: str, body: dict | None = None):
        """Asks the Jupyter server."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + "/api/" + path, data, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def theme(self, name: str) -> None:
        """Sets the theme of pages that are opened from now on."""
        folder = self.home / "config" / "lab" / "user-settings" / "@jupyterlab" / "apputils-extension"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "themes.jupyterlab-settings").write_text(json.dumps({"theme": name}))

    def close(self) -> None:
        """Ends the server with its kernels, then the private server of easeml, whose state is audited."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.reader.join(30)
        if not self.server:
            private.end(self.environment)


@pytest.fixture(scope="session")
def programs():
    """What the tests drive is there."""
    chromium()
    if not BINARY.exists():
        pytest.skip(f"there is no {BINARY}: run make build first")


@pytest.fixture(scope="module")
def lab(programs, tmp_path_factory):
    lab = Lab(tmp_path_factory.mktemp("lab"))
    yield lab
    lab.close()


@pytest.fixture(scope="session")
def browser(programs, tmp_path_factory):
    """A Chromium with a fresh profile."""
    playwright = pytest.importorskip("playwright.sync_api", reason="the browser tests need Python's playwright: make env")
    with playwright.sync_playwright() as driver:
        context = driver.chromium.launch_persistent_context(
            str(tmp_path_factory.mktemp("profile")), executable_path=chromium(), headless=True, args=FLAGS,
            viewport={"width": 1220, "height": 1500})
        context.set_default_timeout(60_000)
        yield context
        context.close()
