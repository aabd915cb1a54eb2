"""Delayed messages with keys, in a topic that grows between their sending and their time, read by a key-ordered group.

Some are sent at once, most for later; a few are cancelled. While things go wrong the topic gets more partitions, and
its keys go elsewhere. Each message comes to the group at one place only, whichever partition it waited in; a message
whose key is out in one partition is not given out in another; nothing stands behind the beginning of a mapping that an
earlier one has put there; and by its name each is found where it went.
"""

import asyncio
import random
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Any, NamedTuple

from msgspec.structs import replace

from acklog.wire.identifiers import parse_message_id
from acklog.wire.partition_mapping import partition_of_hash
from acklog.wire.partitioner import hash_of_key
from cluster.model.mapping_starts import keeps_order, mapping_at
from cluster.model.values import Topic
from tests.sim.clients import Surroundings, outcome_of
from tests.sim.cluster.administrator import Administrator
from tests.sim.cluster.hardware import Hardware
from tests.sim.cluster.machines import Surrounding
from tests.sim.cluster.store_observer import StoreObserver
from tests.sim.history import Outcome
from tests.sim.http_client import Answer
from tests.sim.options import Fault
from tests.sim.queue_label import MOVING

GROUP = "moving-group"
ATTEMPTS_MAX = 100
KEYS = 5
SENDERS = 3
CONSUMERS = 3
DELAYS_S = (0.3, 1.0, 2.5, 5.0)
AT_ONCE_PROBABILITY = 0.3
CANCEL_PROBABILITY = 0.08
VISIBILITY_S = 20
CALM_MS_MAX = 90_000
"""Longer than it takes until all that is left was due and is given out."""
CLOCKS_APART_MS_MAX = 10_000


class Place(NamedTuple):
    partition: int
    offset: int


@dataclass(slots=True)
class _Sent:
    """`is_cancelled` None: nobody knows."""

    uid: str
    key: str
    outcome: Outcome
    schedule_id: str | None = None
    is_cancelled: bool | None = False


@dataclass(slots=True)
class _Given:
    """A message at a place: between these times it was first given out. `done_ms`: when somebody first said that it is
    done, who was not told otherwise."""

    uid: str
    key: str
    began_ms: float
    ended_ms: float
    done_ms: float = float("inf")


