"""A topic that is deleted from while things go wrong, by hand and, in a part of the seeds, as its group has done it.

What was deleted by an answer's word stays so, whoever leads: nobody is given it by a receive or a read that begins
later. What was not is there, and its group gets it. `untilAcked` deletes nothing that the group has not done.
"""

import asyncio
import random
from collections import defaultdict
from typing import Any

from msgspec.structs import replace

from acklog.wire.identifiers import parse_message_id
from cluster.catalog.topic_admin import TopicAdmin
from cluster.model.values import RetentionMode, TopicConfig
from tests.sim.clients import Surroundings, outcome_of
from tests.sim.cluster.administrator import Administrator
from tests.sim.cluster.machines import Surrounding
from tests.sim.history import Outcome
from tests.sim.http_client import Answer
from tests.sim.options import Fault, Options
from tests.sim.queue_label import TRIMMED

GROUP = "trimmed-group"
ATTEMPTS_MAX = 100
DELETION_PROBABILITY = 0.3
TIME_PROBABILITY = 0.2
VISIBILITY_S = 1
EVERYTHING = 1 << 60
CALM_MS_MAX = 60_000
"""Longer than it takes to give a group all that is left."""
_PARTITIONS = f"/topics/{TRIMMED}/partitions"


async def create_trimmed(topics: TopicAdmin, options: Options, others: TopicConfig) -> None:
    """Where a run has one. Segments are small, so that files go; else it is as `others`."""
    if not options.has_trims:
        return
    segment_bytes, retention = _settings(options)
    config = replace(others, segment_bytes=segment_bytes, retention=retention)
    await topics.create(
        TRIMMED, partitions=_partitions(options), config=config, replication_factor=options.replication_factor
    )


def _settings(options: Options) -> tuple[int, RetentionMode]:
    """Bytes of a segment, and what is kept."""
    rng = random.Random(f"trimmed settings {options.seed}")
    return rng.choice((300, 1_000)), rng.choice(list(RetentionMode))


def _partitions(options: Options) -> int:
    return random.Random(f"trimmed partitions {options.seed}").randint(1, 2)


