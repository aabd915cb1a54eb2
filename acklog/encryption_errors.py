"""Failures of topics that are encrypted. Users find them in `acklog.errors`."""

# The names are those of the codes, which end as their meaning wants it, not with "Error".
# ruff: noqa: N818

from acklog.problem_error import ProblemError
from acklog.wire.problems import ProblemCode


class NoMasterKey(ProblemError, problem=ProblemCode.NO_MASTER_KEY):
    """The nodes have no master key in common, so nothing can be encrypted."""


class NotEncrypted(ProblemError, problem=ProblemCode.NOT_ENCRYPTED):
    """The topic is not encrypted."""


class TooManyDataKeys(ProblemError, problem=ProblemCode.TOO_MANY_DATA_KEYS):
    """The topic's data key was rotated as often as may be."""
