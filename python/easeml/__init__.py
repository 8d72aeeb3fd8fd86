"""easeml: the Python side. The trainer lives in `easeml.trainer`."""
