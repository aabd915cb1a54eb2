"""Readers that keep their own positions and commit them, as members of an exclusive group on two topics: some name
them, some have a pattern for both, of which the second begins later. They come, leave and die while things go wrong.

What is committed never falls, whoever leads; nobody commits in the name of a life of a member that is over. When all is
calm each partition has one owner, as evenly as the group's assignor promises, and only that one may commit.
"""

import asyncio
import random
from collections import Counter
from typing import Any, NamedTuple

from cluster.model.values import Assignor
from tests.sim.clients import UNKNOWN_CODES, Surroundings
from tests.sim.cluster.administrator import Administrator
from tests.sim.cluster.machines import Surrounding
from tests.sim.options import Fault
from tests.sim.queue_label import COMMITTED

GROUP = "committed-group"
FIRST, SECOND = f"{COMMITTED}first", f"{COMMITTED}second"
MESSAGES = 8
"""Of each partition."""
STEPS_MAX = 2
LEAVING_PROBABILITY = 0.08
REFUSALS = frozenset({"MEMBER_UNKNOWN", "MEMBER_FENCED"})
FORESEEN = REFUSALS | {"COMMIT_CONFLICT", "OFFSET_OUT_OF_RANGE", "TOPIC_NOT_FOUND"}
"""The second topic may not be there yet, nor the messages of any."""
IS_EVEN = frozenset({Assignor.STICKY, Assignor.ROUND_ROBIN})
"""Among members who want the same, nobody has two partitions more than another one."""
CALM_S_MAX = 120.0
BEAT_S = 0.6
LOOK_S = 1.5

Place = tuple[str, int]


class _Committed(NamedTuple):
    ended_ms: float
    progress: int


class _Life(NamedTuple):
    """Of a member. `epoch` as it was told last."""

    name: str
    epoch: int
    owned: frozenset[Place]


