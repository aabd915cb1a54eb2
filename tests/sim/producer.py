"""A client that sends over HTTP, and writes down what it asked and was told."""

import asyncio
import json
import random
from dataclasses import dataclass

from acklog.wire.identifiers import parse_message_id
from tests.sim.clients import LONGEST_WAIT_S, Surroundings, items_of, outcome_of
from tests.sim.filters import draw_marks
from tests.sim.history import Outcome, Sent
from tests.sim.http_client import ConnectionLostError
from tests.sim.queue_label import queue_label


@dataclass(frozen=True, slots=True)
class _Message:
    uid: str
    body: str
    key: str | None
    dedup_id: str | None
    tags: list[str]
    headers: dict[str, str]


class Producer:
    """Sends one request after the other; what failed or is unknown is sent again, or given up. A request with an
    idempotency key is sent again as it was."""

    def __init__(self, name: str, queue: str, around: Surroundings) -> None:
        self._name = name
        self._queue = queue
        self._around = around
        self._random = random.Random(f"{name} {around.options.seed}")
        self._acks_random = random.Random(f"acks of {name} {around.options.seed}")
        self._marks_random = random.Random(f"marks of {name} {around.options.seed}")
        self._messages = 0
        self._requests = 0

    async def run(self) -> None:
        options = self._around.options
        while not self._around.stopping and self._messages < options.messages_max:
            messages = [self._new_message() for _ in range(self._random.randint(1, options.batch_max))]
            request_key = f"{messages[0].uid}-on" if self._random.random() < options.request_key_probability else None
            await self._send_until_done(messages, request_key)
            await asyncio.sleep(self._random.expovariate(1 / options.producer_pause_ms) / 1000)

    def _new_message(self) -> _Message:
        options = self._around.options
        self._messages += 1
        uid = f"{self._name}-{self._messages}"
        body = json.dumps({"uid": uid, "pad": "x" * self._random.randint(0, options.body_bytes_max)})
        is_keyless = self._random.random() < options.keyless_probability
        key = None if is_keyless else f"key-{self._random.randrange(options.keys)}"
        dedup_id = f"dedup-{uid}" if self._random.random() < options.dedup_probability else None
        tags, headers = draw_marks(self._marks_random) if options.has_marks else ([], {})
        return _Message(uid, body, key, dedup_id, tags, headers)

    async def _send_until_done(self, messages: list[_Message], request_key: str | None) -> None:
        acks = self._acks_random.choice(self._around.options.acks)
        for _ in range(20):
            if self._around.stopping:
                return
            again = await self._send(messages, request_key, acks)
            if again and request_key is not None:
                again = messages
            if not again and self._random.random() < self._around.options.resend_probability:
                again = [message for message in messages if request_key is not None or message.dedup_id is not None]
                self._around.coverage["sent again on purpose"] += len(again)
            elif self._random.random() < 0.1:
                return
            if not again:
                return
            messages = again
            await asyncio.sleep(self._random.uniform(0, 0.5))

    async def _send(self, messages: list[_Message], request_key: str | None, acks: int | str) -> list[_Message]:
        """Returns what is not surely stored."""
        around = self._around
        http = around.http()
        if http is None:
            return messages
        self._requests += 1
        request = self._requests
        is_batch = len(messages) > 1 or self._random.random() < 0.2
        began_ms = around.now_ms()
        body = _send_body(self._queue, messages, is_batch, acks)
        leave_after_s = LONGEST_WAIT_S
        if self._random.random() < around.options.disconnect_probability:
            leave_after_s = self._random.uniform(0, 0.02)
        try:
            answer = await http.post("/messages", body, idempotency_key=request_key, leave_after_s=leave_after_s)
        except ConnectionLostError:
            around.coverage["sends without an answer"] += 1
            items = [{"code": "OUTCOME_UNKNOWN"} for _ in messages]
        else:
            items = items_of(answer, is_batch, len(messages))
        left = []
        for index, (message, item) in enumerate(zip(messages, items, strict=True)):
            code = around.code_of(item, f"a send of {message.uid}")
            outcome = outcome_of(code)
            if outcome is Outcome.OK and acks != "all":
                outcome = Outcome.UNKNOWN  # nobody has promised that it stays
                code = f"OK on {acks}"
            place = parse_message_id(item["messageId"]) if outcome is Outcome.OK else None
            around.history.add(
                Sent(
                    began_ms=began_ms,
                    ended_ms=around.now_ms(),
                    sender=self._name,
                    request=request,
                    index=index,
                    uid=message.uid,
                    queue=self._queue if place is None else queue_label(self._queue, place.topic_id),
                    body=message.body,
                    outcome=outcome,
                    code=code,
                    key=message.key,
                    tags=message.tags,
                    headers=message.headers,
                    dedup_id=_dedup_id(message, index, request_key),
                    partition=place.partition if place else -1,
                    offset=place.offset if place else -1,
                    epoch=place.epoch if place else -1,
                )
            )
            around.coverage[f"send {code or 'OK'}"] += 1
            around.coverage["sends under a request's key"] += request_key is not None and message.dedup_id is None
            if outcome is not Outcome.OK and code != f"OK on {acks}":
                left.append(message)
        return left


def _dedup_id(message: _Message, index: int, request_key: str | None) -> str | None:
    """What the message is known by: its own, or its place in its request."""
    if message.dedup_id is not None or request_key is None:
        return message.dedup_id
    return f"{request_key}#{index}"


def _send_body(queue: str, messages: list[_Message], is_batch: bool, acks: int | str) -> bytes:
    """Bodies go in as they are: what comes out must be the same, byte for byte."""
    parts = []
    for message in messages:
        fields = [f'"body":{message.body}']
        if message.key is not None:
            fields.append(f'"key":"{message.key}"')
        if message.dedup_id is not None:
            fields.append(f'"dedupId":"{message.dedup_id}"')
        if message.tags:
            fields.append(f'"tags":{json.dumps(message.tags)}')
        if message.headers:
            fields.append(f'"headers":{json.dumps(message.headers)}')
        parts.append(",".join(fields))
    head = "" if acks == "all" else f'"acks":{acks},'  # what nobody asks for is not said
    if not is_batch:
        return f'{{"queue":"{queue}",{head}{parts[0]}}}'.encode()
    joined = ",".join(f"{{{part}}}" for part in parts)
    return f'{{"queue":"{queue}",{head}"messages":[{joined}]}}'.encode()
