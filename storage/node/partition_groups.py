"""One partition's groups as its leader runs them: receives, settlements, seeks, expiries and dead letters.

The delivery state machine decides, `DeliveryHost` makes its records durable; this host reads the messages, keeps one
timer, and tells the waiting receives when something came back.
"""

import asyncio
from collections.abc import Callable

import structlog

from acklog.wire.identifiers import Receipt
from acklog.wire.problems import ProblemCode
from cluster.clock import Clock
from cluster.entropy import Entropy
from cluster.errors import AcklogError
from cluster.metadata_view import MetadataView
from cluster.model import Group, StartPosition
from storage.delivery.group_delivery import GroupDelivery, Lease, Settlement
from storage.delivery.partition_delivery import PartitionDelivery
from storage.node.dead_letter_sink import DeadLetter, DeadLetterSink
from storage.node.delivery_host import DeliveryHost
from storage.node.partition_host import PartitionHost
from storage.node.record_reader import RecordReader
from storage.node.settings import NodeSettings
from storage.rpc.messages import DeliveredMessage, ReceiveRequest, SettleItem, SettleRequest

logger = structlog.get_logger(__name__)

FAILED_STEP_RETRY_MS = 1000
StartOffsets = Callable[[str], "int | None"]


class PartitionGroups:
    """`on_returned(group_id, partition)` is called when a group may have something to deliver again."""

    def __init__(
        self,
        host: PartitionHost,
        delivery: DeliveryHost,
        reader: RecordReader,
        *,
        metadata: MetadataView,
        dead_letters: DeadLetterSink,
        clock: Clock,
        entropy: Entropy,
        settings: NodeSettings,
        on_returned: Callable[[str, int], None],
    ) -> None:
        self._host = host
        self._delivery = delivery
        self._reader = reader
        self._metadata = metadata
        self._dead_letters = dead_letters
        self._clock = clock
        self._entropy = entropy
        self._settings = settings
        self._on_returned = on_returned
        self._starting: dict[str, asyncio.Future[None]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_ms = 0
        self._step_task: asyncio.Task[None] | None = None
        self._is_closed = False
        self.redelivered = 0
        self.dead_lettered = 0