class CommittedTopics:
    """`violations` is complete once `run` has returned."""

    def __init__(self, machines: Surrounding, clients: Surroundings, administrator: Administrator) -> None:
        self.violations: list[str] = []
        self._around = clients
        self._options = machines.options
        self._coverage = machines.coverage
        self._administrator = administrator
        self._random = random.Random(f"committed {machines.options.seed}")
        self._assignor = self._random.choice(list(Assignor))
        self._partitions = {FIRST: self._random.randint(1, 3), SECOND: self._random.randint(1, 3)}
        self._committed: dict[Place, list[_Committed]] = {}
        self._lives: dict[str, _Life] = {}
        self._is_over = False

    async def run(self) -> None:
        """Returns once all is calm, and everything was tried and judged."""
        await self._create(FIRST)
        settings = {"assignor": self._assignor.value, "sessionTimeoutMs": 3_000, "rebalanceTimeoutMs": 1_000}
        await self._until_done("PUT", f"/groups/{GROUP}", {"mode": "exclusive", "settings": settings})
        members = [asyncio.create_task(self._come_and_go(each)) for each in range(self._options.committers)]
        await asyncio.sleep(self._random.uniform(1, self._options.duration_ms / 2000))
        await self._create(SECOND)
        while not self._around.calm:
            await self._administrator.pause()
        await self._judge_owners()
        self._is_over = True
        await asyncio.gather(*members)
        if Fault.BIT_ROT in self._options.faults and self._options.replication_factor == 1:
            self.violations.clear()  # what rots on the only disk says nothing any more

    async def _create(self, name: str) -> None:
        config = {
            "minInsyncReplicas": self._options.min_insync_replicas,
            "maxReplicaLagMs": self._options.max_replica_lag_ms,
        }
        topic = {
            "partitions": self._partitions[name],
            "replicationFactor": self._options.replication_factor,
            "config": config,
        }
        await self._until_done("PUT", f"/topics/{name}", topic)
        for partition in range(self._partitions[name]):
            messages = [{"body": number, "partition": partition} for number in range(MESSAGES)]
            await self._until_done("POST", "/messages", {"queue": name, "messages": messages})

    # --- members -----------------------------------------------------------------------------------------------------

    async def _come_and_go(self, number: int) -> None:
        rng = random.Random(f"committer {number} {self._options.seed}")
        name = f"m{number}"
        wanted = {"patterns": [f"{COMMITTED}*"]} if rng.random() < 0.5 else {"topics": [FIRST, SECOND]}
        former: _Life | None = None
        while not self._is_over:
            await asyncio.sleep(rng.uniform(0, BEAT_S))
            life = self._lives.get(name)
            if life is None:
                subscription = {"topics": [FIRST]} if former is None and "topics" in wanted else wanted
                await self._beat(name, "PUT", "", {**subscription, "rack": f"rack-{number % 2}"})
                if former is not None and name in self._lives:
                    await self._try_as(former, rng, "another life of it has begun")
                    former = None
                continue
            is_leaving = not self._around.calm and rng.random() < LEAVING_PROBABILITY
            if not is_leaving and (former is not None or "patterns" in wanted or rng.random() < 0.7):
                await self._beat(name, "POST", "/heartbeat", {"memberEpoch": life.epoch})
            elif not is_leaving:
                await self._beat(name, "PUT", "", {**wanted, "rack": f"rack-{number % 2}"})
            else:
                gone = self._lives.pop(name)
                if rng.random() < 0.7 and await self._leave(name):  # else it goes on with the life that it had
                    await self._try_as(gone, rng, "it has left")
                    former = gone
            life = self._lives.get(name)
            if life is not None and life.owned:
                await self._commit(life, rng.choice(sorted(life.owned)), rng.randint(0, STEPS_MAX))

    async def _beat(self, name: str, method: str, path: str, document: dict[str, Any]) -> None:
        answer = await self._administrator.ask(method, f"/groups/{GROUP}/members/{name}{path}", document)
        if answer is None:
            return
        code = self._code(answer.json)
        if not code:
            owned = frozenset((each["topic"], each["partition"]) for each in answer.json["assignment"])
            self._lives[name] = _Life(name, answer.json["memberEpoch"], owned)
        elif code in REFUSALS:
            self._lives.pop(name, None)

    async def _leave(self, name: str) -> bool:
        answer = await self._administrator.ask("DELETE", f"/groups/{GROUP}/members/{name}")
        self._coverage["committers that left"] += answer is not None and answer.status < 300
        return answer is not None and answer.status < 300

    # --- commits -----------------------------------------------------------------------------------------------------

    async def _try_as(self, former: _Life, rng: random.Random, why_not: str) -> None:
        if former.owned:
            self._coverage["commits of a life that is over"] += 1
            code = await self._commit(former, rng.choice(sorted(former.owned)), 1)
            if code == "":
                self.violations.append(f"a commit of {former} was taken, and {why_not}")

    async def _commit(self, life: _Life, place: Place, steps: int) -> str | None:
        """By so many messages. What it was refused with; None: nobody knows."""
        began_ms = self._around.now_ms()
        known = [each.progress for each in self._committed.get(place, []) if each.ended_ms <= began_ms]
        least = max(known, default=0)
        offset = min(least + steps, MESSAGES)
        position = {"topic": place[0], "partition": place[1], "offset": offset}
        document = {"member": life.name, "memberEpoch": life.epoch, "offsets": [position]}
        answer = await self._administrator.ask("PUT", f"/groups/{GROUP}/offsets", document)
        if answer is None:
            return None
        code = self._code(answer.json)
        self._coverage[f"commit of a position {code or 'OK'}"] += 1
        if not code:
            progress = answer.json["offsets"][0]["progress"]
            if progress < max(offset, least):
                self.violations.append(f"{place} was at {least}, and after a commit of {offset} it is at {progress}")
            self._committed.setdefault(place, []).append(_Committed(self._around.now_ms(), progress))
        elif code == "COMMIT_CONFLICT" and answer.json.get("progress", least) < least:
            self.violations.append(f"{place} was at {least}, and is said to be at {answer.json['progress']}")
        return code

    # --- judging -----------------------------------------------------------------------------------------------------

    async def _judge_owners(self) -> None:
        end_ms = self._around.now_ms() + CALM_S_MAX * 1000
        before: dict[str, frozenset[Place]] = {}
        while self._around.now_ms() < end_ms:
            await asyncio.sleep(LOOK_S)
            places = await self._places()
            now = {name: life.owned for name, life in self._lives.items()}
            owners = Counter(place for owned in now.values() for place in owned)
            is_whole = (
                len(now) == self._options.committers and owners.keys() == places and owners.total() == len(places)
            )
            if is_whole and now == before and await self._judge_fencing(sorted(places)):
                self._judge_evenness(now)
                return
            before = now
        self.violations.append(f"not everything has one owner that may commit, by {self._assignor}: {self._lives}")

    async def _places(self) -> set[Place]:
        """All partitions: a fault may have added some."""
        for name in self._partitions:
            answer = await self._administrator.ask("GET", f"/topics/{name}")
            if answer is not None and answer.status == 200:
                self._partitions[name] = answer.json["partitions"]
        return {(name, number) for name, count in self._partitions.items() for number in range(count)}

    async def _judge_fencing(self, places: list[Place]) -> bool:
        """Whether every owner could commit, and nothing moved meanwhile: each member was heard after it, in the life
        that it had. One that waits for an answer may be given up, its partitions another one's, and be back as it
        was."""
        lives = dict(self._lives)
        taken = {(life, place): await self._commit(life, place, 0) for place in places for life in lives.values()}
        await asyncio.sleep(LOOK_S)
        heard = [each for name, life in lives.items() if (each := self._lives.get(name, life)) is not life]
        if heard != list(lives.values()):
            return False
        for (life, place), code in taken.items():
            if place not in life.owned and code == "":
                self.violations.append(f"a commit of {life} was taken, and {place} is another one's")
        self._coverage["owners that alone may commit"] += len(places)
        return all(code in {"", "COMMIT_CONFLICT"} for (life, place), code in taken.items() if place in life.owned)

    def _judge_evenness(self, owned: dict[str, frozenset[Place]]) -> None:
        counts = sorted(len(each) for each in owned.values())
        self._coverage[f"assignments that are {self._assignor.value}"] += 1
        if self._assignor in IS_EVEN and counts[-1] - counts[0] > 1:
            self.violations.append(f"not even, by {self._assignor}: {owned}")
        for topic, count in self._partitions.items():
            mine = [sorted(number for name, number in each if name == topic) for each in owned.values()]
            are_ranges = all(not each or each[-1] - each[0] == len(each) - 1 for each in mine)
            share = count / len(owned)
            if self._assignor is Assignor.RANGE and not (
                are_ranges and all(abs(len(each) - share) < 1 for each in mine)
            ):
                self.violations.append(f"no ranges of equal size: {owned}")

    # --- asking ------------------------------------------------------------------------------------------------------

    async def _until_done(self, method: str, path: str, document: dict[str, Any]) -> None:
        while True:
            answer = await self._administrator.ask(method, path, document)
            told = {} if answer is None else answer.json
            is_done = answer is not None and answer.status < 300
            if is_done and not any("code" in each for each in told.get("results", [])):
                return
            if told.get("code") == "INTERNAL":
                self.violations.append(f"about commits: {told}")
            await self._administrator.pause()

    def _code(self, document: dict[str, Any]) -> str:
        code = str(document.get("code", ""))
        if code == "INTERNAL" or (code and not document["retriable"] and code not in FORESEEN | UNKNOWN_CODES):
            self.violations.append(f"about commits: {document}")
        return code
