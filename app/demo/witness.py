"""Stands between the SDK and the server, and takes down what went over the wire.

A producer tells what became of each message. A consumer hides, with good reason, when a receive request began and when
an acknowledgement was confirmed, and the promise that nothing comes again after that is about these two moments. So
they are seen here, in the client's own transport: nothing is added, changed or held back.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import parse_qs

import msgspec

from acklog.client.call import Request, Response
from acklog.client.retry import is_outcome_unknown
from acklog.client.transport import Transport
from acklog.command.latencies import Latencies
from acklog.errors import AcklogError
from app.demo.group_ledger import GroupLedger
from app.demo.pauses import Pauses
from app.demo.work import Work

SEND = ("POST", "/messages")
RECEIVE = ("GET", "/messages")
ACKNOWLEDGE = ("POST", "/ack")


class _Delivered(msgspec.Struct):
    receipt: str
    partition: int
    offset: int


class _Received(msgspec.Struct):
    messages: list[_Delivered]


class _Result(msgspec.Struct):
    status: str = ""
    code: str = ""
    retriable: bool = False


class _Results(msgspec.Struct):
    results: list[_Result]


class _Placed(msgspec.Struct):
    partition: int = -1


class _Sent(msgspec.Struct):
    results: list[_Placed] = []


class _Receipts(msgspec.Struct):
    receipts: list[str]


_decode_received = msgspec.json.Decoder(_Received).decode
_decode_results = msgspec.json.Decoder(_Results).decode
_decode_sent = msgspec.json.Decoder(_Sent).decode
_decode_receipts = msgspec.json.Decoder(_Receipts).decode


@dataclass(slots=True)
class RequestStatistics:
    """Latencies are of requests that were answered well; `cut_off` counts those whose outcome stayed unknown."""

    sends: Latencies = field(default_factory=Latencies)
    receives: Latencies = field(default_factory=Latencies)
    acknowledgements: Latencies = field(default_factory=Latencies)
    cut_off: int = 0


class Witness:
    """A transport around another one. Groups without a ledger are let pass."""

    def __init__(
        self, transport: Transport, ledgers: Sequence[GroupLedger], work: Work, pauses: Pauses | None = None
    ) -> None:
        self.statistics = RequestStatistics()
        self._transport = transport
        self._ledgers = {ledger.group: ledger for ledger in ledgers}
        self._work = work
        self._pauses = pauses
        self._places: dict[str, tuple[GroupLedger, int, int]] = {}

    async def perform(self, request: Request, *, timeout_s: float) -> Response:
        """As the transport that it stands before."""
        path, _, query = request.target.partition("?")
        kind = (request.method, path)
        ledger = self._ledger_of(query) if kind == RECEIVE else None
        began = 0 if ledger is None else ledger.receive_began()
        now_s = asyncio.get_running_loop().time
        began_s = now_s()
        try:
            response = await self._transport.perform(request, timeout_s=timeout_s)
        except AcklogError as error:
            if is_outcome_unknown(error):
                self.statistics.cut_off += 1
            raise
        if 200 <= response.status < 300:
            duration_ms = (now_s() - began_s) * 1000
            if kind == SEND:
                self.statistics.sends.add(duration_ms)
                self._confirmed(response)
            elif kind == ACKNOWLEDGE:
                self.statistics.acknowledgements.add(duration_ms)
                self._acknowledged(request, response)
            elif ledger is not None:
                self.statistics.receives.add(duration_ms)
                self._received(ledger, began, response)
        return response

    async def close(self) -> None:
        await self._transport.close()

    def _ledger_of(self, query: str) -> GroupLedger | None:
        return self._ledgers.get(parse_qs(query).get("group", [""])[0])

    def _received(self, ledger: GroupLedger, began: int, response: Response) -> None:
        for message in _decode_received(response.body).messages:
            ledger.delivered(began, message.partition, message.offset)
            self._places[message.receipt] = (ledger, message.partition, message.offset)

    def _confirmed(self, response: Response) -> None:
        if self._pauses is not None:
            for partition in sorted({placed.partition for placed in _decode_sent(response.body).results} - {-1}):
                self._pauses.confirmed(partition)

    def _acknowledged(self, request: Request, response: Response) -> None:
        receipts = _decode_receipts(request.body).receipts
        results = _decode_results(response.body).results
        newly_done = dict.fromkeys(self._ledgers, 0)
        for receipt, result in zip(receipts, results, strict=True):
            if result.code and result.retriable:
                continue
            place = self._places.pop(receipt, None)
            if place is not None and not result.code:
                ledger, partition, offset = place
                newly_done[ledger.group] += ledger.acknowledged(partition, offset)
        for group, count in newly_done.items():
            if count:
                self._work.add_done(group, count)
