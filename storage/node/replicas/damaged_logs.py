"""Tells a replica's machine of damage in its logs."""

from collections.abc import Callable, Sequence
from functools import partial

import structlog

from cluster.model.values import Topic
from storage.log.log_table import LogKind
from storage.log.partition_log import PartitionLog
from storage.replication.messages import PartitionId
from storage.replication.replica_events import LogDamaged

logger = structlog.get_logger(__name__)

UNREADABLE_STATE = "the state behind the log cannot be read"


class DamagedLogs:
    """`report` is called for each log that is found damaged; what is known already changes nothing."""

    def __init__(
        self,
        topic: Topic,
        partition: PartitionId,
        logs: Sequence[PartitionLog],
        report: Callable[[LogDamaged], None],
    ) -> None:
        self._topic_name = topic.name
        self._partition = partition
        self._logs = logs
        self._report = report

    def watch(self) -> None:
        """Report what recovery found, and from now on what reads find."""
        for kind, log in enumerate(self._logs):
            log.on_damaged = partial(self._found, kind)
            if log.damage:
                self._found(kind)

    def state_is_unreadable(self) -> None:
        """The snapshot that the delivery log begins with is damaged, or gone."""
        self._found(LogKind.DELIVERY)

    def _found(self, kind: int) -> None:
        log = self._logs[kind]
        logger.error(
            "replica_damaged",
            topic=self._topic_name,
            partition=self._partition.partition,
            log=str(log.key),
            reason=log.damage or UNREADABLE_STATE,
        )
        self._report(LogDamaged(kind))