class TrimmedTopic:
    """`violations` is complete once `run` has returned."""

    def __init__(self, machines: Surrounding, clients: Surroundings, administrator: Administrator) -> None:
        self.violations: list[str] = []
        self._around = clients
        self._options = machines.options
        self._coverage = machines.coverage
        self._administrator = administrator
        self._random = random.Random(f"trimmed topic {machines.options.seed}")
        self._partitions = _partitions(machines.options)
        _, self._retention = _settings(machines.options)
        self._sent = 0
        self._acknowledged: dict[tuple[int, int], int] = {}
        """The number of each message, by its place."""
        self._delivered: set[tuple[int, int]] = set()
        self._gone: dict[int, int] = defaultdict(int)
        """Below it everything is deleted, as an answer said."""
        self._may_be_gone: dict[int, int] = defaultdict(int)
        """And as no answer denied."""

    async def run(self) -> None:
        """Returns once all is calm and the group has got what is left, or that is a violation."""
        await self._until_done("PUT", f"/groups/{GROUP}", {"settings": {"maxAttempts": ATTEMPTS_MAX}})
        end_ms = self._around.now_ms() + self._options.duration_ms
        while self._around.now_ms() < end_ms and not self._around.calm:
            await self._send(self._random.randint(0, 4))
            await self._receive()
            if self._random.random() < DELETION_PROBABILITY:
                await self._delete()
            await self._read(self._random.randrange(self._partitions))
            await asyncio.sleep(self._random.uniform(0.05, 1.0))
        while not self._around.calm:
            await self._administrator.pause()
        await self._receive_the_rest()
        await self._judge()

    # --- doing -------------------------------------------------------------------------------------------------------

    async def _send(self, count: int) -> None:
        """Each once: what is unknown stays so."""
        for _ in range(count):
            number, self._sent = self._sent, self._sent + 1
            partition = self._random.randrange(self._partitions)
            message = {"queue": TRIMMED, "partition": partition, "body": number}
            answer = await self._administrator.ask("POST", "/messages", message)
            if answer is not None and outcome_of(self._code(answer)) is Outcome.OK:
                self._acknowledged[self._place(answer.json)] = number

    async def _receive(self) -> bool:
        """Whether something came."""
        gone = dict(self._gone)
        query = f"queue={TRIMMED}&group={GROUP}&max=3&visibilitySeconds={VISIBILITY_S}&waitSeconds=0.2"
        answer = await self._administrator.ask("GET", f"/messages?{query}")
        if answer is None or self._code(answer):
            return True
        for message in answer.json["messages"]:
            place = self._place(message)
            self._see("received", place, message["body"], gone)
            self._delivered.add(place)
            await self._administrator.ask("POST", "/ack", {"receipt": message["receipt"]})
        return bool(answer.json["messages"])

    async def _delete(self) -> None:
        """All, or what is before some message that is known, or was appended before some time."""
        ends = {partition: offset + 1 for partition, offset in sorted(self._acknowledged)}
        if self._random.random() < TIME_PROBABILITY:
            path, wish = "delete-before", {"time": self._around.clock.wall_ms() - self._random.randint(0, 5_000)}
            targets = dict.fromkeys(range(self._partitions), EVERYTHING)
        elif self._random.random() < 0.3 or not ends:
            path, wish, targets = "purge", {}, dict.fromkeys(range(self._partitions), EVERYTHING)
        else:
            partition = self._random.choice(sorted(ends))
            offset = self._random.randint(0, ends[partition])
            path, wish = "delete-before", {"offsets": [{"partition": partition, "offset": offset}]}
            targets = {partition: offset}
        answer = await self._administrator.ask("POST", f"/topics/{TRIMMED}/{path}", wish)
        code = "OUTCOME_UNKNOWN" if answer is None else self._code(answer)
        items = [] if answer is None or code else answer.json["partitions"]
        self._coverage[f"deletions from a topic {code or 'OK'}"] += 1
        for partition, target in targets.items():
            item = next((each for each in items if each["partition"] == partition), {"problem": {"code": code}})
            if "problem" not in item:
                start = item["logStart"]
                # Meanwhile the group may have done what retention removes then, and a deletion of which nobody knows
                # the outcome may have come about.
                others_reach = (
                    EVERYTHING if self._retention is RetentionMode.UNTIL_ACKED else self._may_be_gone[partition]
                )
                if start > max(target, item["previous"], others_reach):
                    self.violations.append(f"{TRIMMED}/{partition} was to begin at {target}, and begins at {start}")
                self._gone[partition] = max(self._gone[partition], start)
                self._may_be_gone[partition] = max(self._may_be_gone[partition], start)
            elif outcome_of(item["problem"]["code"]) is Outcome.UNKNOWN:
                self._may_be_gone[partition] = max(self._may_be_gone[partition], target)

    async def _read(self, partition: int) -> None:
        """From the beginning, as anybody who has not heard of anything."""
        gone = dict(self._gone)
        described = await self._administrator.ask("GET", f"{_PARTITIONS}/{partition}")
        if described is None or self._code(described) or described.json["logStart"] is None:
            return
        start = described.json["logStart"]
        if start < gone.get(partition, 0):
            self.violations.append(f"{TRIMMED}/{partition} begins at {start}, deleted was up to {gone[partition]}")
        page = await self._administrator.ask("GET", f"{_PARTITIONS}/{partition}/records?offset={start}")
        if page is not None and page.status == 200:
            for record in page.json["records"]:
                self._see("read", self._place(record), record["body"], gone)

    def _see(self, how: str, place: tuple[int, int], number: Any, gone: dict[int, int]) -> None:
        partition, offset = place
        if offset < gone.get(partition, 0):
            self.violations.append(f"{TRIMMED}{place} was {how}, deleted was up to {gone[partition]}")
        if self._acknowledged.get(place, number) != number:
            self.violations.append(f"{TRIMMED}{place} was {how} as {number}, it is {self._acknowledged[place]}")

    async def _receive_the_rest(self) -> None:
        """All is well now: whatever somebody had, or was to have, comes again."""
        until_ms = self._around.now_ms() + CALM_MS_MAX
        for _ in range(2):
            await asyncio.sleep(2 * VISIBILITY_S)
            while await self._receive() and self._around.now_ms() < until_ms:
                await self._administrator.pause()

    # --- judging -----------------------------------------------------------------------------------------------------

    async def _judge(self) -> None:
        if Fault.BIT_ROT in self._options.faults:
            return  # what is damaged for a while comes late
        self._coverage["messages deleted before the group had them"] += sum(
            place not in self._delivered for place in self._acknowledged
        )
        self.violations += [
            f"{TRIMMED}{place} was acknowledged, never deleted, and its group never got it"
            for place in self._acknowledged
            if place not in self._delivered and place[1] >= self._may_be_gone[place[0]]
        ]
        for partition in range(self._partitions):
            await self._read(partition)

    async def _until_done(self, method: str, path: str, document: dict[str, Any]) -> None:
        while True:
            answer = await self._administrator.ask(method, path, document)
            if answer is not None and not self._code(answer):
                return
            await self._administrator.pause()

    def _code(self, answer: Answer) -> str:
        code = "" if answer.status < 300 else str(answer.json["code"])
        if code == "INTERNAL":
            self.violations.append(f"about {TRIMMED}: {answer.json}")
        return code

    @staticmethod
    def _place(view: dict[str, Any]) -> tuple[int, int]:
        place = parse_message_id(view["messageId"])
        assert place is not None
        return place.partition, place.offset
