"""The batches of one request that are being stored: one future for all of them."""

import asyncio

from acklog.wire.record import Record
from app.calls.send_result import Placed, SendResult
from app.gateway.batching.flight import Flight, MappingOverError
from cluster.errors import ServerError
from storage.rpc.messages import ANY_MAPPING, ProduceResponse


class PartsUnderWay:
    """Each part's outcome goes into `result`. `all_done` fails where a part failed with something else than an
    ServerError. `to_place_anew`: what a change of the topic's partitions kept out, by its place in the request."""

    def __init__(self, result: SendResult) -> None:
        self.all_done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.result = result
        self.to_place_anew: dict[int, Record] = {}
        self._left = 0

    def add(self, partition: int, indexes: list[int], mapping: int = ANY_MAPPING) -> Flight:
        """The part that has the request's messages at `indexes`. All parts are added in one turn."""
        self._left += 1
        return _Part(self, partition, indexes, mapping)

    def one_less(self) -> None:
        self._left -= 1
        if not self._left and not self.all_done.done():  # whoever waited may have gone
            self.all_done.set_result(None)

    def broken(self, error: BaseException) -> None:
        if not self.all_done.done():
            self.all_done.set_exception(error)


class _Part(Flight):
    __slots__ = ("_indexes", "_parts")

    def __init__(self, parts: PartsUnderWay, partition: int, indexes: list[int], mapping: int) -> None:
        result = parts.result
        super().__init__(result.topic.id, partition, result.acks, result.deadline_ms, mapping)
        self._parts = parts
        self._indexes = indexes

    def stored(self, response: ProduceResponse) -> None:
        self._parts.result.place(self._indexes, Placed(self.partition, response.leader_epoch, response.base_offset))
        self._parts.one_less()

    def failed(self, error: BaseException) -> None:
        if isinstance(error, ServerError):
            self._parts.result.fail(self._indexes, error)
            if isinstance(error, MappingOverError):
                self._parts.to_place_anew.update(zip(self._indexes, self.records(), strict=True))
        else:
            self._parts.broken(error)
        self._parts.one_less()
