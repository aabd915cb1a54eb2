"""Load on a real server: producers and consumers that go on through kills and restarts, and note what they are told."""

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp

from tests.integration.history import Delivery, History, LoggedMessage, Send, check_log, unconsumed_messages
from tests.support.server_process import ServerProcess
from tests.support.waiting import poll_until

REQUEST_SECONDS = 10
RETRY_PAUSE_SECONDS = 0.02
BATCH_MESSAGES = 5
FAILURES = (aiohttp.ClientError, TimeoutError, ConnectionError)


class Traffic:
    """Producers and consumers of one topic and group. They read the server's address anew for every request."""

    def __init__(
        self, server: ServerProcess, topic: str, *, partitions: int, group: str = "workers", seed: int = 1
    ) -> None:
        self.history = History()
        self.server = server
        self._topic = topic
        self._partitions = partitions
        self._group = group
        self._random = random.Random(seed)
        self._session: aiohttp.ClientSession | None = None

    def send_to_each_partition(self) -> None:
        """One message to each partition, so that all of them have begun."""
        for partition in range(self._partitions):
            send = self._new_send(f"first-{partition}", is_keyed=False)
            answer = self.server.send(self._topic, json.loads(send.body), partition=partition)
            send.place = (partition, answer["offset"])

    @asynccontextmanager
    async def running(self, *, producers: int, consumers: int) -> AsyncIterator[None]:
        """Load as long as the block runs. Half of the producers use idempotency keys and try again until they know."""
        stop = asyncio.Event()
        timeout = aiohttp.ClientTimeout(total=REQUEST_SECONDS)
        async with aiohttp.ClientSession(timeout=timeout) as self._session:
            tasks = [
                asyncio.create_task(
                    self._produce_keyed(number, stop) if number % 2 == 0 else self._produce_plain(number, stop)
                )
                for number in range(producers)
            ]
            tasks += [asyncio.create_task(self._consume(number, stop)) for number in range(consumers)]
            try:
                yield
            finally:
                stop.set()
                await asyncio.gather(*tasks)

    async def acknowledged(self, count: int, *, seconds: float = 60) -> None:
        """Wait until so many sends have been acknowledged."""

        async def is_reached() -> bool:
            return len(self.history.acknowledged_sends()) >= count

        await poll_until(is_reached, seconds=seconds, what=f"{count} acknowledged sends")

    async def _produce_keyed(self, number: int, stop: asyncio.Event) -> None:
        """Sends single messages and small batches, each again and again under its key until it is acknowledged."""
        for round_number in range(10**9):
            if stop.is_set():
                return
            count = BATCH_MESSAGES if round_number % 4 == 3 else 1
            sends = [self._new_send(f"k{number}-{round_number}-{index}", is_keyed=True) for index in range(count)]
            key = f"key-{number}-{round_number}"
            while not await self._try_send(sends, key) and not stop.is_set():
                await asyncio.sleep(RETRY_PAUSE_SECONDS)

    async def _produce_plain(self, number: int, stop: asyncio.Event) -> None:
        """Sends each message once: what was not acknowledged may be there or not."""
        for round_number in range(10**9):
            if stop.is_set():
                return
            if not await self._try_send([self._new_send(f"p{number}-{round_number}", is_keyed=False)], None):
                await asyncio.sleep(RETRY_PAUSE_SECONDS)

    def _new_send(self, name: str, *, is_keyed: bool) -> Send:
        padding = "x" * self._random.randrange(0, 400)
        send = Send(json.dumps({"name": name, "padding": padding}).encode(), is_keyed)
        self.history.sends.append(send)
        return send

    async def _try_send(self, sends: list[Send], key: str | None) -> bool:
        """Whether the server acknowledged all of them."""
        queue = json.dumps(self._topic).encode()
        if len(sends) == 1:
            content = b'{"queue":%b,"body":%b}' % (queue, sends[0].body)
        else:
            bodies = b",".join(b'{"body":%b}' % send.body for send in sends)
            content = b'{"queue":%b,"messages":[%b]}' % (queue, bodies)
        headers = {"Content-Type": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        answer = await self._request("POST", "/messages", content, headers)
        if answer is None:
            return False
        status, document = answer
        assert status in {201, 207, 429, 500, 503, 504}, (status, document)
        if status not in {201, 207}:
            return False
        results = document.get("results", [document])
        for send, result in zip(sends, results, strict=True):
            if "messageId" in result:
                place = (result["partition"], result["offset"])
                assert send.place in {None, place}, f"a retry of {send.body!r} is at {place}, not at {send.place}"
                send.place = place
        return status == 201

    async def _consume(self, number: int, stop: asyncio.Event) -> None:
        """Receives and mostly acks; now and then a message is given back, or its lease left to expire."""
        while not stop.is_set():
            messages = await self.receive(consumer=f"c{number}", wait_seconds=1, visibility_seconds=3)
            if messages is None:
                await asyncio.sleep(RETRY_PAUSE_SECONDS)
                continue
            fates = [self._random.random() for _ in messages]
            acked = [message for message, fate in zip(messages, fates, strict=True) if fate < 0.9]
            returned = [message for message, fate in zip(messages, fates, strict=True) if 0.9 <= fate < 0.97]
            if acked:
                await self.ack(acked)
            for message in returned:
                await self._post("/nack", {"receipt": message["receipt"], "delaySeconds": 0})

    async def receive(
        self, *, consumer: str, wait_seconds: int, visibility_seconds: int, maximum: int = 10
    ) -> list[dict[str, Any]] | None:
        """One receive, noted in the history; None when it failed."""
        asked_at = time.monotonic()
        target = (
            f"/messages?queue={self._topic}&group={self._group}&consumer={consumer}&max={maximum}"
            f"&waitSeconds={wait_seconds}&visibilitySeconds={visibility_seconds}"
        )
        answer = await self._request("GET", target, None, {})
        if answer is None:
            return None
        status, document = answer
        assert status in {200, 429, 500, 503, 504}, (status, document)
        if status != 200:
            return None
        messages: list[dict[str, Any]] = document["messages"]
        for message in messages:
            # The messages are made by json.dumps, so encoding what was decoded gives the bytes that were received.
            body = json.dumps(message["body"]).encode()
            self.history.deliveries.append(Delivery(_place_of(message), body, message["attempt"], asked_at))
        return messages

    async def ack(self, messages: list[dict[str, Any]]) -> None:
        self.history.ack_tried.update(_place_of(message) for message in messages)
        answer = await self._post("/ack", {"receipts": [message["receipt"] for message in messages]})
        if answer is None:
            return
        status, document = answer
        now = time.monotonic()
        if status == 200:
            done = messages
        elif status == 207:
            done = [
                message for message, result in zip(messages, document["results"], strict=True) if "code" not in result
            ]
        else:
            assert status in {409, 429, 500, 503, 504}, (status, document)
            done = []
        for message in done:
            self.history.acked_at.setdefault(_place_of(message), now)

    async def _drain(self, log: list[LoggedMessage], *, seconds: float = 60) -> None:
        """Receive and ack until nothing of the log is left unconsumed."""
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=REQUEST_SECONDS)) as self._session:

            async def is_drained() -> bool:
                messages = await self.receive(consumer="drain", wait_seconds=1, visibility_seconds=30, maximum=1000)
                if messages:
                    await self.ack(messages)
                return messages == [] and not unconsumed_messages(self.history, log)

            await poll_until(is_drained, seconds=seconds, what="every message acked")

    async def _post(self, target: str, document: object) -> tuple[int, dict[str, Any]] | None:
        content = json.dumps(document).encode()
        return await self._request("POST", target, content, {"Content-Type": "application/json"})

    async def _request(
        self, method: str, target: str, content: bytes | None, headers: dict[str, str]
    ) -> tuple[int, dict[str, Any]] | None:
        """Status and document of the answer; None when there was none."""
        assert self._session is not None
        try:
            url = self.server.base_url + target
            async with self._session.request(method, url, data=content, headers=headers) as answer:
                return answer.status, await answer.json(content_type=None)
        except FAILURES:
            return None

    async def judge(self, *, drain_seconds: float = 60) -> list[str]:
        """Every fault that the server shows now: its log compared with the history, and all of it consumed."""
        log = await asyncio.to_thread(self.read_log)
        faults = check_log(self.history, log)
        if not faults:
            await self._drain(log, seconds=drain_seconds)
            faults = check_log(self.history, await asyncio.to_thread(self.read_log))
        return faults

    def read_log(self) -> list[LoggedMessage]:
        """Every message of the topic, through the API that shows the log as it is."""
        log: list[LoggedMessage] = []
        for partition in range(self._partitions):
            offset = 0
            while True:
                target = f"/topics/{self._topic}/partitions/{partition}/records?offset={offset}"
                answer = self.server.request("GET", target)
                assert answer.status == 200, answer
                records = answer.document["records"]
                for record in records:
                    body = json.dumps(record["body"]).encode()
                    log.append(LoggedMessage((partition, record["offset"]), body))
                if not records:
                    break
                offset = answer.document["nextOffset"]
        return log


def _place_of(message: dict[str, Any]) -> tuple[int, int]:
    return message["partition"], message["offset"]
