"""Windows: what a step of an output series may depend on, as one row of features, whatever the series' lengths.

Around the place in the input that answers to the step (the same one where both are equally long, else the proportional
one), around the mirrored place, and, where lengths differ, around the same place counted from either end; how far in it is;
what the whole series is like; and the answers at the steps before. Labels stay codes, numbers numbers.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from .batch import Batch
from .outputs import objects

MOST_ENDINGS = 500
"""Endings of words, of two and of three characters, that are told apart: what is left of a word that was never seen."""


def places(n: int, length: int) -> np.ndarray:
    """For each of `length` steps the place among n that answers to it: the same one, or the proportional one."""
    return ((np.arange(length) + 0.5) * n / length).astype(np.int64)


@dataclass
class Windows:
    """``reach``: steps to either side; ``previous``: how many of the answers before are seen; ``endings``: by length, those known."""

    reach: int
    previous: int
    aligned: bool
    labels: bool
    """Whether the input's steps bear labels."""
    endings: dict[int, dict[str, int]]

    @classmethod
    def learn(cls, train: Batch, reach: int, previous: int) -> "Windows":
        """For such series; what words end in is learned from them."""
        endings: dict[int, dict[str, int]] = {}
        if train.tokens is not None and np.mean([len(t) for t in train.levels] or [0]) >= 3:
            words = [t for v in train.texts for t in v if t is not None]
            for width in (2, 3):
                some = Counter(w[-width:].lower() for w in words)
                endings[width] = {e: i for i, e in enumerate(sorted(some, key=lambda e: (-some[e], e))[:MOST_ENDINGS])}
        return cls(reach, previous, bool(train.answer["aligned"]), train.tokens is not None, endings)

    def of(self, batch: Batch, lengths: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """For each series the codes [length, c] and the numbers [length, q] of its steps, without the answers before."""
        codes, numbers = [], []
        known = len(batch.levels) + 2 if self.labels else 0
        for i, length in enumerate(lengths.tolist()):
            n = int(batch.lengths[i])
            at, step = places(n, length), np.arange(length)
            where = [step / max(1, length - 1), np.minimum(step, 20), np.minimum(length - 1 - step, 20), np.full(length, min(n, 200)), at / max(1, n - 1)]
            if self.labels:
                padded = np.append(batch.tokens[i], known)  # beyond the ends: a label of its own
                seen = [padded[self._around(place, self.reach, n)] for place in (at, n - 1 - at)]
                seen.append(np.tile(padded[[0, n - 1]], (length, 1)))
                if not self.aligned:
                    seen += [padded[self._around(place, 1, n)] for place in (step, n - length + step)]
                for width, known_ends in self.endings.items():
                    ends = np.array([len(known_ends) if t is None else known_ends.get(t[-width:].lower(), len(known_ends)) for t in batch.texts[i]] + [len(known_ends)])
                    seen.append(ends[self._around(at, min(1, self.reach), n)])
                codes.append(np.concatenate(seen, axis=1).astype(np.int64))
            else:
                v = batch.series[i]
                padded = np.concatenate([v, np.zeros((1, v.shape[1]))])
                seen = [padded[self._around(place, self.reach, n)].reshape(length, -1) for place in (at, n - 1 - at)]
                if not self.aligned:
                    seen += [padded[self._around(place, 1, n)].reshape(length, -1) for place in (step, n - length + step)]
                running = np.cumsum(v, axis=0)
                before = running[at] / (at + 1)[:, None]
                whole = np.concatenate([v.mean(axis=0), v.std(axis=0), v.min(axis=0), v.max(axis=0)])
                where += [*np.concatenate([*seen, before, running[at], np.tile(whole, (length, 1))], axis=1).T]
                codes.append(np.zeros((length, 0), dtype=np.int64))
            numbers.append(np.stack(where, axis=1))
        return codes, numbers

    @staticmethod
    def _around(place: np.ndarray, reach: int, n: int) -> np.ndarray:
        """Places within reach, [length, 2 · reach + 1]; n where there is none."""
        at = place[:, None] + np.arange(-reach, reach + 1)
        return np.where((at >= 0) & (at < n), at, n)

    def before(self, answers: np.ndarray, nothing: float) -> np.ndarray:
        """The `previous` answers before each step, [length, previous · d], from true answers [length] or [length, d]; `nothing` before the first."""
        answers = answers.reshape(len(answers), -1)
        padded = np.concatenate([np.full((self.previous, answers.shape[1]), nothing), answers])
        return np.concatenate([padded[self.previous - 1 - j:self.previous - 1 - j + len(answers)] for j in range(self.previous)], axis=1)

    def as_json(self) -> dict:
        """What `from_json` needs."""
        return {"reach": self.reach, "previous": self.previous, "aligned": self.aligned, "labels": self.labels,
                "endings": {str(width): list(those) for width, those in self.endings.items()}}

    @classmethod
    def from_json(cls, raw: dict) -> "Windows":
        """The windows that `as_json` gave."""
        endings = {int(width): {e: i for i, e in enumerate(those)} for width, those in raw["endings"].items()}
        return cls(raw["reach"], raw["previous"], raw["aligned"], raw["labels"], endings)


class Lengths:
    """How long an answer is: as its input; else linear in the input's length where that says it all; else linear in how often
    each label occurs in it (of numbers: their means and deviations). ``weights`` is the state, plain numbers."""

    def __init__(self, aligned: bool, weights: list[float] = (), longest: int = 1):
        self.aligned, self.weights, self.longest = aligned, list(weights), longest

    @classmethod
    def learn(cls, train: Batch) -> "Lengths":
        """From the training rows' inputs and answers."""
        wanted = np.array([len(v) for v in train.y], dtype=np.float64)
        longest = int(2 * wanted.max())
        if train.answer["aligned"]:
            return cls(True, longest=longest)
        plain = cls._plain(train)
        weights, *_ = np.linalg.lstsq(plain, wanted, rcond=None)
        if np.abs(plain @ weights - wanted).max() >= 0.5:
            from sklearn.linear_model import Ridge
            full = cls._full(train)
            model = Ridge(alpha=1.0).fit(full, wanted)
            weights = np.append(model.coef_, model.intercept_)
        return cls(False, weights.tolist(), longest)

    @staticmethod
    def _plain(batch: Batch) -> np.ndarray:
        return np.column_stack([batch.lengths, np.ones(batch.n)])

    @staticmethod
    def _full(batch: Batch) -> np.ndarray:
        told = [v.sum(axis=0) if batch.tokens is not None else np.concatenate([v.mean(axis=0), v.std(axis=0)]) for v in batch.series]
        return np.column_stack([batch.lengths, np.stack(told)]) if batch.n else np.zeros((0, 1))

    def of(self, batch: Batch) -> np.ndarray:
        """The length of each answer, ints [n]."""
        if self.aligned or not batch.n:
            return batch.lengths
        x = self._plain(batch) if len(self.weights) == 2 else np.column_stack([self._full(batch), np.ones(batch.n)])
        return np.clip(np.rint(x @ np.array(self.weights)), 1, self.longest).astype(np.int64)

    def as_json(self) -> dict:
        """What the constructor takes."""
        return {"aligned": self.aligned, "weights": self.weights, "longest": self.longest}


def fitted(answers: list[np.ndarray], lengths: np.ndarray) -> np.ndarray:
    """Whole answers [m, k] brought to lengths, each step from the proportional one."""
    return objects(a[places(len(a), n)] for a, n in zip(answers, lengths.tolist()))
