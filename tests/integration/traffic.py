"""Load on a real server: producers and consumers that go on through kills and restarts, and note what they are told.

The history is judged by the same checkers as the simulation's. Beside the group that shares there may be others that
keep an order; their consumers are in `ordered_consumers`.
"""

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, Protocol

import aiohttp

from acklog.wire.identifiers import parse_message_id, parse_receipt
from acklog.wire.limits import DEDUP_WINDOW_MS_DEFAULT, MAX_ATTEMPTS_DEFAULT
from cluster.model.values import GroupMode
from tests.integration.ordered_consumers import JUDGE, OrderedConsumers, checkers_of_order
from tests.sim.checkers import check_all
from tests.sim.delivery_checkers import (
    AcknowledgedIsNeverDeliveredAgain,
    AttemptsAreLimited,
    EverythingIsDoneInTheEnd,
    OneLeaseAtATime,
    StaleReceiptsAreRefused,
)
from tests.sim.history import Delivered, History, LogRead, Outcome, ReadRecord, Sent, Settled
from tests.sim.log_checkers import (
    AcknowledgedIsInTheLog,
    DuplicatesGetTheFirstAnswer,
    LogHasNoGaps,
    LogNeverChanges,
    NothingAboveTheHighWatermark,
    NothingAppearsByItself,
    NothingTwice,
    SendersKeepTheirOrder,
)
from tests.sim.options import OrderedGroup
from tests.support.server_process import Answer
from tests.support.waiting import poll_until

GROUP = "workers"
REQUEST_SECONDS = 10
RETRY_PAUSE_SECONDS = 0.02
BATCH_MESSAGES = 5
VISIBILITY_SECONDS = 3
WITHOUT_EFFECT = frozenset(
    {
        "OVERLOADED",
        "UNAVAILABLE",
        "SHUTTING_DOWN",
        "STORAGE_FULL",
        "DEDUP_WINDOW_FULL",
        "DEDUP_WINDOW_DAMAGED",
        "NOT_ENOUGH_REPLICAS",
    }
)
MAY_HAVE_HAPPENED = frozenset({"OUTCOME_UNKNOWN", "TIMED_OUT", "INTERNAL", "STORAGE_FAILED"})
KEYS_OF_A_SENDER = 3
LOST = (aiohttp.ClientError, TimeoutError, ConnectionError)


