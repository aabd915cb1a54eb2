"""The simulation's clients: they send and receive over HTTP, and write down what they asked and were told."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from acklog.wire.identifiers import parse_message_id, parse_receipt
from tests.sim.asgi_client import Answer, AsgiClient, ConnectionLostError
from tests.sim.environment import MachineClock
from tests.sim.history import AutoAckedAnswerLost, Delivered, History, Outcome, Sent, Settled
from tests.sim.options import Options

UNKNOWN_CODES = frozenset({"OUTCOME_UNKNOWN", "INTERNAL", "TIMED_OUT", "STORAGE_FAILED", "SHUTTING_DOWN"})
# What a correct client may be told while faults go on; anything else is a bug of the server.
EXPECTED_CODES = UNKNOWN_CODES - {"INTERNAL"} | {
    "UNAVAILABLE",
    "OVERLOADED",
    "STORAGE_FULL",
    "RECEIPT_STALE",
    "NOT_DELIVERED",
    "DEDUP_WINDOW_FULL",
    "TOO_MANY_WAITING",
    "CONFLICT",
}
LONGEST_WAIT_S = 60.0


@dataclass(slots=True)
class Surroundings:
    """What all clients share. `http` gives the server's current address, None while it is down."""

    options: Options
    clock: MachineClock
    history: History
    coverage: Counter[str]
    http: Callable[[], AsgiClient | None]
    unexpected: list[str] = field(default_factory=list)
    stopping: bool = False
    calm: bool = False

    def now_ms(self) -> float:
        return float(self.clock.monotonic_ms())

    def code_of(self, item: dict[str, Any], what: str) -> str:
        code = str(item.get("code", ""))
        if code and code not in EXPECTED_CODES:
            self.unexpected.append(f"{what} was answered with {item}")
        return code


def outcome_of(code: str) -> Outcome:
    if not code:
        return Outcome.OK
    return Outcome.UNKNOWN if code in UNKNOWN_CODES else Outcome.FAILED


@dataclass(frozen=True, slots=True)
class _Message:
    uid: str
    body: str
    key: str | None
    dedup_id: str | None


class Producer:
    """Sends one request after the other; what failed or is unknown is sent again, or given up."""

    def __init__(self, name: str, queue: str, around: Surroundings) -> None:
        self._name = name
        self._queue = queue
        self._around = around
        self._random = random.Random(f"{name} {around.options.seed}")
        self._messages = 0
        self._requests = 0

    async def run(self) -> None:
        options = self._around.options
        while not self._around.stopping and self._messages < options.messages_max:
            messages = [self._new_message() for _ in range(self._random.randint(1, options.batch_max))]
            await self._send_until_done(messages)
            await asyncio.sleep(self._random.expovariate(1 / options.producer_pause_ms) / 1000)

    def _new_message(self) -> _Message:
        options = self._around.options
        self._messages += 1
        uid = f"{self._name}-{self._messages}"
        body = json.dumps({"uid": uid, "pad": "x" * self._random.randint(0, options.body_bytes_max)})
        is_keyless = self._random.random() < options.keyless_probability
        key = None if is_keyless else f"key-{self._random.randrange(options.keys)}"
        dedup_id = f"dedup-{uid}" if self._random.random() < options.dedup_probability else None
        return _Message(uid, body, key, dedup_id)

    async def _send_until_done(self, messages: list[_Message]) -> None:
        for _ in range(20):
            if self._around.stopping:
                return
            again = await self._send(messages)
            if not again and self._random.random() < self._around.options.resend_probability:
                again = [message for message in messages if message.dedup_id is not None]
                self._around.coverage["sent again on purpose"] += len(again)
            elif self._random.random() < 0.1:
                return
            if not again:
                return
            messages = again
            await asyncio.sleep(self._random.uniform(0, 0.5))

    async def _send(self, messages: list[_Message]) -> list[_Message]:
        """Returns what is not surely stored."""
        around = self._around
        http = around.http()
        if http is None:
            return messages
        self._requests += 1
        request = self._requests
        is_batch = len(messages) > 1 or self._random.random() < 0.2
        began_ms = around.now_ms()
        body = _send_body(self._queue, messages, is_batch)
        leave_after_s = LONGEST_WAIT_S
        if self._random.random() < around.options.disconnect_probability:
            leave_after_s = self._random.uniform(0, 0.02)
        try:
            answer = await http.post("/messages", body, leave_after_s=leave_after_s)
        except ConnectionLostError:
            around.coverage["sends without an answer"] += 1
            items = [{"code": "OUTCOME_UNKNOWN"} for _ in messages]
        else:
            items = _items_of(answer, is_batch, len(messages))
        left = []
        for index, (message, item) in enumerate(zip(messages, items, strict=True)):
            code = around.code_of(item, f"a send of {message.uid}")
            outcome = outcome_of(code)
            place = parse_message_id(item["messageId"]) if outcome is Outcome.OK else None
            around.history.add(
                Sent(
                    began_ms=began_ms,
                    ended_ms=around.now_ms(),
                    sender=self._name,
                    request=request,
                    index=index,
                    uid=message.uid,
                    queue=self._queue,
                    body=message.body,
                    outcome=outcome,
                    code=code,
                    key=message.key,
                    dedup_id=message.dedup_id,
                    partition=place.partition if place else -1,
                    offset=place.offset if place else -1,
                    epoch=place.epoch if place else -1,
                )
            )
            around.coverage[f"send {code or 'OK'}"] += 1
            if outcome is not Outcome.OK:
                left.append(message)
        return left


