"""The interface of a storage node, as a gateway uses it: in process or over a connection, the same words."""

from typing import Protocol

from storage.rpc import messages


class NodeApi(Protocol):
    """Every call raises AcklogError: UNAVAILABLE when this node does not lead the partition (ask again elsewhere),
    OVERLOADED, STORAGE_FULL, STORAGE_FAILED, TIMED_OUT, SHUTTING_DOWN and what each request's docstring names.

    Cancelling a call gives up waiting for the answer; an append or an ack may still take effect.
    """

    async def produce(self, request: messages.ProduceRequest) -> messages.ProduceResponse: ...

    async def receive(self, request: messages.ReceiveRequest) -> messages.ReceiveResponse: ...

    async def settle(self, request: messages.SettleRequest) -> messages.SettleResponse: ...

    async def inspect(self, request: messages.InspectRequest) -> messages.InspectResponse: ...

    async def records(self, request: messages.RecordsRequest) -> messages.RecordsResponse: ...

    async def positions(self, request: messages.PositionsRequest) -> messages.PositionsResponse: ...

    async def seek(self, request: messages.SeekRequest) -> messages.SeekResponse: ...
