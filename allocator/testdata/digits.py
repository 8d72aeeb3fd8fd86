"""Makes digits.json: what 22 candidates reach on scikit-learn's digits, for the tests of "likely final".

    python digits.py > digits.json

1,437 of the 1,797 pictures are the user's (20 % were kept away), split as the service does: 70 % train, 15 % validation.
Quality = share of right answers on the validation part; seconds = fit and evaluation on this machine, one thread. The two
slow networks stand for deep candidates on a CPU: their seconds are multiplied by 10.
"""
import json
import sys
import time

from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

candidates = [
    ("dummy", "dummy", DummyClassifier(), 1),
    ("knn.k1", "knn", KNeighborsClassifier(1), 1),
    ("knn.k5", "knn", KNeighborsClassifier(5), 1),
    ("knn.k15", "knn", KNeighborsClassifier(15), 1),
    ("centroid", "knn", NearestCentroid(), 1),
    ("logreg.c0.1", "linear", LogisticRegression(C=0.1, max_iter=2000), 1),
    ("logreg.c10", "linear", LogisticRegression(C=10, max_iter=2000), 1),
    ("ridge", "linear", RidgeClassifier(), 1),
    ("lda", "linear", LinearDiscriminantAnalysis(), 1),
    ("naive-bayes", "bayes", GaussianNB(), 1),
    ("svm-rbf.c1", "svm", SVC(C=1), 1),
    ("svm-rbf.c10", "svm", SVC(C=10), 1),
    ("svm-linear", "svm", LinearSVC(max_iter=5000), 1),
    ("tree", "tree", DecisionTreeClassifier(random_state=0), 1),
    ("forest.100", "forest", RandomForestClassifier(100, random_state=0), 1),
    ("forest.300", "forest", RandomForestClassifier(300, random_state=0), 1),
    ("extra-trees.300", "forest", ExtraTreesClassifier(300, random_state=0), 1),
    ("boost.100", "boost", GradientBoostingClassifier(n_estimators=100, random_state=0), 1),
    ("boost.300", "boost", GradientBoostingClassifier(n_estimators=300, random_state=0), 1),
    ("mlp.64", "mlp", MLPClassifier((64,), max_iter=300, random_state=0), 1),
    ("net.128-64", "net", MLPClassifier((128, 64), max_iter=300, random_state=1), 10),
    ("net.512-256", "net", MLPClassifier((512, 256), max_iter=100, random_state=2), 10),
]
x, y = load_digits(return_X_y=True)
x, _, y, _ = train_test_split(x / 16, y, train_size=1437, stratify=y, random_state=0)
train, rest = train_test_split(range(len(y)), train_size=1005, stratify=y, random_state=0)
valid = rest[:215]
rows = []
for name, family, model, factor in candidates:
    start = time.perf_counter()
    quality = model.fit(x[train], y[train]).score(x[valid], y[valid])
    rows.append(dict(ID=name, Family=family, Quality=round(quality, 6), Seconds=round((time.perf_counter() - start) * factor, 4)))
    print(rows[-1], file=sys.stderr)
print(json.dumps({"Examples": 1437, "Features": 64, "Rows": rows}, indent=1))
