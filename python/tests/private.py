"""A private server for one test: where its binary lies, and an environment that nothing outside it reaches."""

from __future__ import annotations

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("EASEML_BINARY", ROOT / "bin" / "easeml")).resolve()


def environment(home: pathlib.Path) -> dict[str, str]:
    """This process's environment, but with state and site file in `home` and no server named."""
    (home / "site.json").write_text("{}")
    return {k: v for k, v in os.environ.items() if k not in ("EASEML_SERVER", "EASEML_TOKEN")} | {
        "EASEML_STATE": str(home / "state"), "EASEML_PYTHON": sys.executable, "EASEML_SITE": str(home / "site.json")}
