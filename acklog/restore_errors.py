"""Failures of topics that are restored from a backup. Users find them in `acklog.errors`."""

# The names are those of the codes, which end as their meaning wants it, not with "Error".
# ruff: noqa: N818

from acklog.problem_error import ProblemError
from acklog.wire.problems import ProblemCode


class TopicRestoring(ProblemError, problem=ProblemCode.TOPIC_RESTORING):
    """The topic is being restored from a backup."""


class TopicNotRestoring(ProblemError, problem=ProblemCode.TOPIC_NOT_RESTORING):
    """No such restore of the topic is under way."""


class RestoreConflict(ProblemError, problem=ProblemCode.RESTORE_CONFLICT):
    """The partition does not go on where the restored batches begin."""
