"""A private server for one test: where its binary lies, and an environment that nothing outside it reaches."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from collections.abc import Mapping

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("EASEML_BINARY", ROOT / "bin" / "easeml")).resolve()


def environment(home: pathlib.Path, base: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment `base`, but with state and site file in `home` and no server named."""
    (home / "site.json").write_text("{}")
    return {k: v for k, v in base.items() if k not in ("EASEML_SERVER", "EASEML_TOKEN")} | {
        "EASEML_STATE": str(home / "state"), "EASEML_PYTHON": sys.executable, "EASEML_SITE": str(home / "site.json")}


def jupyter(home: pathlib.Path) -> dict[str, str]:
    """The same, with a Jupyter in `home`, so that nothing of the person's own is read or written, and our kernel in it."""
    inside = environment(home) | {
        "JUPYTER_DATA_DIR": str(home / "jupyter"), "JUPYTER_CONFIG_DIR": str(home / "config"), "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        # Else a kernel that is installed into this Python environment comes first.
        "JUPYTER_PREFER_ENV_PATH": "0"}
    subprocess.run([BINARY, "install", "--user"], env=inside, check=True, stdout=subprocess.DEVNULL)
    return inside
