"""Writes to single partitions: when each is acknowledged, whatever happens to those who lead them."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple

import msgspec

from examples.server_process import ServerProcess
from loadtests.http_connection import Answer, HttpConnection, connect, make_request
from loadtests.load import LoadFailedError


class Place(NamedTuple):
    topic: str
    partition: int


def write_to(place: Place) -> bytes:
    """A request that sends 100 bytes to this very partition."""
    body = {"queue": place.topic, "partition": place.partition, "body": "x" * 98}
    return make_request("POST", "/messages", msgspec.json.encode(body))


@dataclass(slots=True)
class Written:
    """Times of `perf_counter`. `failures` are the answers before it other than success, as status and problem code;
    a lost connection is one with status 0."""

    sent_s: float
    acknowledged_s: float
    failures: list[str] = field(default_factory=list)


class Probe:
    """Writes to one partition, one at a time, on a connection of its own."""

    def __init__(self, gateway: ServerProcess, place: Place, *, retry_pause_s: float) -> None:
        self.place = place
        self._gateway = gateway
        self._request = write_to(place)
        self._retry_pause_s = retry_pause_s
        self._connection: HttpConnection | None = None

    async def write(self, *, timeout_s: float) -> Written:
        """The next acknowledged write, sent again and again until it is. Raises LoadFailedError after `timeout_s`."""
        written = Written(perf_counter(), 0.0)
        try:
            async with asyncio.timeout(timeout_s):
                while (answer := await self._try()).status != 201:
                    written.failures.append(failure_of(answer))
                    await asyncio.sleep(self._retry_pause_s)
        except TimeoutError:
            last = written.failures[-1] if written.failures else "no answer"
            raise LoadFailedError(f"no write to {self.place} within {timeout_s:.0f} s: {last}") from None
        written.acknowledged_s = perf_counter()
        return written

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    async def _try(self) -> Answer:
        if self._connection is None:
            try:
                [self._connection] = await connect(self._gateway.port, 1)
            except OSError:
                return Answer(0, b"")
        answer = await self._connection.request(self._request)
        if answer.status == 0:
            self._connection = None
        return answer


class _Problem(msgspec.Struct):
    code: str = ""


def failure_of(answer: Answer) -> str:
    """ "503 UNAVAILABLE"."""
    if not answer.status:
        return "0 connection lost"
    try:
        return f"{answer.status} {msgspec.json.decode(answer.body, type=_Problem).code}".strip()
    except msgspec.DecodeError:
        return str(answer.status)


async def write_once(probes: Sequence[Probe], *, timeout_s: float) -> list[Written]:
    """To every partition at the same time."""
    return list(await asyncio.gather(*(probe.write(timeout_s=timeout_s) for probe in probes)))


async def write_until(
    probes: Sequence[Probe], is_over: Callable[[], bool], *, pause_s: float, timeout_s: float
) -> list[list[Written]]:
    """To every partition over and over, with a pause after each; they begin spread over one pause. Each has at least
    one write that began after it was over."""

    async def write_on(number: int, probe: Probe) -> list[Written]:
        await asyncio.sleep(pause_s * number / len(probes))
        writes = []
        while True:
            is_last = is_over()
            writes.append(await probe.write(timeout_s=timeout_s))
            if is_last:
                return writes
            await asyncio.sleep(pause_s)

    return list(await asyncio.gather(*(write_on(*each) for each in enumerate(probes))))
