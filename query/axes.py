"""The axes of a case, as `sql/axes.txt` lists them, with the headings of tables."""

from .. import sql

AXES = sql.case_axes()
WORK_AXES = tuple(axis for axis in AXES if axis != "parameters")  # those that are columns of their own
BACKEND_LAST = (*(axis for axis in AXES if axis != "backend"), "backend")  # order of tables that compare backends
HEADINGS = {axis: {"batch_size": "batch", "sequence_length": "length"}.get(axis, axis) for axis in AXES}
GEOMEAN = "geomean"  # the case that stands for the geometric means
