"""Series from series, step by step: each answer from what lies around its place in the input, and from the answers before it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Iterator

import numpy as np

from ..batch import Batch
from ..candidate import Candidate, CandidateInfo
from ..estimator import dump, load
from ..outputs import objects
from ..program import Program
from ..report import Report
from ..size import estimate, size_of
from ..windows import Lengths, Windows
from . import TRANSLATION

MOST_STEPS = 40_000
"""Steps that are learned from, drawn evenly from all series."""

MOST_NEAR = 8_000
"""The same for neighbours, each of which is looked at for every answer."""


MOST_BOOSTED = 100
"""With more labels boosting, which grows a tree for each in every round, would take hours."""


class Places(Candidate):
    """A model of steps; settings: ``model`` (linear, trees, neighbours, lightgbm), ``reach``, ``previous``."""

    def _make(self, codes: int, labels: bool):
        """The unfitted estimator for rows whose first columns are codes."""
        from sklearn.compose import ColumnTransformer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, StandardScaler
        s = self.info.settings
        if s["model"] == "trees":
            from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
            kind = ExtraTreesClassifier if labels else ExtraTreesRegressor
            return kind(n_estimators=100, min_samples_leaf=1 if labels else 2, random_state=self.seed, n_jobs=self.threads)
        if s["model"] == "lightgbm":
            return _Boosters(self.seed, self.threads, codes, labels)
        if s["model"] == "neighbours":
            from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
            last = (KNeighborsClassifier if labels else KNeighborsRegressor)(n_neighbors=5, weights="distance", algorithm="brute", n_jobs=self.threads)
        elif labels:
            from sklearn.linear_model import LogisticRegression
            last = LogisticRegression(C=1.0, max_iter=300)
        else:
            from sklearn.linear_model import Ridge
            last = Ridge(alpha=1.0)
        near = {"max_categories": 50, "sparse_output": False} if s["model"] == "neighbours" else {}
        parts = [("codes", OneHotEncoder(handle_unknown="infrequent_if_exist" if near else "ignore", **near), slice(0, codes)), ("numbers", StandardScaler(), slice(codes, None))]
        return make_pipeline(ColumnTransformer(parts if codes else parts[1:]), last)

    def fit(self, train: Batch, valid: Batch | None, report: Report) -> None:
        s, labels = self.info.settings, train.classes > 0
        self.lengths, self.windows = Lengths.learn(train), Windows.learn(train, s["reach"], s["previous"])
        most = MOST_NEAR if s["model"] == "neighbours" else MOST_STEPS
        order, chosen, count = np.random.default_rng(self.seed).permutation(train.n), [], 0
        for i in order.tolist():
            chosen.append(i)
            count += len(train.y[i])
            if count >= most:
                break
        some = train.rows(np.sort(chosen))
        codes, numbers = self.windows.of(some, np.array([len(v) for v in some.y], dtype=np.int64))
        self.nothing = train.classes if labels else 0.0
        if s["previous"]:
            before = [self.windows.before(v, self.nothing) for v in some.y]
            codes, numbers = self._joined(codes, numbers, before, labels)
        self.code_count = codes[0].shape[1]
        x = np.concatenate([np.concatenate(codes).astype(np.float64), np.concatenate(numbers)], axis=1)
        y = np.concatenate(list(some.y))
        self.estimator = None
        self.only = int(y[0]) if labels and len(np.unique(y)) == 1 else -1
        if self.only < 0:
            self.estimator = self._make(self.code_count, labels)
            self.estimator.fit(x, y if labels or y.shape[1] > 1 else y[:, 0])

    @staticmethod
    def _joined(codes: list, numbers: list, before: list, labels: bool) -> tuple[list, list]:
        """The answers before put to the codes, or to the numbers."""
        if labels:
            return [np.concatenate([c, b.astype(np.int64)], axis=1) for c, b in zip(codes, before)], numbers
        return codes, [np.concatenate([v, b], axis=1) for v, b in zip(numbers, before)]

    def _ask(self, codes: np.ndarray, numbers: np.ndarray, inputs: Batch) -> np.ndarray:
        """The estimator's answers to some steps, [n, k] or [n, d]."""
        if inputs.classes:
            out = np.zeros((len(numbers), inputs.classes))
            if self.only >= 0:
                out[:, self.only] = 1.0
            else:
                out[:, np.asarray(self.estimator.classes_, dtype=int)] = self.estimator.predict_proba(np.concatenate([codes, numbers], axis=1))
            return out
        return np.asarray(self.estimator.predict(np.concatenate([codes, numbers], axis=1))).reshape(len(numbers), -1)

    def predict(self, inputs: Batch) -> np.ndarray:
        lengths = self.lengths.of(inputs)
        if not inputs.n:
            return objects([])
        codes, numbers = self.windows.of(inputs, lengths)
        previous = self.info.settings["previous"]
        if not previous:
            whole = self._ask(np.concatenate(codes), np.concatenate(numbers), inputs)
            return objects(np.split(whole, np.cumsum(lengths)[:-1]))
        width = inputs.classes or inputs.outputs
        answers = [np.zeros((n, width)) for n in lengths.tolist()]
        each = 1 if inputs.classes else inputs.outputs
        before = np.full((inputs.n, previous * each), self.nothing, dtype=np.float64)
        for step in range(int(lengths.max())):  # one step of all series at a time
            going = np.flatnonzero(lengths > step)
            c, v = self._joined([codes[i][step:step + 1] for i in going], [numbers[i][step:step + 1] for i in going], [before[i:i + 1] for i in going], inputs.classes > 0)
            said = self._ask(np.concatenate(c), np.concatenate(v), inputs)
            for i, row in zip(going.tolist(), said):
                answers[i][step] = row
            last = said.argmax(axis=1)[:, None] if inputs.classes else said
            before[going] = np.concatenate([last, before[going][:, :(previous - 1) * each]], axis=1)
        return objects(answers)

    def save(self, folder: Path) -> None:
        estimator = self.estimator.as_text() if isinstance(self.estimator, _Boosters) else self.estimator
        dump({"estimator": estimator, "only": self.only, "nothing": float(self.nothing), "codes": self.code_count, "windows": self.windows.as_json(), "lengths": self.lengths.as_json()},
             folder / "model.skops")

    @classmethod
    def load(cls, folder: Path) -> "Places":
        loaded = cls.described(folder)
        saved = load(folder / "model.skops", ("sklearn.tree._tree.Tree", "sklearn.metrics._dist_metrics.EuclideanDistance64"))
        loaded.only, loaded.nothing, loaded.code_count = saved["only"], saved["nothing"], saved["codes"]
        loaded.windows, loaded.lengths = Windows.from_json(saved["windows"]), Lengths(**saved["lengths"])
        loaded.estimator = _Boosters.of_text(saved["estimator"]) if isinstance(saved["estimator"], dict) else saved["estimator"]
        return loaded


