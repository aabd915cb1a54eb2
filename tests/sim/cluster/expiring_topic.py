"""A topic whose messages live for some time only, while things go wrong: one group passes over what has expired,
another one wants letters of it.

Nobody is given a message after its time, by the clock of the leader that gives it. What has not expired, by any clock,
is not passed over. What a group is told to be over stays so, whoever leads. In the end each message is acknowledged, or
it has expired, in each group; and of what has expired, unsettled, there is one letter.
"""

import asyncio
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from acklog.wire.identifiers import Receipt, parse_receipt
from cluster.model.values import Expired, GroupMode
from tests.sim.clients import Surroundings, outcome_of
from tests.sim.cluster.administrator import Administrator
from tests.sim.cluster.hardware import Hardware
from tests.sim.cluster.machines import Surrounding
from tests.sim.cluster.store_observer import StoreObserver
from tests.sim.history import Outcome
from tests.sim.http_client import Answer
from tests.sim.options import Fault
from tests.sim.queue_label import EXPIRING

TTLS_MS = (300, 1_000, 3_000)
FOR_GOOD_MS = 24 * 60 * 60 * 1000
"""Longer than all clocks may be apart, and all that happens takes."""
TOPIC_TTL_MS = 1_500
VISIBILITY_S = 1
ATTEMPTS_MAX = 100
DELAY_PROBABILITY = 0.2
CALM_MS_MAX = 120_000
"""Longer than it takes to be done with all that is left."""
CLOCKS_APART_MS_MAX = 1_000
"""Beyond that a message that is due by one leader may be far from it by the next."""
CLOCK_GRAINS_MS = 5
OVER = frozenset({"expired", "deadLettered", "done"})


@dataclass(slots=True)
class _Group:
    name: str
    on_expired: Expired
    mode: GroupMode
    acked: set[int] = field(default_factory=set)
    """Numbers of messages that are, or (nobody answered) may be."""
    over: dict[int, str] = field(default_factory=dict)
    """Those of which an answer said so, and how."""

    @property
    def letters(self) -> str:
        return f"{EXPIRING}.{self.name}.dlq"


class _Clock(NamedTuple):
    """What it says in one life of a node."""

    incarnation: int
    now_ms: int


