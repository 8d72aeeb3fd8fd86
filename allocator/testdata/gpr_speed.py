"""Times the decision of the speed test with scikit-learn's GaussianProcessRegressor: 10 observations of 200 candidates.

Two ways: the kernel is fitted to the observations, as a user of the library would have it, or kept fixed. Each is fitted for
the qualities and for the log seconds, then expected improvement per second is taken over all candidates. With Optuna
installed, its GP sampler decides upon the same. Prints lines "peer NAME p50=NANOSECONDS".
"""
import time
import warnings

import numpy as np
from scipy.stats import norm
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

warnings.filterwarnings("ignore")
rng = np.random.default_rng(1)
X = rng.normal(size=(200, 20))  # candidates described by 20 past searches
seen = rng.choice(200, 10, replace=False)
quality, seconds = rng.normal(size=10), rng.normal(size=10)


def decide(optimizer):
    kernel = ConstantKernel(1.0) * RBF(5.0) + WhiteKernel(0.01)
    q = GaussianProcessRegressor(kernel, optimizer=optimizer, normalize_y=True).fit(X[seen], quality)
    s = GaussianProcessRegressor(kernel, optimizer=optimizer, normalize_y=True).fit(X[seen], seconds)
    mean, sd = q.predict(X, return_std=True)
    cost, spread = s.predict(X, return_std=True)
    z = (mean - quality.max()) / sd
    score = np.log(np.maximum(sd * (z * norm.cdf(z) + norm.pdf(z)), 1e-300)) - cost - spread**2 / 2
    score[seen] = -np.inf
    return int(score.argmax())


def clock(name, f, repeats):
    f()
    times = []
    for _ in range(repeats):
        start = time.process_time_ns()
        f()
        times.append(time.process_time_ns() - start)
    print(f"peer {name} p50={int(np.median(times))}", flush=True)


clock("sklearn-refit", lambda: decide("fmin_l_bfgs_b"), 30)
clock("sklearn-fixed", lambda: decide(None), 100)
try:
    import optuna
except ImportError:
    print("peer optuna absent", flush=True)
else:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.GPSampler(seed=1, n_startup_trials=5))
    space = {"candidate": optuna.distributions.CategoricalDistribution([str(i) for i in range(200)])}
    for i, y in zip(seen, quality):
        study.add_trial(optuna.create_trial(params={"candidate": str(i)}, distributions=space, value=float(y)))
    clock("optuna", lambda: study.ask(space), 10)
