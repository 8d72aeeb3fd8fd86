"""What the trainer's tests share: folders like the server's, and one warm parent for the session."""

from __future__ import annotations

import os

# One thread, as a slot has: on a busy machine many waiting threads make small fits many times slower.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import pytest  # noqa: E402

from folders import Warm  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "models: long or large; make test-models runs it")


def pytest_collection_modifyitems(config, items):
    """Leave out what is long or large, unless it is asked for with -m."""
    if config.option.markexpr:
        return
    for item in items:
        if item.get_closest_marker("models"):
            item.add_marker(pytest.mark.skip(reason="make test-models runs it"))


@pytest.fixture(scope="session")
def warm():
    """A warm parent, started once; it is told to leave at the end, and must."""
    parent = Warm()
    yield parent
    assert parent.close() == 0