class ExpiringTopic:
    """`violations` is complete once `run` has returned."""

    def __init__(
        self,
        machines: Surrounding,
        clients: Surroundings,
        administrator: Administrator,
        hardware: Hardware,
        store: StoreObserver,
    ) -> None:
        self.violations: list[str] = []
        self._around = clients
        self._options = options = machines.options
        self._coverage = machines.coverage
        self._administrator = administrator
        self._hardware = hardware
        self._store = store
        self._random = rng = random.Random(f"expiring topic {options.seed}")
        self._partitions = rng.randint(1, 2)
        self._topic_ttl_ms = rng.choice((None, TOPIC_TTL_MS))
        modes = (GroupMode.SHARED, GroupMode.KEY_ORDERED)
        self._groups = [_Group(f"expiring-{each.value}", each, rng.choice(modes)) for each in Expired]
        self._may_delay = options.clock_skew_ms <= CLOCKS_APART_MS_MAX and Fault.WALL_JUMP not in options.faults
        self._ttls: list[int | None] = []
        """Of each message by its number, None: none."""
        self._acknowledged: set[int] = set()

    async def run(self) -> None:
        """Returns once all is calm, and each group is done with every message, or that is a violation."""
        await self._create()
        end_ms = self._around.now_ms() + self._options.duration_ms
        while self._around.now_ms() < end_ms and not self._around.calm:
            await self._send(self._random.randint(0, 4))
            for group in self._groups:
                await self._receive(group)
            await self._look(self._random.randrange(self._partitions))
            await asyncio.sleep(self._random.uniform(0.05, 1.0))
        while not self._around.calm:
            await self._administrator.pause()
        await self._come_to_an_end()

    # --- doing -------------------------------------------------------------------------------------------------------

    async def _create(self) -> None:
        config = {
            "minInsyncReplicas": self._options.min_insync_replicas,
            "maxReplicaLagMs": self._options.max_replica_lag_ms,
            "ttlMs": self._topic_ttl_ms,
        }
        topic = {
            "partitions": self._partitions,
            "replicationFactor": self._options.replication_factor,
            "config": config,
        }
        await self._until_done("PUT", f"/topics/{EXPIRING}", topic)
        for group in self._groups:
            settings = {"maxAttempts": ATTEMPTS_MAX, "onExpired": group.on_expired.value}
            await self._until_done("PUT", f"/groups/{group.name}", {"mode": group.mode.value, "settings": settings})

    async def _send(self, count: int) -> None:
        """Each once: what is unknown stays so."""
        for _ in range(count):
            number, own_ms = len(self._ttls), self._random.choice((None, FOR_GOOD_MS, *TTLS_MS))
            self._ttls.append(self._topic_ttl_ms if own_ms is None else own_ms)
            message: dict[str, Any] = {"queue": EXPIRING, "body": number, "key": f"key-{self._random.randrange(4)}"}
            if own_ms is not None:
                message["ttlSeconds"] = own_ms / 1000
            if self._may_delay and self._random.random() < DELAY_PROBABILITY:
                message["delaySeconds"] = self._random.choice((0.2, 1.0))
            answer = await self._administrator.ask("POST", "/messages", message)
            if answer is not None and outcome_of(self._code(answer)) is Outcome.OK:
                self._acknowledged.add(number)

    async def _receive(self, group: _Group) -> bool:
        """Whether something came, or nobody knows."""
        over, clocks = dict(group.over), self._clocks()
        query = f"queue={EXPIRING}&group={group.name}&max=3&visibilitySeconds={VISIBILITY_S}&waitSeconds=0.2"
        answer = await self._administrator.ask("GET", f"/messages?{query}")
        if answer is None or self._code(answer):
            return True
        for message in answer.json["messages"]:
            number, receipt = message["body"], parse_receipt(message["receipt"])
            assert receipt is not None
            given_ms, expires_ms = self._given_at_least_ms(receipt, clocks), self._expires_ms(message)
            if given_ms >= expires_ms:
                self.violations.append(f"{message} expired at {expires_ms}, {group.name} got it at {given_ms} or later")
            if number in over:
                self.violations.append(f"{message} was {over[number]} for {group.name}, and came again")
            self._coverage["messages that expire, delivered"] += 1
            await self._settle(group, number, message["receipt"])
        return bool(answer.json["messages"])

    async def _settle(self, group: _Group, number: int, receipt: str) -> None:
        choice = 1.0 if self._around.calm else self._random.random()
        if choice < 0.1:
            return  # its lease runs out
        if choice < 0.3:
            await self._administrator.ask("POST", "/nack", {"receipt": receipt, "delaySeconds": 0.3})
            return
        answer = await self._administrator.ask("POST", "/ack", {"receipt": receipt})
        if answer is None or outcome_of(self._code(answer)) is not Outcome.FAILED:
            group.acked.add(number)

    # --- judging -----------------------------------------------------------------------------------------------------

    async def _look(self, partition: int) -> None:
        """At what each group has done with some of the messages."""
        records = await self._records(EXPIRING, partition)
        for record in self._random.sample(records, min(3, len(records))):
            await self._look_at(record)

    async def _look_at(self, record: dict[str, Any]) -> bool:
        """Whether it is over for every group, as far as that was said."""
        answer = await self._administrator.ask("GET", f"/messages/{record['messageId']}")
        if answer is None or self._code(answer):
            return False
        number, now_ms = record["body"], self._latest_ms()
        states = {each["group"]: each["state"] for each in answer.json["groups"]}
        for group in self._groups:
            state = states.get(group.name, "")
            if state in OVER:
                group.over[number] = state
                self._judge_end(group, record, state, now_ms)
        return all(states.get(group.name) in OVER for group in self._groups)

    def _judge_end(self, group: _Group, record: dict[str, Any], state: str, now_ms: int) -> None:
        number, expires_ms = record["body"], self._expires_ms(record)
        self._coverage[f"messages that expire, {state}"] += 1
        if state == "done":
            if number not in group.acked and Fault.BIT_ROT not in self._options.faults:
                self.violations.append(f"{record} is done for {group.name}, which never acknowledged it")
            return
        if (state == "expired") is not (group.on_expired is Expired.SKIP):
            self.violations.append(f"{record} is {state} for {group.name}")
        # By a machine's clock that was wrong for a while, and is right again, it may have.
        if Fault.WALL_JUMP not in self._options.faults and now_ms < expires_ms:
            self.violations.append(f"{record} is {state} for {group.name}, and no clock was beyond {now_ms}")

    async def _come_to_an_end(self) -> None:
        """All is well now: whatever somebody had, or was to have, comes again, or has expired."""
        deadline_ms = self._around.now_ms() + CALM_MS_MAX
        left = await self._all_records(EXPIRING)
        self._judge_records(left)
        while left:
            for group in self._groups:
                while await self._receive(group) and self._around.now_ms() < deadline_ms:
                    pass
            left = [record for record in left if not await self._look_at(record)]
            if left and self._around.now_ms() >= deadline_ms:
                if Fault.BIT_ROT not in self._options.faults:  # what is damaged for a while comes late
                    self.violations.append(f"nobody gets, and nobody passes over, {left}")
                return
            await self._administrator.pause()
        for group in self._groups:
            await self._judge_letters(group)

    def _judge_records(self, records: list[dict[str, Any]]) -> None:
        for record in records:
            ttl_ms = self._ttls[record["body"]]
            expected = None if ttl_ms is None else record["appendTime"] + ttl_ms
            if record.get("expiresAt") != expected:
                self.violations.append(f"{record} was to expire at {expected}")
        if not self._may_delay and Fault.BIT_ROT not in self._options.faults:  # else something may be to come
            lost = self._acknowledged - {record["body"] for record in records}
            self.violations += [f"{EXPIRING}: {number} was acknowledged, and is not there" for number in sorted(lost)]

    async def _judge_letters(self, group: _Group) -> None:
        described = await self._administrator.ask("GET", f"/topics/{group.letters}")
        is_there = described is not None and described.status == 200
        letters = await self._all_records(group.letters) if is_there else []
        counts = Counter(letter["body"] for letter in letters)
        self.violations += [
            f"{letter} became a letter and had not expired"
            for letter in letters
            if letter["headers"]["acklog-dead-letter-cause"] != "expired"
        ]
        for number, state in sorted(group.over.items()):
            count = counts.pop(number, 0)
            if (state == "deadLettered") is not (count > 0) or (count > 1 and self._options.dedup_is_exact):
                self.violations.append(f"{number} is {state} for {group.name}, and there are {count} letters of it")
        for number in counts.keys() - {record["body"] for record in await self._all_records(EXPIRING)}:
            self.violations.append(f"a letter of {group.name} from nowhere: {number}")

    # --- clocks ------------------------------------------------------------------------------------------------------

    def _expires_ms(self, message: dict[str, Any]) -> float:
        ttl_ms = self._ttls[message["body"]]
        return float("inf") if ttl_ms is None else message["appendTime"] + ttl_ms

    def _clocks(self) -> dict[int, _Clock]:
        """Of all nodes that live now."""
        return {
            node_id: _Clock(machine.node.node.incarnation, machine.node.node._clock.now_ms())
            for node_id, machine in self._hardware.nodes.items()
            if machine.node is not None
        }

    def _given_at_least_ms(self, receipt: Receipt, clocks: dict[int, _Clock]) -> int:
        """When its leader gave it, by that one's clock; `clocks` is what they said before it was asked. 0: that leader
        lives no more, or did not live then."""
        state = self._store.partitions[receipt.topic_id, receipt.partition]
        leader = self._hardware.leader_of(state)
        if leader is None or leader.node is None or state.leader_epoch != receipt.leader_epoch:
            return 0
        clock = clocks.get(leader.node_id)
        return clock.now_ms if clock is not None and clock.incarnation == leader.node.node.incarnation else 0

    def _latest_ms(self) -> int:
        """No node's clock is beyond it, or was when it left."""
        return self._hardware.latest_wall_ms() + CLOCK_GRAINS_MS

    # --- asking ------------------------------------------------------------------------------------------------------

    async def _all_records(self, topic: str) -> list[dict[str, Any]]:
        described = await self._until_done("GET", f"/topics/{topic}")
        return [each for number in range(described["partitions"]) for each in await self._records(topic, number)]

    async def _records(self, topic: str, partition: int) -> list[dict[str, Any]]:
        """As far as they can be read."""
        found: list[dict[str, Any]] = []
        offset = 0
        while True:
            path = f"/topics/{topic}/partitions/{partition}/records?offset={offset}"
            page = await (self._until_done("GET", path) if self._around.calm else self._once(path))
            found += page["records"]
            if page["nextOffset"] == offset:
                return found
            offset = page["nextOffset"]

    async def _once(self, path: str) -> dict[str, Any]:
        answer = await self._administrator.ask("GET", path)
        is_there = answer is not None and not self._code(answer)
        nothing = {"records": [], "nextOffset": int(path.rpartition("=")[2])}
        return answer.json if is_there and answer is not None else nothing

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
            self.violations.append(f"about {EXPIRING}: {answer.json}")
        return code