class _Boosters:
    """LightGBM with the manners of a scikit-learn estimator, one booster for each number of a step; codes are categories."""

    ROUNDS = 100

    def __init__(self, seed: int, threads: int, codes: int, labels: bool):
        self.seed, self.threads, self.codes, self.labels = seed, threads, codes, labels
        self.classes_: np.ndarray = np.zeros(0, dtype=int)
        self.boosters: list = []

    def fit(self, x: np.ndarray, y: np.ndarray) -> None:
        import lightgbm
        parameters = {"num_leaves": 31, "learning_rate": 0.1, "min_data_in_leaf": max(2, min(20, len(x) // 200)), "verbosity": -1, "seed": self.seed, "deterministic": True,
                      "force_row_wise": True, "num_threads": self.threads, "max_cat_to_onehot": 8, "cat_smooth": 2.0, "objective": "regression"}
        targets = [y] if y.ndim == 1 else list(y.T)
        if self.labels:
            self.classes_, codes = np.unique(y, return_inverse=True)
            targets = [codes]
            parameters |= {"objective": "binary"} if len(self.classes_) == 2 else {"objective": "multiclass", "num_class": len(self.classes_)}
        for t in targets:
            data = lightgbm.Dataset(x, t, categorical_feature=list(range(self.codes)), params={"verbosity": -1, "min_data_in_bin": 1})
            self.boosters.append(lightgbm.train(parameters, data, num_boost_round=self.ROUNDS))
        self.boosters = [lightgbm.Booster(model_str=b.model_to_string()) for b in self.boosters]  # as they come out of their file

    def predict(self, x: np.ndarray) -> np.ndarray:
        return np.column_stack([b.predict(x, num_threads=self.threads) for b in self.boosters])

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        p = self.boosters[0].predict(x, num_threads=self.threads)
        return np.column_stack([1 - p, p]) if p.ndim == 1 else p

    def as_text(self) -> dict:
        """LightGBM's own text form, and what stands around it."""
        return {"boosters": [b.model_to_string() for b in self.boosters], "classes": self.classes_.tolist(), "codes": self.codes, "labels": self.labels, "threads": self.threads}

    @classmethod
    def of_text(cls, saved: dict) -> "_Boosters":
        """The estimator that `as_text` gave."""
        import lightgbm
        out = cls(0, saved["threads"], saved["codes"], saved["labels"])
        out.classes_, out.boosters = np.array(saved["classes"], dtype=int), [lightgbm.Booster(model_str=t) for t in saved["boosters"]]
        return out


_MODELS = {"linear": ("linear", 1958, 5000), "trees": ("extra trees, 100", 2006, 9000), "neighbours": ("nearest steps, k = 5", 1967, 17000), "lightgbm": ("LightGBM", 2017, 17000)}


def candidates(program: Program, profile: dict) -> Iterator[Candidate]:
    """Four models of steps, near and far, some with the answers before."""
    size = size_of(program, profile)
    numbers = program.inputs[0].size if program.inputs[0].shape else min(50, program.inputs[0].class_count or 50)
    steps = min(MOST_STEPS, size.rows * max(1, size.features // max(1, numbers))) * size.fits
    k = max(1, size.classes)
    for model, reach, previous in (("linear", 1, 0), ("linear", 4, 0), ("linear", 2, 2), ("trees", 3, 0), ("neighbours", 2, 0), ("lightgbm", 3, 0), ("lightgbm", 2, 2)):
        if model == "lightgbm" and k > MOST_BOOSTED:
            continue
        name, year, citations = _MODELS[model]
        width = 2 * (2 * reach + 1) + 8
        seconds = {"linear": 4e-7 * steps * width * k, "trees": 100 * 4e-7 * steps * math.log2(steps + 2) + 1e-6 * steps * width,
                   "neighbours": 3e-9 * min(steps, MOST_NEAR * size.fits) ** 2 / size.fits * width, "lightgbm": 100 * k * (4e-8 * steps * width + 1e-3)}[model]
        yield Places(CandidateInfo(
            f"places-{model}.r{reach}" + (f".p{previous}" if previous else ""), "series_places",
            f"step by step, {name}, {reach} around" + (f", its last {previous} answers" if previous else ""), templates=TRANSLATION, kinds=("tokens", "series"),
            settings={"model": model, "reach": reach, "previous": previous}, year=year, citations=citations,
            needs={"min_examples": 3, "max_examples": 200_000}, requires=("lightgbm",) if model == "lightgbm" else (),
            estimate=estimate(0.3 + 3e-5 * size.rows * size.fits + seconds + (1e-3 * 50 if previous else 0), size, memory=16.0 * steps * width * 8)))
