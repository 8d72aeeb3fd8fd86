"""The trainer: everything of easeml that touches examples and models.

It is used as a program, `python -m easeml.trainer COMMAND`, and speaks in folders:

* ``ingest FOLDER``  reads files into accepted examples, rejects and a profile;
* ``candidates``     says which models are worth trying on such data;
* ``run FOLDER``     fits one candidate once (an *attempt*) and scores it;
* ``predict FOLDER`` stays, loaded with one model, and answers;
* ``serve``          is the warm parent that forks ``run`` and ``ingest`` in milliseconds;
* ``catalogue``      lists every candidate there is.

What does not happen here: nobody chooses here what to train next, and nothing is kept between
attempts. A family of models is one file in ``families/`` with fit, predict, save and load; the
runner owns splits, folds, labels, metric, seeds, threads, early stopping, memory and saving.

This package imports nothing heavy at its top: NumPy, scikit-learn and PyTorch are imported where
they are used, so that ``candidates`` answers at once and ``run`` says ``started`` before it loads.
"""

FORMAT = 1
"""The version of the folders' format. A higher one in a file is refused."""

VERSION = "1.0"
"""The version of this trainer's catalogue, as candidates name it in ``source``."""
