"""Batch work on a machine that serves: it takes what nothing else wants of the processors."""

import os

from acklog.command.failures import UsageError
from acklog_spark.sessions import is_submitted

LEAST_NICE = 19


def give_way() -> None:
    """From now on this process, and those it starts (Java, Spark's workers), run while nothing else wants a processor:
    SCHED_IDLE of Linux, elsewhere the least niceness.

    Raises UsageError where Spark is running already. To be called before anything is started.
    """
    if is_submitted():
        hint = "Begin that with chrt --idle 0 (Linux) or nice -n 19."
        raise UsageError("spark-submit has started Spark already", field="--background", hint=hint)
    if hasattr(os, "SCHED_IDLE"):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    else:
        os.nice(LEAST_NICE)
