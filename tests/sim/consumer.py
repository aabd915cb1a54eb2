"""A client that receives and settles over HTTP, and writes down what it asked and was told."""

import asyncio
import json
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from acklog.wire.identifiers import parse_message_id, parse_receipt
from cluster.model.values import GroupMode
from tests.sim.clients import LONGEST_WAIT_S, Surroundings, items_of, outcome_of
from tests.sim.explicit_member import ExplicitMember
from tests.sim.filters import FILTERS, NO_FILTER
from tests.sim.history import AutoAckedAnswerLost, Delivered, MemberAsked, Outcome, Settled
from tests.sim.http_client import ConnectionLostError
from tests.sim.queue_label import queue_label


@dataclass(frozen=True, slots=True)
class _Leased:
    delivered: Delivered
    receipt: str


@dataclass(frozen=True, slots=True)
class Life:
    """What becomes of a consumer, in the clients' milliseconds: it dies, amid whatever it does, and before that it may
    stand still once, with all that it has in hand."""

    dies_ms: float = math.inf
    stands_still_ms: float = math.inf
    still_for_ms: float = 0.0


class Consumer:
    """Receives, and acknowledges, gives back, extends, forgets or is slow, as the dice fall. When `calm`, only
    acknowledges."""

    def __init__(
        self,
        name: str,
        group: str,
        queue: str,
        around: Surroundings,
        *,
        mode: GroupMode = GroupMode.SHARED,
        life: Life = Life(),
        member: ExplicitMember | None = None,
    ) -> None:
        """`member`: what it receives as, by calls of its own."""
        self._name = name
        self._group = group
        self._queue = queue
        self._around = around
        self._mode = mode
        self._life = life
        self._member = member
        self._is_still_to_come = life.stands_still_ms < math.inf
        self._random = random.Random(f"{name} {around.options.seed}")
        self._filter_random = random.Random(f"filters of {name} {around.options.seed}")

    async def run(self, until: Callable[[], bool]) -> None:
        while not until() and not self.is_dead:
            leased = await self._receive()
            if leased:
                await self._handle(leased)
            else:
                await asyncio.sleep(self._random.uniform(0, 0.2))

    @property
    def is_dead(self) -> bool:
        return self._around.now_ms() >= self._life.dies_ms

    def _patience_s(self, patience_s: float) -> float:
        """It waits for nothing beyond its death."""
        return max(0.0, min(patience_s, (self._life.dies_ms - self._around.now_ms()) / 1000))

    def _chance(self, probability: float) -> bool:
        return not self._around.calm and self._random.random() < probability

    # --- receive ---

    async def _receive(self) -> list[_Leased]:
        around, options = self._around, self._around.options
        http = around.http()
        if http is None or (self._member is not None and not self._member.epoch):
            return []
        is_auto_acked = self._chance(options.auto_ack_probability)
        messages_max = self._random.randint(1, options.receive_max)
        query = {"queue": self._queue, "group": self._group, "consumer": self._name, "max": str(messages_max)}
        wait_ms = self._random.randint(0, options.wait_ms)
        if self._mode is not GroupMode.SHARED:
            query["mode"] = self._mode.value
        if self._member is not None:
            query["memberEpoch"] = str(self._member.epoch)
        if wait_ms:
            query["waitSeconds"] = str(wait_ms / 1000)
        visibility_ms = options.group_visibility_ms
        if options.visibility_ms and self._random.random() < 0.5 and not around.calm:
            visibility_ms = options.visibility_ms
            query["visibilitySeconds"] = str(visibility_ms / 1000)
        if is_auto_acked:
            query["autoAck"] = "true"
        text = self._own_filter()
        if text:
            query["filter"] = text
        began_ms = around.now_ms()
        is_leaving = self._chance(options.disconnect_probability)
        leave_after_s = self._random.uniform(0, wait_ms / 1000 + 0.01) if is_leaving else LONGEST_WAIT_S
        try:
            answer = await http.get("/messages", query, leave_after_s=self._patience_s(leave_after_s))
        except ConnectionLostError:
            around.coverage["receives without an answer"] += 1
            self._note_asked(began_ms, Outcome.UNKNOWN)
            if is_auto_acked:
                self._note_lost(began_ms, messages_max)
            return []
        document = answer.json
        if answer.status != 200:
            code = around.code_of(document, "a receive")
            around.coverage[f"receive {code}"] += 1
            if self._member is not None:
                self._member.hear_refusal(code)
            self._note_asked(began_ms, Outcome.UNKNOWN)
            if is_auto_acked and outcome_of(code) is Outcome.UNKNOWN:
                self._note_lost(began_ms, messages_max)
            return []
        self._note_asked(began_ms, Outcome.OK)
        if not document["messages"]:
            around.coverage[f"receive {document['reason']}"] += 1
        leased = [
            self._note_delivery(message, began_ms, visibility_ms, body, is_auto_acked, text)
            for message, body in zip(document["messages"], raw_bodies(answer.body), strict=True)
        ]
        return [] if is_auto_acked else leased

    def _own_filter(self) -> str:
        """What this receive wants of what its group wants. In the end somebody has to take the rest."""
        if self._mode is not GroupMode.SHARED or self._around.calm:
            return NO_FILTER
        if self._filter_random.random() >= self._around.options.call_filter_probability:
            return NO_FILTER
        self._around.coverage["receives with a filter"] += 1
        return self._filter_random.choice(FILTERS)

    def _note_asked(self, began_ms: float, outcome: Outcome) -> None:
        if self._mode is GroupMode.EXCLUSIVE:
            now_ms = self._around.now_ms()
            asked = MemberAsked(
                began_ms=began_ms, ended_ms=now_ms, group=self._group, member=self._name, outcome=outcome
            )
            self._around.history.add(asked)

    def _note_lost(self, began_ms: float, messages_max: int) -> None:
        self._around.history.add(
            AutoAckedAnswerLost(
                began_ms=began_ms,
                ended_ms=self._around.now_ms(),
                group=self._group,
                queue=self._queue,
                messages_max=messages_max,
            )
        )

    def _note_delivery(
        self, message: dict[str, Any], began_ms: float, visibility_ms: int, body: str, is_auto_acked: bool, text: str
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
            queue=queue_label(message["queue"], place.topic_id),
            partition=place.partition,
            offset=place.offset,
            epoch=place.epoch,
            uid=message["body"]["uid"],
            body=body,
            attempt=message["attempt"],
            generation=receipt.generation if receipt else -1,
            leader_epoch=receipt.leader_epoch if receipt else -1,
            serial=receipt.attempt if receipt else -1,
            visibility_ms=visibility_ms,
            is_auto_acked=is_auto_acked,
            filter=text,
        )
        self._around.history.add(delivered)
        self._around.coverage["deliveries"] += 1
        self._around.coverage["redeliveries"] += delivered.attempt > 1
        return _Leased(delivered, message.get("receipt", ""))

    # --- settle ---

    async def _handle(self, leased: list[_Leased]) -> None:
        options = self._around.options
        if self._is_still_to_come and self._around.now_ms() >= self._life.stands_still_ms:
            self._is_still_to_come = False
            await asyncio.sleep(self._patience_s(self._life.still_for_ms / 1000))
        if self._chance(options.extend_probability):
            extension_ms = self._random.randint(100, 5_000)
            await self._settle("extend", leased, {"visibilitySeconds": extension_ms / 1000}, extension_ms)
        if self._chance(options.slow_probability):
            await asyncio.sleep(self._patience_s(self._random.uniform(0, 2 * options.group_visibility_ms / 1000)))
        if self.is_dead:
            return
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
        if http is None or self.is_dead:
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
            answer = await http.post(f"/{action}", body, leave_after_s=self._patience_s(leave_after_s))
        except ConnectionLostError:
            around.coverage[f"{action}s without an answer"] += 1
            items = [{"code": "OUTCOME_UNKNOWN"} for _ in leased]
        else:
            items = items_of(answer, is_batch, len(leased))
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
                    serial=delivered.serial,
                    outcome=outcome_of(code),
                    code=code,
                    visibility_ms=visibility_ms,
                )
            )
        return all(not item.get("code") for item in items)


def raw_bodies(text: bytes) -> list[str]:
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
