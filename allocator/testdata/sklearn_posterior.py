"""Makes sklearn_posterior.json: posteriors of scikit-learn's exact Gaussian process, for TestPosteriorEqualsScikitLearn.

    python sklearn_posterior.py > sklearn_posterior.json

Each case is a covariance over a finite set of arms (an RBF kernel on random points), a noise, some observed arms with
values, and mean and standard deviation of every arm after them (kernel fixed, zero mean, noise on the diagonal).
"""
import json

import numpy as np
import sklearn
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

cases = []
for seed, (n, t, noise) in enumerate([(6, 1, 0.1), (12, 6, 0.01), (18, 12, 1e-3), (18, 18, 1e-4)]):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 3))
    kernel = ConstantKernel(1.3, "fixed") * RBF(1.1, "fixed")
    arms = rng.permutation(n)[:t]
    y = rng.normal(size=t)
    gp = GaussianProcessRegressor(kernel, alpha=noise, optimizer=None).fit(points[arms], y)
    mean, sd = gp.predict(points, return_std=True)
    cases.append(dict(Cov=kernel(points).ravel().tolist(), Noise=noise, Arms=arms.tolist(), Y=y.tolist(), Mean=mean.tolist(), SD=sd.tolist()))
print(json.dumps({"Made": f"scikit-learn {sklearn.__version__}", "Cases": cases}))
