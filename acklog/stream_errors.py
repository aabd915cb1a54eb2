"""Failures of streams: of the cluster's events, and of tails of topics. Users find them in `acklog.errors`."""

# The names are those of the codes, which end as their meaning wants it, not with "Error".
# ruff: noqa: N818

from acklog.acklog_error import AcklogError
from acklog.problem_error import ProblemError
from acklog.wire.problems import ProblemCode


class TooManyWatchers(ProblemError, problem=ProblemCode.TOO_MANY_WATCHERS):
    """Too many streams of events or messages are served."""


class TopicRemoved(AcklogError):
    """The topic of a tail was deleted: nothing more comes."""

    default_code = "TOPIC_REMOVED"


class TooManyPartitions(AcklogError):
    """The topic of a tail has grown beyond what one stream reads: begin again, and name partitions."""

    default_code = "TOO_MANY_PARTITIONS"
