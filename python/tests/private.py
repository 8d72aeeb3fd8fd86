"""A private server for one test: where its binary lies, an environment that nothing outside it reaches, and its end.

Every test that has a server or a notebook of its own goes through `served`, so that each is audited at its end.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator, Mapping

import pytest

from audit import audit

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("EASEML_BINARY", ROOT / "bin" / "easeml")).resolve()


def environment(home: pathlib.Path, base: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment `base`, but with state and site file in `home` and no server named; a test without the program is skipped."""
    if not BINARY.exists():
        pytest.skip(f"there is no {BINARY}: run make build first")
    (home / "site.json").write_text("{}")
    return {k: v for k, v in base.items() if k not in ("EASEML_SERVER", "EASEML_TOKEN")} | {
        "EASEML_STATE": str(home / "state"), "EASEML_PYTHON": sys.executable, "EASEML_SITE": str(home / "site.json")}


def jupyter(home: pathlib.Path, base: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The same, with a Jupyter in `home`, so that nothing of the person's own is read or written, and our kernel in it."""
    inside = environment(home, base) | {
        "JUPYTER_DATA_DIR": str(home / "jupyter"), "JUPYTER_CONFIG_DIR": str(home / "config"), "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        # Else a kernel that is installed into this Python environment comes first.
        "JUPYTER_PREFER_ENV_PATH": "0"}
    subprocess.run([BINARY, "install", "--user"], env=inside, check=True, stdout=subprocess.DEVNULL)
    return inside


@contextlib.contextmanager
def served(own: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
    """The environment of a private server, which is stopped at the end; then what it leaves is audited."""
    try:
        yield own
    finally:
        end(own)


def end(own: Mapping[str, str]) -> int:
    """Stop the private server of an environment and audit its state; how many dataset versions were looked at."""
    subprocess.run([BINARY, "server", "stop"], env=own, check=True, stdout=subprocess.DEVNULL)
    return audit(pathlib.Path(own["EASEML_STATE"]))
