"""Candidates whose model is one scikit-learn estimator, saved with skops and loaded with named types only."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import numpy as np

from .batch import Batch
from .candidate import Candidate
from .report import Report


class _NoTorch:
    """An import finder that knows no PyTorch."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "torch" or name.startswith("torch."):
            raise ModuleNotFoundError(f"{name} is left out here", name=name)
        return None


@contextlib.contextmanager
def _without_torch():
    """Keep skops from importing PyTorch, which it does only to list every estimator there is.

    That costs seconds in a process that needs no network; where torch is loaded already, nothing changes.
    """
    if "torch" in sys.modules:
        yield
        return
    sys.meta_path.insert(0, _NoTorch)
    try:
        yield
    finally:
        sys.meta_path.remove(_NoTorch)


def skops():
    """The skops.io module, imported without dragging PyTorch in."""
    with _without_torch():
        import skops.io
    return skops.io


def dump(value, path: Path) -> None:
    """Save plain values and scikit-learn objects with skops."""
    skops().dump(value, path)


def load(path: Path, trusted: tuple[str, ...]):
    """Load what `dump` wrote; a type that is neither skops' own nor in `trusted` is refused."""
    return skops().load(path, trusted=list(trusted))


def all_labels(classes: np.ndarray, probabilities: np.ndarray, k: int) -> np.ndarray:
    """Probabilities for all k labels from those for the `classes` that training had; the others get 0."""
    if len(classes) == k:
        return probabilities
    out = np.zeros((len(probabilities), k))
    out[:, np.asarray(classes, dtype=int)] = probabilities
    return out


def softmax(scores: np.ndarray) -> np.ndarray:
    """Rows of scores as rows of probabilities."""
    e = np.exp(scores - scores.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


class EstimatorCandidate(Candidate):
    """One estimator on one view of the rows. A subclass gives `make`, and may change `view`.

    `trusted` names the types besides skops' own that loading allows.
    """

    trusted: tuple[str, ...] = ()
    estimator = None

    def make(self, train: Batch):
        """The unfitted estimator for such rows."""
        raise NotImplementedError

    def view(self, batch: Batch) -> np.ndarray:
        """Which numbers the estimator sees, [n, p]."""
        return batch.matrix

    def fit(self, train: Batch, valid: Batch | None, report: Report) -> None:
        self.estimator = self.make(train)
        y = train.y if train.classes or train.outputs > 1 else train.y[:, 0]
        self.estimator.fit(self.view(train), y)

    def predict(self, inputs: Batch) -> np.ndarray:
        x = self.view(inputs)
        if inputs.classes:
            return all_labels(self.estimator.classes_, self.estimator.predict_proba(x), inputs.classes)
        return np.asarray(self.estimator.predict(x)).reshape(inputs.n, inputs.outputs)

    def save(self, folder: Path) -> None:
        dump(self.estimator, folder / "model.skops")

    @classmethod
    def load(cls, folder: Path) -> "EstimatorCandidate":
        loaded = cls.described(folder)
        loaded.estimator = load(folder / "model.skops", cls.trusted)
        return loaded


class StandardizedCandidate(EstimatorCandidate):
    """Its estimator sees numbers brought to mean 0 and deviation 1, as the training rows have them."""

    def make(self, train: Batch):
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler
        return make_pipeline(StandardScaler(), super().make(train))


class DecidingCandidate(EstimatorCandidate):
    """An estimator without probabilities: a softmax of its decision values, which lie about ±1.

    How sure they are is the model's temperature to say (calibration.py).
    """

    def predict(self, inputs: Batch) -> np.ndarray:
        if not inputs.classes:
            return super().predict(inputs)
        d = self.estimator.decision_function(self.view(inputs))
        scores = np.column_stack([-d, d]) if d.ndim == 1 else d
        return all_labels(self.estimator.classes_, softmax(2.0 * scores), inputs.classes)
