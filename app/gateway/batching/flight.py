"""A batch on its way into the log."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable

from acklog.wire.batch import decode_records, verify_unstamped
from acklog.wire.record import Record
from cluster.errors import ServerError
from storage.rpc.messages import ANY_MAPPING, ProduceResponse


class MappingOverError(ServerError):
    """Nothing is stored: the topic's partitions have changed since a mapping chose this one. It is what the client is
    told where another one cannot be chosen."""


class Flight(ABC):
    """What the node that leads the partition is asked to store, and who hears of it: exactly one of `stored` and
    `failed` is called, in a turn of the event loop of its own.

    `mapping` is what put it into its partition (ANY_MAPPING: no key of its messages did).

    It is the node's `ProduceWaiter`. The node is about to tell others, too, and is not to wait for what follows.
    """

    __slots__ = ("_ended_badly", "acks", "batch", "deadline_ms", "mapping", "partition", "topic_id")
    batch: bytearray
    _ended_badly: Callable[["Flight", BaseException], None]

    def __init__(self, topic_id: str, partition: int, acks: int, deadline_ms: int, mapping: int = ANY_MAPPING) -> None:
        self.topic_id = topic_id
        self.partition = partition
        self.mapping = mapping
        self.acks = acks
        self.deadline_ms = deadline_ms

    @abstractmethod
    def stored(self, response: ProduceResponse) -> None: ...

    @abstractmethod
    def failed(self, error: BaseException) -> None: ...

    def records(self) -> list[Record]:
        """Of one that was not stored: nobody keeps them beside the batch."""
        return decode_records(self.batch, verify_unstamped(self.batch))

    # --- what the node tells ---------------------------------------------------------------------------------------

    def begun(self, ended_badly: Callable[["Flight", BaseException], None]) -> None:
        """A node is about to begin with it; `ended_badly` judges what that node may not have done after all."""
        self._ended_badly = ended_badly

    def done(self) -> bool:
        return False

    def set_result(self, response: ProduceResponse, /) -> None:
        asyncio.get_running_loop().call_soon(self.stored, response)

    def set_exception(self, error: BaseException, /) -> None:
        self._ended_badly(self, error)
