"""A server with a group that has an order, as far as a consumer can tell, in the loop's own time.

What comes back ends the leases behind it in its lane: a key of a key-ordered group, a partition of an exclusive one.
Whose partitions are whose is up to the test.
"""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

from acklog.client.call import Request, Response
from acklog.consumer.source import Mode
from acklog.errors import CannotConnect
from acklog.messages import Message
from tests.unit.sdk.fake_log import answer, problem

POLL_S = 0.005
TOPIC = "orders"


@dataclass(slots=True, eq=False)
class Stored:
    partition: int
    offset: int
    key: str | None
    attempt: int = 0
    leased_until_s: float = -1.0
    due_s: float = 0.0
    is_done: bool = False


@dataclass(slots=True)
class FakeMember:
    epoch: int
    assigned: list[int] = field(default_factory=list)


@dataclass(slots=True)
class FakeGroup:
    """`nack_delay_s` is the group's back-off. `acked` is in order."""

    stored: list[Stored]
    mode: Mode
    latency_s: float = 0.002
    session_timeout_ms: int = 15_000
    nack_delay_s: float = 0.5
    is_down: bool = False
    members: dict[str, FakeMember] = field(default_factory=dict)
    refusals: dict[str, str] = field(default_factory=dict)
    acked: list[tuple[int, int]] = field(default_factory=list)
    nacked: list[tuple[int, int]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    epoch: int = 0

    def assign(self, **partitions: list[int]) -> None:
        """Of each member that is named, from now on."""
        self.epoch += 1
        for name, assigned in partitions.items():
            member = self.members.setdefault(name, FakeMember(self.epoch))
            member.epoch, member.assigned = self.epoch, assigned

    def calls(self, method: str, start: str) -> list[Request]:
        return [each for each in self.requests if each.method == method and each.target.startswith(start)]

    async def perform(self, request: Request, *, timeout_s: float) -> Response:
        self.requests.append(request)
        await asyncio.sleep(self.latency_s)
        if self.is_down:
            raise CannotConnect("nobody listens")
        path = urlsplit(request.target).path
        if path.startswith("/groups/"):
            return await self._member_call(request, path.split("/"))
        response = await self._receive(request) if request.method == "GET" else self._settle(request)
        await asyncio.sleep(self.latency_s)
        return response

    async def close(self) -> None:
        pass

    # Members

    async def _member_call(self, request: Request, parts: list[str]) -> Response:
        if parts[3] == "offsets":
            return self._seek(json.loads(request.body))
        name = parts[4]
        if name in self.refusals:
            return problem(409, self.refusals[name], False)
        if request.method == "DELETE":
            self.left.append(name)
            self.members.pop(name, None)
            return answer(204, {})
        if request.method == "PUT":
            self.members.setdefault(name, FakeMember(self.epoch + 1))
            self.epoch = max(self.epoch, self.members[name].epoch)
            return self._assignment(name)
        document = json.loads(request.body)
        now_s = asyncio.get_running_loop().time
        deadline_s = now_s() + document.get("waitSeconds", 0)
        while name in self.members and self.members[name].epoch == document["memberEpoch"] and now_s() < deadline_s:
            if self.is_down:
                raise CannotConnect("it went away")
            await asyncio.sleep(POLL_S)
        if name not in self.members:
            return problem(404, "MEMBER_UNKNOWN", False)
        return self._assignment(name)

    def _assignment(self, name: str) -> Response:
        member = self.members[name]
        assigned = [{"topic": TOPIC, "partition": each, "ownership": member.epoch} for each in member.assigned]
        return answer(
            200,
            {
                "memberEpoch": member.epoch,
                "groupEpoch": self.epoch,
                "assignment": assigned,
                "sessionTimeoutMs": self.session_timeout_ms,
            },
        )

    # Messages

    def _seek(self, document: dict[str, Any]) -> Response:
        for each in self.stored:
            if each.partition == document["partition"]:
                each.is_done, each.leased_until_s, each.due_s = each.offset < document["to"]["offset"], -1.0, 0.0
        return answer(200, {"group": "g", "topic": TOPIC, "dryRun": False, "partitions": [], "failed": 0})

    def lane(self, each: "Stored | Message") -> object:
        if self.mode == "exclusive":
            return each.partition
        return (each.partition, each.key) if each.key is not None else id(each)

    async def _receive(self, request: Request) -> Response:
        query = parse_qs(urlsplit(request.target).query)
        assert query["mode"] == [self.mode]
        now_s = asyncio.get_running_loop().time
        deadline_s = now_s() + float(query.get("waitSeconds", ["0"])[0])
        while True:
            ready = self._ready(query, now_s())
            if ready or now_s() >= deadline_s or self.is_down:
                break
            await asyncio.sleep(POLL_S)
        messages = [
            self._lease(each, now_s() + float(query["visibilitySeconds"][0])) for each in ready[: int(query["max"][0])]
        ]
        return answer(200, {"messages": messages} if messages else {"messages": [], "reason": "EMPTY"})

    def _ready(self, query: dict[str, list[str]], now_s: float) -> list[Stored]:
        """In the order of the log; nothing behind what waits for its delay, nor behind a key's run that is out."""
        member = self.members.get(query.get("consumer", [""])[0])
        found: list[Stored] = []
        closed = set()
        for each in self.stored:
            lane = self.lane(each)
            is_mine = self.mode != "exclusive" or (member is not None and each.partition in member.assigned)
            if each.is_done or not is_mine or lane in closed:
                continue
            if each.leased_until_s > now_s:
                if self.mode == "keyOrdered":
                    closed.add(lane)
            elif each.due_s > now_s:
                closed.add(lane)
            else:
                found.append(each)
        return found

    def _lease(self, each: Stored, until_s: float) -> dict[str, Any]:
        each.attempt += 1
        each.leased_until_s = until_s
        return {
            "messageId": f"m-{each.partition}-{each.offset}",
            "receipt": f"r-{self.stored.index(each)}-{each.attempt}",
            "queue": TOPIC,
            "partition": each.partition,
            "offset": each.offset,
            "key": each.key,
            "attempt": each.attempt,
            "body": each.offset,
            "timestamp": 1,
            "appendTime": 1,
        }

    def _settle(self, request: Request) -> Response:
        document = json.loads(request.body)
        results = [self._settle_one(request.target, receipt, document) for receipt in document["receipts"]]
        failed = sum("code" in result for result in results)
        if failed == len(results):
            return problem(409, results[0]["code"], False, results=results, failed=failed)
        return answer(207 if failed else 200, {"results": results, "failed": failed})

    def _settle_one(self, action: str, receipt: str, document: dict[str, Any]) -> dict[str, Any]:
        now_s = asyncio.get_running_loop().time()
        _, index, attempt = receipt.split("-")
        each = self.stored[int(index)]
        if each.attempt != int(attempt) or each.leased_until_s < now_s or each.is_done:
            return {"code": "RECEIPT_STALE", "detail": "leased again", "retriable": False}
        if action == "/ack":
            each.is_done = True
            self.acked.append((each.partition, each.offset))
            return {"status": "acknowledged"}
        if action == "/nack":
            delay_s = document.get("delaySeconds")
            self.nacked.append((each.partition, each.offset))
            each.due_s = now_s + (self.nack_delay_s if delay_s is None else delay_s)
            for other in self.stored:
                if self.lane(other) == self.lane(each) and other.offset >= each.offset:
                    other.leased_until_s = -1.0
            return {"status": "returned"}
        each.leased_until_s = now_s + document["visibilitySeconds"]
        return {"status": "extended"}