class Server(Protocol):
    """A server, or several that stand for one."""

    @property
    def base_url(self) -> str:
        """Where the next request goes."""
        ...

    def request(self, method: str, target: str) -> Answer: ...


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer, or that there was none (`status` 0)."""

    began_ms: float
    ended_ms: float
    status: int
    document: dict[str, Any]

    def outcome(self, result: dict[str, Any]) -> tuple[Outcome, str]:
        """What became of one item of the request, by its own result or the whole document."""
        code = result.get("code", "")
        if self.status == 0:
            return Outcome.UNKNOWN, ""
        if not code:
            return Outcome.OK, ""
        if code in WITHOUT_EFFECT:
            return Outcome.FAILED, code
        is_unknown = self.status >= 500 or code in MAY_HAVE_HAPPENED  # one item of several, with 207
        return Outcome.UNKNOWN if is_unknown else Outcome.FAILED, code


class Traffic:
    """Producers and consumers of one topic and group, and of the groups that keep an order. They read the server's
    address anew for every request."""

    def __init__(
        self,
        server: Server,
        topic: str,
        *,
        partitions: int,
        seed: int = 1,
        ordered_groups: Sequence[OrderedGroup] = (),
    ) -> None:
        self.history = History()
        self.topic = topic
        self.server = server
        self.acknowledged_sends = 0
        self.confirmed_acks = 0
        self.refusals: Counter[tuple[str, int, str]] = Counter()
        """Method, status and code of what failed; status 0 and the exception's name for what was not answered."""
        self._partitions = partitions
        self._random = random.Random(seed)
        self._ordered_groups = list(ordered_groups)
        self._ordered = [OrderedConsumers(self, group, seed=seed) for group in ordered_groups]
        self._session: aiohttp.ClientSession | None = None

    @asynccontextmanager
    async def running(self, *, producers: int, consumers: int) -> AsyncIterator[None]:
        """Load as long as the block runs. Half of the producers use idempotency keys and try again until they know."""
        stop = asyncio.Event()
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=REQUEST_SECONDS)) as self._session:
            tasks = [
                asyncio.create_task(
                    self._produce_keyed(f"k{number}", stop) if number % 2 else self._produce_plain(f"p{number}", stop)
                )
                for number in range(producers)
            ]
            tasks += [asyncio.create_task(self._consume(f"c{number}", stop)) for number in range(consumers)]
            tasks += [asyncio.create_task(ordered.run(stop)) for ordered in self._ordered]
            try:
                yield
            finally:
                stop.set()
                await asyncio.gather(*tasks)

    async def acknowledged(self, sends: int, *, seconds: float = 60) -> None:
        """Wait until so many sends have been acknowledged."""

        async def is_reached() -> bool:
            return self.acknowledged_sends >= sends

        await poll_until(is_reached, seconds=seconds, what=f"{sends} acknowledged sends")

    def received(self, group: str) -> int:
        """How many messages its consumers were given so far, before anybody judges."""
        return sum(each.group == group and each.consumer != JUDGE for each in self.history.of(Delivered))

    # --- producers ----------------------------------------------------------------------------------------------

    async def _produce_keyed(self, sender: str, stop: asyncio.Event) -> None:
        """Sends single messages and small batches, each again and again under its key until it is acknowledged."""
        for request in count():
            if stop.is_set():
                return
            bodies = self._bodies(sender, request, BATCH_MESSAGES if request % 4 == 3 else 1)
            while not await self._send(sender, request, bodies, f"{sender}-{request}") and not stop.is_set():
                await asyncio.sleep(RETRY_PAUSE_SECONDS)

    async def _produce_plain(self, sender: str, stop: asyncio.Event) -> None:
        """Sends each message once, every other request with a key, of which some have several messages: what was not
        acknowledged may be there or not."""
        for request in count():
            if stop.is_set():
                return
            key = f"{sender}/{request % KEYS_OF_A_SENDER}" if request % 2 else None
            bodies = self._bodies(sender, request, BATCH_MESSAGES if request % 4 == 3 else 1)
            if not await self._send(sender, request, bodies, None, key):
                await asyncio.sleep(RETRY_PAUSE_SECONDS)

    def _bodies(self, sender: str, request: int, messages: int) -> list[str]:
        return [
            json.dumps({"uid": f"{sender}-{request}-{index}", "padding": "x" * self._random.randrange(0, 400)})
            for index in range(messages)
        ]

    async def _send(
        self, sender: str, request: int, bodies: list[str], idempotency_key: str | None, key: str | None = None
    ) -> bool:
        """Whether the server acknowledged all of them. `key` is everyone's."""
        key_field = "" if key is None else f'"key":"{key}",'
        if len(bodies) == 1:
            content = f'{{"queue":"{self.topic}",{key_field}"body":{bodies[0]}}}'
        else:
            messages = ",".join(f'{{{key_field}"body":{body}}}' for body in bodies)
            content = f'{{"queue":"{self.topic}","messages":[{messages}]}}'
        headers = {} if idempotency_key is None else {"Idempotency-Key": idempotency_key}
        reply = await self.request("POST", "/messages", content, headers)
        assert reply.status in {0, 201, 207, 429, 500, 503, 504}, reply
        results = reply.document.get("results", [reply.document] * len(bodies))
        outcomes = []
        for index, (body, result) in enumerate(zip(bodies, results, strict=True)):
            outcome, code = reply.outcome(result)
            outcomes.append(outcome)
            place = parse_message_id(result["messageId"]) if outcome is Outcome.OK else None
            self.history.add(
                Sent(
                    began_ms=reply.began_ms,
                    ended_ms=reply.ended_ms,
                    sender=sender,
                    request=request,
                    index=index,
                    uid=json.loads(body)["uid"],
                    queue=self.topic,
                    body=body,
                    outcome=outcome,
                    code=code,
                    key=key,
                    dedup_id=None if idempotency_key is None else f"{idempotency_key}#{index}",
                    partition=-1 if place is None else place.partition,
                    offset=-1 if place is None else place.offset,
                    epoch=-1 if place is None else place.epoch,
                )
            )
        self.acknowledged_sends += outcomes.count(Outcome.OK)
        return all(outcome is Outcome.OK for outcome in outcomes)

    # --- consumers ----------------------------------------------------------------------------------------------

    async def _consume(self, consumer: str, stop: asyncio.Event) -> None:
        """Receives and mostly acks; now and then a message is given back, or its lease left to expire."""
        while not stop.is_set():
            messages = await self.receive(consumer, maximum=10)
            if messages is None:
                await asyncio.sleep(RETRY_PAUSE_SECONDS)
                continue
            fates = [self._random.random() for _ in messages]
            await self.settle("ack", [each for each, fate in zip(messages, fates, strict=True) if fate < 0.9])
            await self.settle("nack", [each for each, fate in zip(messages, fates, strict=True) if 0.9 <= fate < 0.97])

    async def receive(
        self, consumer: str, *, maximum: int, group: str = GROUP, mode: GroupMode = GroupMode.SHARED
    ) -> list[dict[str, Any]] | None:
        """None when it failed."""
        target = (
            f"/messages?queue={self.topic}&group={group}&consumer={consumer}&max={maximum}"
            f"&waitSeconds=1&visibilitySeconds={VISIBILITY_SECONDS}"
        )
        if mode is not GroupMode.SHARED:  # which earlier versions know by no name
            target += f"&mode={mode.value}"
        reply = await self.request("GET", target)
        assert reply.status in {0, 200, 429, 500, 503, 504}, reply
        if reply.status != 200:
            return None
        messages: list[dict[str, Any]] = reply.document["messages"]
        for message in messages:
            place, receipt = parse_message_id(message["messageId"]), parse_receipt(message["receipt"])
            assert place is not None
            assert receipt is not None
            self.history.add(
                Delivered(
                    began_ms=reply.began_ms,
                    ended_ms=reply.ended_ms,
                    group=group,
                    consumer=consumer,
                    queue=self.topic,
                    partition=place.partition,
                    offset=place.offset,
                    epoch=place.epoch,
                    uid=message["body"]["uid"],
                    body=text_of(message["body"]),
                    attempt=message["attempt"],
                    generation=receipt.generation,
                    leader_epoch=receipt.leader_epoch,
                    serial=receipt.attempt,
                    visibility_ms=VISIBILITY_SECONDS * 1000,
                )
            )
        return messages

    async def settle(self, action: str, messages: list[dict[str, Any]], *, group: str = GROUP) -> None:
        if not messages:
            return
        document: dict[str, object] = {"receipts": [message["receipt"] for message in messages]}
        if action == "nack":
            document["delaySeconds"] = 0
        reply = await self.request("POST", f"/{action}", json.dumps(document))
        assert reply.status in {0, 200, 207, 400, 409, 429, 500, 503, 504}, reply
        results = reply.document.get("results", [reply.document] * len(messages))
        for message, result in zip(messages, results, strict=True):
            receipt = parse_receipt(message["receipt"])
            assert receipt is not None
            outcome, code = reply.outcome(result)
            self.confirmed_acks += group == GROUP and action == "ack" and outcome is Outcome.OK
            self.history.add(
                Settled(
                    began_ms=reply.began_ms,
                    ended_ms=reply.ended_ms,
                    action=action,
                    group=group,
                    queue=self.topic,
                    partition=receipt.partition,
                    offset=receipt.offset,
                    generation=receipt.generation,
                    leader_epoch=receipt.leader_epoch,
                    attempt=message["attempt"],
                    serial=receipt.attempt,
                    outcome=outcome,
                    code=code,
                )
            )

    # --- judging ------------------------------------------------------------------------------------------------

    async def judge(self, *, drain_seconds: float = 60) -> list[str]:
        """Every fault that the server shows now, with all of its log read and consumed."""
        await asyncio.to_thread(self._read_log)
        faults = check_all(self.history, [AcknowledgedIsInTheLog()])
        if faults:
            return faults
        names = [GROUP, *(group.name for group in self._ordered_groups)]
        dead_letter_queues = {(name, self.topic): f"{self.topic}.{name}.dlq" for name in names}
        max_attempts = dict.fromkeys(names, MAX_ATTEMPTS_DEFAULT)
        is_done = EverythingIsDoneInTheEnd(dead_letter_queues=dead_letter_queues)
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=REQUEST_SECONDS)) as self._session:

            async def is_drained() -> bool:
                messages = await self.receive(JUDGE, maximum=1000)
                await self.settle("ack", messages or [])
                are_drained = [await ordered.drain() for ordered in self._ordered]
                return messages == [] and all(are_drained) and not is_done.check(self.history)

            try:
                await poll_until(is_drained, seconds=drain_seconds, what="every message acked")
            except AssertionError as error:
                return [str(error), *self._unjust_refusals(), *is_done.check(self.history)]
        faults = self._unjust_refusals()
        faults += [f"{group.name} was given nothing" for group in self._ordered_groups if not self.received(group.name)]
        return faults + check_all(
            self.history,
            [
                AcknowledgedIsInTheLog(),
                NothingAppearsByItself(),
                NothingTwice(dedup_window_ms=DEDUP_WINDOW_MS_DEFAULT),
                DuplicatesGetTheFirstAnswer(dedup_window_ms=DEDUP_WINDOW_MS_DEFAULT),
                SendersKeepTheirOrder(),
                LogNeverChanges(),
                LogHasNoGaps(),
                NothingAboveTheHighWatermark(),
                OneLeaseAtATime(ordered_groups=[group.name for group in self._ordered_groups]),
                StaleReceiptsAreRefused(max_attempts=max_attempts, dead_letter_queues=dead_letter_queues),
                AcknowledgedIsNeverDeliveredAgain(),
                AttemptsAreLimited(max_attempts=max_attempts),
                is_done,
                *checkers_of_order(
                    self._ordered_groups, max_attempts=max_attempts, dead_letter_queues=dead_letter_queues
                ),
            ],
        )

    def _unjust_refusals(self) -> list[str]:
        """Nobody here asks for anything wrong: a receipt that is called so was given out for what is lost."""
        return [
            f"{method} was answered {status} {code} {times} times"
            for (method, status, code), times in self.refusals.items()
            if status in {400, 404} or code == "INTERNAL"
        ]

    def _read_log(self) -> None:
        """All of the topic, through the API that shows the log as it is. Nothing may be sent meanwhile."""
        for partition in range(self._partitions):
            began_ms = time.monotonic() * 1000
            records: list[ReadRecord] = []
            offset, high_watermark = 0, 1
            while offset < high_watermark:
                target = f"/topics/{self.topic}/partitions/{partition}/records?offset={offset}"
                answer = self.server.request("GET", target)
                assert answer.status == 200, answer
                records += [read_record(record) for record in answer.document["records"]]
                assert answer.document["nextOffset"] > offset or not answer.document["highWatermark"], answer
                offset, high_watermark = answer.document["nextOffset"], answer.document["highWatermark"]
            self.history.add(
                LogRead(
                    began_ms=began_ms,
                    ended_ms=time.monotonic() * 1000,
                    reader="judge",
                    queue=self.topic,
                    partition=partition,
                    offset=0,
                    next_offset=offset,
                    log_start=answer.document["logStart"],
                    high_watermark=high_watermark,
                    records=records,
                    is_final=True,
                )
            )

    async def request(
        self, method: str, target: str, content: str | None = None, headers: dict[str, str] | None = None
    ) -> Reply:
        assert self._session is not None
        began_ms = time.monotonic() * 1000
        all_headers = {"Content-Type": "application/json", **(headers or {})}
        try:
            url = self.server.base_url + target
            async with self._session.request(method, url, data=content, headers=all_headers) as answer:
                document = await answer.json(content_type=None)
                if answer.status >= 400:
                    self.refusals[method, answer.status, document.get("code", "")] += 1
                return Reply(began_ms, time.monotonic() * 1000, answer.status, document)
        except LOST as error:
            self.refusals[method, 0, type(error).__name__] += 1
            return Reply(began_ms, time.monotonic() * 1000, 0, {})


def read_record(record: dict[str, Any]) -> ReadRecord:
    place = parse_message_id(record["messageId"])
    assert place is not None
    return ReadRecord(place.offset, place.epoch, record["body"]["uid"], text_of(record["body"]))


def text_of(body: object) -> str:
    """The JSON text that was received: all bodies are made by json.dumps, so that encoding them again gives it."""
    return json.dumps(body)
