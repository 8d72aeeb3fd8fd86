"""The families of models, one file each: what they are called, what they suit, fit, predict, save, load.

Each module has a function ``candidates(program, profile)`` that yields its `Candidate` objects, as a
plugin's entry point does. The order below is that of the catalogue: light ones first, guessing first of all.
"""

FAMILIES = ("dummy", "linear", "svm", "knn", "forest", "lightgbm", "boosting", "mlp", "hog", "texture",
            "series_statistics", "series_kernels", "series_neighbours", "tree_statistics", "series_nearest", "series_places", "pixels", "resnet", "series_gru")

FLAT = ("table", "image_classification", "fusion", "general_classification")
"""The templates whose inputs can be laid out as one row of numbers."""

SERIES = ("series_classification",)
TREES = ("tree_classification",)

TRANSLATION = ("series_translation",)

RECOVERY = ("image_recovery",)

GENERAL = ("general_recovery",)
"""The last resort for outputs of any shape: what learns many numbers at once."""

DEEP = ("resnet", "series_gru")
"""The families that need PyTorch."""