class MovingTopic:
    """`violations` is complete once `run` has returned."""

    def __init__(self, machines: Surrounding, clients: Surroundings, hardware: Hardware, store: StoreObserver) -> None:
        self.violations: list[str] = []
        self._around = clients
        self._options = machines.options
        self._coverage = machines.coverage
        self._store = store
        self._random = random.Random(f"moving {machines.options.seed}")
        # Its own, so that nobody else's choices depend on it.
        self._administrator = Administrator(hardware, Counter(), machines.options.seed)
        self._partitions = self._random.randint(1, 2)
        self._sent: list[_Sent] = []
        self._given: dict[Place, _Given] = {}
        # What rots on the only disk says nothing any more; elsewhere it comes back from the others.
        self._is_judged = Fault.BIT_ROT not in self._options.faults or self._options.replication_factor > 1

    async def run(self) -> None:
        """Returns once all is calm and the group has got everything, or that is a violation."""
        await self._until_done(
            "PUT",
            f"/topics/{MOVING}",
            {
                "partitions": self._partitions,
                "replicationFactor": self._options.replication_factor,
                "config": {
                    "minInsyncReplicas": self._options.min_insync_replicas,
                    "maxReplicaLagMs": self._options.max_replica_lag_ms,
                },
            },
        )
        settings = {"maxAttempts": ATTEMPTS_MAX}
        await self._until_done("PUT", f"/groups/{GROUP}", {"mode": "keyOrdered", "settings": settings})
        consuming = [asyncio.get_running_loop().create_task(self._consume(number)) for number in range(CONSUMERS)]
        await asyncio.gather(self._grow(), *(self._send_some(number) for number in range(SENDERS)))
        while not self._around.calm:
            await self._administrator.pause()
        await self._go_on()
        await self._wait_for_the_rest()
        for task in consuming:
            task.cancel()
        await asyncio.gather(*consuming, return_exceptions=True)
        if self._is_judged:
            self._judge()
            await self._look_at_all()

    # --- doing -------------------------------------------------------------------------------------------------------

    async def _send_some(self, sender: int) -> None:
        """Its share of them, most before the topic has grown for the last time."""
        rng = random.Random(f"moving sender {sender} {self._options.seed}")
        count = self._options.moving // SENDERS
        pause_s = self._options.duration_ms / 1000 / count
        for number in range(count):
            if self._around.calm:
                return
            delay_s = 0.0 if rng.random() < AT_ONCE_PROBABILITY else rng.choice(DELAYS_S)
            sent = await self._send(f"moving-{sender}-{number}", f"key-{rng.randrange(KEYS)}", delay_s)
            if sent.schedule_id is not None and rng.random() < CANCEL_PROBABILITY:
                await self._cancel(sent)
            await asyncio.sleep(rng.uniform(0, pause_s))

    async def _send(self, uid: str, key: str, delay_s: float) -> _Sent:
        """Once: what is unknown stays so."""
        sent = _Sent(uid, key, Outcome.UNKNOWN)
        message: dict[str, Any] = {"queue": MOVING, "key": key, "body": uid}
        if delay_s:
            message["delaySeconds"] = delay_s
        self._sent.append(sent)
        answer = await self._administrator.ask("POST", "/messages", message)
        if answer is not None:
            sent.outcome = outcome_of(self._code(answer))
            if sent.outcome is Outcome.OK and delay_s:
                sent.schedule_id = answer.json["scheduleId"]
        return sent

    async def _go_on(self) -> None:
        """All is well now: once more, with nothing in the way."""
        for number in range(KEYS):
            await self._send(f"moving-last-{number}", f"key-{number}", 2.0)
        there = await self._until_done("GET", f"/topics/{MOVING}")  # a fault may have grown it, too
        self._partitions = there["partitions"] + 1
        await self._until_done("PATCH", f"/topics/{MOVING}", {"partitions": self._partitions})
        for number in range(KEYS):
            await self._send(f"moving-behind-{number}", f"key-{number}", 0.0)

    async def _cancel(self, sent: _Sent) -> None:
        sent.is_cancelled = None
        answer = await self._administrator.ask("DELETE", f"/topics/{MOVING}/scheduled/{sent.schedule_id}")
        if answer is None:
            return
        code = self._code(answer)
        if not code:
            sent.is_cancelled = True
        elif outcome_of(code) is Outcome.FAILED:
            sent.is_cancelled = False
        self._coverage["moving cancels"] += not code

    async def _grow(self) -> None:
        for _ in range(self._random.randint(1, 3)):
            await asyncio.sleep(self._random.uniform(0.2, 0.4) * self._options.duration_ms / 1000)
            if self._around.calm:
                return
            self._partitions += self._random.randint(1, 2)
            answer = await self._administrator.ask("PATCH", f"/topics/{MOVING}", {"partitions": self._partitions})
            self._coverage["moving topics grown"] += answer is not None and answer.status == 200

    async def _consume(self, number: int) -> None:
        """Until it is cancelled."""
        rng = random.Random(f"moving consumer {number} {self._options.seed}")
        query = f"queue={MOVING}&group={GROUP}&mode=keyOrdered&max=2&visibilitySeconds={VISIBILITY_S}&waitSeconds=1"
        while True:
            began_ms = self._around.now_ms()
            answer = await self._administrator.ask("GET", f"/messages?{query}")
            if answer is None or self._code(answer):
                await asyncio.sleep(rng.uniform(0.1, 0.5))
                continue
            messages = answer.json["messages"]
            for message in messages:
                self._note(message, began_ms)
            pause_s = 0.02 if self._around.calm else rng.choice((0.02, 0.1, 0.6))
            await asyncio.sleep(rng.uniform(0, 2 * pause_s))
            for message in messages:
                await self._ack(message)

    def _note(self, message: dict[str, Any], began_ms: float) -> None:
        place = self._place(message)
        self._coverage["moving deliveries"] += 1
        if place not in self._given:
            self._given[place] = _Given(message["body"], message["key"], began_ms, self._around.now_ms())
        elif self._given[place].uid != message["body"]:
            self.violations.append(f"{MOVING} {place} is {message['body']}, and was {self._given[place].uid}")

    async def _ack(self, message: dict[str, Any]) -> None:
        given, began_ms = self._given[self._place(message)], self._around.now_ms()
        answer = await self._administrator.ask("POST", "/ack", {"receipt": message["receipt"]})
        if answer is None or outcome_of(self._code(answer)) is not Outcome.FAILED:
            given.done_ms = min(given.done_ms, began_ms)

    async def _wait_for_the_rest(self) -> None:
        """All that has to come."""
        deadline_ms = self._around.now_ms() + CALM_MS_MAX
        while missing := self._missing():
            if self._around.now_ms() > deadline_ms:
                # By a leader's clock that is behind, what is to be seen later may be far away still.
                is_near = self._options.clock_skew_ms <= CLOCKS_APART_MS_MAX
                if self._is_judged and is_near:
                    self.violations.append(f"{MOVING}: never came {missing}")
                return
            await asyncio.sleep(1)
        await asyncio.sleep(8)  # what comes twice comes now

    def _missing(self) -> list[str]:
        given = {each.uid for each in self._given.values()}
        due = (each for each in self._sent if each.outcome is Outcome.OK and each.is_cancelled is False)
        return [each.uid for each in due if each.uid not in given]

    async def _until_done(self, method: str, path: str, document: dict[str, Any] | None = None) -> dict[str, Any]:
        while True:
            answer = await self._administrator.ask(method, path, document)
            if answer is not None and not self._code(answer):
                found: dict[str, Any] = answer.json
                return found
            await self._administrator.pause()

    def _code(self, answer: Answer) -> str:
        code = "" if answer.status < 300 else str(answer.json["code"])
        if code == "INTERNAL":
            self.violations.append(f"about {MOVING}: {answer.json}")
        return code

    @staticmethod
    def _place(message: dict[str, Any]) -> Place:
        found = parse_message_id(message["messageId"])
        assert found is not None
        return Place(found.partition, found.offset)

    # --- judging -----------------------------------------------------------------------------------------------------

    def _judge(self) -> None:
        places: dict[str, list[Place]] = defaultdict(list)
        for place, given in self._given.items():
            places[given.uid].append(place)
        self.violations += [f"{MOVING}: {uid} is at {found}" for uid, found in places.items() if len(found) > 1]
        for sent in self._sent:
            if sent.uid in places and (sent.is_cancelled or sent.outcome is Outcome.FAILED):
                self.violations.append(f"{MOVING}: {sent} was given out")
        self._judge_places()
        self._judge_keys()

    def _judge_places(self) -> None:
        """Each key is where the mapping of its place put it."""
        [topic] = [each for each in self._store.topics.values() if each.name == MOVING]
        if not keeps_order(topic):
            return
        for place, given in self._given.items():
            mapping = mapping_at(self._store.partitions[topic.id, place.partition], place.offset)
            proper = _partition_of(given.key, topic, mapping)
            self._coverage["moving messages behind a growth"] += mapping > 0
            if proper != place.partition:
                self.violations.append(
                    f"{MOVING}: {given.uid} of {given.key} is at {place}, filled by the mapping {mapping}, which puts "
                    f"the key into {proper}"
                )

    def _judge_keys(self) -> None:
        """While a message is out that nobody has done, none of its key comes from another partition that never was."""
        by_key: dict[str, list[tuple[Place, _Given]]] = defaultdict(list)
        for place, given in self._given.items():
            by_key[given.key].append((place, given))
        for all_given in by_key.values():
            for place, given in all_given:
                for other_place, other in all_given:
                    is_elsewhere = other_place.partition != place.partition
                    if is_elsewhere and other.ended_ms < given.began_ms and other.done_ms > given.ended_ms:
                        self.violations.append(
                            f"{MOVING}: {given} was first given out from {place} while {other} was out from "
                            f"{other_place}"
                        )

    async def _look_at_all(self) -> None:
        """By its name each is where it was given out."""
        places = {given.uid: place for place, given in self._given.items()}
        for sent in self._sent:
            if sent.schedule_id is None or sent.uid not in places:
                continue
            looked: dict[str, Any] = {}
            for _ in range(20):  # it may be shown as scheduled for a moment longer
                answer = await self._administrator.ask("GET", f"/topics/{MOVING}/scheduled/{sent.schedule_id}")
                looked = {} if answer is None else answer.json
                if looked.get("messageId"):
                    break
                await self._administrator.pause()
            else:
                self.violations.append(f"{MOVING}: {sent} is at {places[sent.uid]}, and said to be {looked}")
                continue
            self._coverage["moving messages looked up"] += 1
            if self._place(looked) != places[sent.uid]:
                self.violations.append(f"{MOVING}: {sent} is at {places[sent.uid]}, and said to be {looked}")


def _partition_of(key: str, topic: Topic, mapping: int) -> int:
    """By an earlier mapping, or the present one."""
    if mapping < topic.mapping:
        first = topic.mapping - len(topic.earlier_mappings)
        before = topic.earlier_mappings[mapping - first]
        topic = replace(topic, partitions=before.partitions, decommissioned=before.decommissioned)
    return partition_of_hash(hash_of_key(key), partitions=topic.partitions, decommissioned=topic.decommissioned)