def _send_body(queue: str, messages: list[_Message], is_batch: bool) -> bytes:
    """Bodies go in as they are: what comes out must be the same, byte for byte."""
    parts = []
    for message in messages:
        fields = [f'"body":{message.body}']
        if message.key is not None:
            fields.append(f'"key":"{message.key}"')
        if message.dedup_id is not None:
            fields.append(f'"dedupId":"{message.dedup_id}"')
        parts.append(",".join(fields))
    if not is_batch:
        return f'{{"queue":"{queue}",{parts[0]}}}'.encode()
    joined = ",".join(f"{{{part}}}" for part in parts)
    return f'{{"queue":"{queue}","messages":[{joined}]}}'.encode()


def _items_of(answer: Answer, is_batch: bool, count: int) -> list[dict[str, Any]]:
    """The result of each item, also where the whole request failed."""
    document = answer.json
    if is_batch and "results" in document:
        return list(document["results"])
    return [document] * count


@dataclass(frozen=True, slots=True)
class _Leased:
    delivered: Delivered
    receipt: str


class Consumer:
    """Receives, and acknowledges, gives back, extends, forgets or is slow, as the dice fall. When `calm`, only
    acknowledges."""

    def __init__(self, name: str, group: str, queue: str, around: Surroundings) -> None:
        self._name = name
        self._group = group
        self._queue = queue
        self._around = around
        self._random = random.Random(f"{name} {around.options.seed}")

    async def run(self, until: Callable[[], bool]) -> None:
        while not until():
            leased = await self._receive()
            if leased:
                await self._handle(leased)
            else:
                await asyncio.sleep(self._random.uniform(0, 0.2))

    def _chance(self, probability: float) -> bool:
        return not self._around.calm and self._random.random() < probability

    # --- receive ---

    async def _receive(self) -> list[_Leased]:
        around, options = self._around, self._around.options
        http = around.http()
        if http is None:
            return []
        is_auto_acked = self._chance(options.auto_ack_probability)
        messages_max = self._random.randint(1, options.receive_max)
        query = {"queue": self._queue, "group": self._group, "consumer": self._name, "max": str(messages_max)}
        wait_ms = self._random.randint(0, options.wait_ms)
        if wait_ms:
            query["waitSeconds"] = str(wait_ms / 1000)
        visibility_ms = options.group_visibility_ms
        if options.visibility_ms and self._random.random() < 0.5 and not around.calm:
            visibility_ms = options.visibility_ms
            query["visibilitySeconds"] = str(visibility_ms / 1000)
        if is_auto_acked:
            query["autoAck"] = "true"
        began_ms = around.now_ms()
        is_leaving = self._chance(options.disconnect_probability)
        leave_after_s = self._random.uniform(0, wait_ms / 1000 + 0.01) if is_leaving else LONGEST_WAIT_S
        try:
            answer = await http.get("/messages", query, leave_after_s=leave_after_s)
        except ConnectionLostError:
            around.coverage["receives without an answer"] += 1
            if is_auto_acked:
                around.history.add(
                    AutoAckedAnswerLost(
                        began_ms=began_ms,
                        ended_ms=around.now_ms(),
                        group=self._group,
                        queue=self._queue,
                        messages_max=messages_max,
                    )
                )
            return []
        document = answer.json
        if answer.status != 200:
            code = around.code_of(document, "a receive")
            around.coverage[f"receive {code}"] += 1
            if is_auto_acked and outcome_of(code) is Outcome.UNKNOWN:
                around.history.add(
                    AutoAckedAnswerLost(
                        began_ms=began_ms,
                        ended_ms=around.now_ms(),
                        group=self._group,
                        queue=self._queue,
                        messages_max=messages_max,
                    )
                )
            return []
        if not document["messages"]:
            around.coverage[f"receive {document['reason']}"] += 1
        leased = [
            self._note_delivery(message, began_ms, visibility_ms, body, is_auto_acked)
            for message, body in zip(document["messages"], _raw_bodies(answer.body), strict=True)
        ]
        return [] if is_auto_acked else leased

    def _note_delivery(
        self, message: dict[str, Any], began_ms: float, visibility_ms: int, body: str, is_auto_acked: bool
    ) -> _Leased:
        place = parse_message_id(message["messageId"])
        receipt = parse_receipt(message.get("receipt", ""))
        assert place is not None
        assert (receipt is None) == is_auto_acked
        delivered = Delivered(
            began_ms=began_ms,
            ended_ms=self._around.now_ms(),
            group=self._group,
            consumer=self._name,
            queue=message["queue"],
            partition=place.partition,
            offset=place.offset,
            epoch=place.epoch,
            uid=message["body"]["uid"],
            body=body,
            attempt=message["attempt"],
            generation=receipt.generation if receipt else -1,
            leader_epoch=receipt.leader_epoch if receipt else -1,
            visibility_ms=visibility_ms,
            is_auto_acked=is_auto_acked,
        )
        self._around.history.add(delivered)
        self._around.coverage["deliveries"] += 1
        self._around.coverage["redeliveries"] += delivered.attempt > 1
        return _Leased(delivered, message.get("receipt", ""))

    # --- settle ---

    async def _handle(self, leased: list[_Leased]) -> None:
        options = self._around.options
        if self._chance(options.extend_probability):
            extension_ms = self._random.randint(100, 5_000)
            await self._settle("extend", leased, {"visibilitySeconds": extension_ms / 1000}, extension_ms)
        if self._chance(options.slow_probability):
            await asyncio.sleep(self._random.uniform(0, 2 * options.group_visibility_ms / 1000))
        kept, returned = [], []
        for each in leased:
            if self._chance(options.forget_probability):
                self._around.coverage["forgotten"] += 1
            elif self._chance(options.nack_probability):
                returned.append(each)
            else:
                kept.append(each)
        if returned:
            delay = {"delaySeconds": self._random.choice((0, 0.1, 1))} if self._random.random() < 0.7 else {}
            await self._settle("nack", returned, delay)
        if kept and await self._settle("ack", kept) and self._chance(0.1):
            await self._settle("ack", kept)  # again: it is idempotent
            self._around.coverage["acked twice on purpose"] += 1

    async def _settle(
        self, action: str, leased: list[_Leased], extra: dict[str, Any] | None = None, visibility_ms: int = 0
    ) -> bool:
        around = self._around
        http = around.http()
        if http is None:
            return False
        is_batch = len(leased) > 1 or self._random.random() < 0.2
        receipts = [each.receipt for each in leased]
        command = {"receipts": receipts} if is_batch else {"receipt": receipts[0]}
        began_ms = around.now_ms()
        body = json.dumps({**command, **(extra or {})}).encode()
        leave_after_s = LONGEST_WAIT_S
        if self._chance(around.options.disconnect_probability):
            leave_after_s = self._random.uniform(0, 0.02)
        try:
            answer = await http.post(f"/{action}", body, leave_after_s=leave_after_s)
        except ConnectionLostError:
            around.coverage[f"{action}s without an answer"] += 1
            items = [{"code": "OUTCOME_UNKNOWN"} for _ in leased]
        else:
            items = _items_of(answer, is_batch, len(leased))
        for each, item in zip(leased, items, strict=True):
            code = around.code_of(item, f"{action} of {each.receipt}")
            around.coverage[f"{action} {code or 'OK'}"] += 1
            delivered = each.delivered
            around.history.add(
                Settled(
                    began_ms=began_ms,
                    ended_ms=around.now_ms(),
                    action=action,
                    group=delivered.group,
                    queue=delivered.queue,
                    partition=delivered.partition,
                    offset=delivered.offset,
                    generation=delivered.generation,
                    leader_epoch=delivered.leader_epoch,
                    attempt=delivered.attempt,
                    outcome=outcome_of(code),
                    code=code,
                    visibility_ms=visibility_ms,
                )
            )
        return all(not item.get("code") for item in items)


def _raw_bodies(text: bytes) -> list[str]:
    """Each message's body as it stands in the answer, not parsed: `json` would lose how it was written."""
    bodies = []
    document = text.decode()
    decoder = json.JSONDecoder()
    at = document.find('"body":')
    while at >= 0:
        start = at + len('"body":')
        _, end = decoder.raw_decode(document, start)
        bodies.append(document[start:end])
        at = document.find('"body":', end)
    return bodies
