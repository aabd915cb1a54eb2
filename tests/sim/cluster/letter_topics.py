"""Dead letters that jobs send back, while things go wrong: of each, once (rules R39 and R42 have tests of their own).

A topic has letters, as if a group had given them up; jobs send them to another one, which grows meanwhile. Some are
cancelled. When all is calm one more job has to bring the rest there. Then both topics are read.
"""

import asyncio
import random
from collections import Counter
from typing import Any

from tests.sim.clients import Surroundings, outcome_of
from tests.sim.cluster.administrator import Administrator
from tests.sim.cluster.machines import Surrounding
from tests.sim.history import Outcome
from tests.sim.http_client import Answer
from tests.sim.options import Fault
from tests.sim.queue_label import LETTERS, RETURNED

READER = "letter-reader"
JOBS_MAX = 6
GROWTHS_MAX = 2
_JOBS = f"/groups/{READER}/redrive"


class LetterTopics:
    """`violations` is complete once `run` has returned."""

    def __init__(self, machines: Surrounding, clients: Surroundings, administrator: Administrator) -> None:
        self.violations: list[str] = []
        self._around = clients
        self._options = machines.options
        self._coverage = machines.coverage
        self._administrator = administrator
        self._random = random.Random(f"letters {machines.options.seed}")
        self._acknowledged: set[int] = set()
        self._sent = 0
        self._partitions = {LETTERS: self._random.randint(1, 2), RETURNED: self._random.randint(1, 2)}

    async def run(self) -> None:
        """Returns once all is calm, and every letter is where it has to be, or that is a violation."""
        for name, partitions in self._partitions.items():
            await self._create(name, partitions)
        await self._until_done("PUT", f"/groups/{READER}", {})
        end_ms = self._around.now_ms() + self._options.duration_ms
        growths, jobs = self._random.randint(0, GROWTHS_MAX), 0
        await self._send(self._options.letters // 2)
        while self._around.now_ms() < end_ms and not self._around.calm:
            if jobs < JOBS_MAX:
                jobs += 1
                await self._begin_job()
            await self._send(self._random.randint(0, 5))
            if growths and self._random.random() < 0.2:
                growths -= 1
                await self._grow()
            await asyncio.sleep(self._random.uniform(0.2, 2.0))
        while not self._around.calm:
            await self._administrator.pause()
        await self._send(self._options.letters - self._sent)
        await self._bring_the_rest()
        await self._judge()

    # --- doing -------------------------------------------------------------------------------------------------------

    async def _create(self, name: str, partitions: int) -> None:
        await self._until_done(
            "PUT",
            f"/topics/{name}",
            {
                "partitions": partitions,
                "replicationFactor": self._options.replication_factor,
                "config": {
                    "minInsyncReplicas": self._options.min_insync_replicas,
                    "maxReplicaLagMs": self._options.max_replica_lag_ms,
                },
            },
        )

    async def _send(self, count: int) -> None:
        """Each once: what is unknown stays so."""
        for _ in range(min(count, self._options.letters - self._sent)):
            number, self._sent = self._sent, self._sent + 1
            key = {"key": f"key-{self._random.randrange(5)}"} if self._random.random() < 0.7 else {}
            headers = {"acklog-dead-letter-topic": RETURNED}
            letter = {"queue": LETTERS, "body": number, "headers": headers, **key}
            answer = await self._administrator.ask("POST", "/messages", letter)
            if answer is not None and outcome_of(self._code(answer)) is Outcome.OK:
                self._acknowledged.add(number)

    async def _begin_job(self) -> None:
        rate = self._random.choice((None, 5, 20, 50))
        terms = {"topic": LETTERS, **({} if rate is None else {"ratePerSecond": rate})}
        answer = await self._administrator.ask("POST", _JOBS, terms)
        code = "unknown" if answer is None else self._code(answer) or "OK"
        self._coverage[f"redrive jobs {code}"] += 1
        if answer is not None and answer.status == 201 and self._random.random() < 0.3:
            await asyncio.sleep(self._random.uniform(0.0, 1.0))
            await self._administrator.ask("DELETE", f"{_JOBS}/{answer.json['jobId']}")

    async def _grow(self) -> None:
        self._partitions[RETURNED] += 1
        answer = await self._administrator.ask(
            "PATCH", f"/topics/{RETURNED}", {"partitions": self._partitions[RETURNED]}
        )
        self._coverage["redrive targets grown"] += answer is not None and answer.status == 200

    async def _bring_the_rest(self) -> None:
        """All is well now."""
        while True:
            answer = await self._administrator.ask("POST", _JOBS, {"topic": LETTERS})
            job_id = "" if answer is None else answer.json.get("jobId", "")
            while job_id and "finishedAt" not in await self._until_done("GET", f"{_JOBS}/{job_id}"):
                await self._administrator.pause()
            if answer is not None and answer.status == 201:
                return
            await self._administrator.pause()

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
            self.violations.append(f"about letters: {answer.json}")
        return code

    # --- judging -----------------------------------------------------------------------------------------------------

    async def _judge(self) -> None:
        jobs = (await self._until_done("GET", _JOBS))["jobs"]
        moved, failed = (sum(job[name] for job in jobs) for name in ("moved", "failed"))
        returned = await self._read(RETURNED)
        by_mark = Counter(each["headers"]["acklog-redrive"] for each in returned)
        numbers = Counter(each["body"] for each in returned)
        self._coverage["letters sent back"] += len(returned)
        self.violations += [f"{count} times sent by one job: {mark}" for mark, count in by_mark.items() if count > 1]
        if Fault.BIT_ROT in self._options.faults:
            return  # what is damaged for a while may be left, for a person
        if failed:
            self.violations.append(f"{failed} letters were left, and nothing of them was gone: {jobs}")
        there = {each["body"] for each in await self._read(LETTERS)}
        self.violations += [f"letter {each} was acknowledged, and is not there" for each in self._acknowledged - there]
        lost, again = sorted(there - set(numbers)), {each: count for each, count in numbers.items() if count > 1}
        if lost:
            self.violations.append(f"handled, and not sent back: letters {lost} of {jobs}")
        if again:
            self.violations.append(f"sent back by several jobs: {again}")
        if moved != len(returned):
            self.violations.append(f"jobs say that they moved {moved} letters, and there are {len(returned)}")

    async def _read(self, topic: str) -> list[dict[str, Any]]:
        described = await self._until_done("GET", f"/topics/{topic}")
        found: list[dict[str, Any]] = []
        for partition in range(described["partitions"]):
            offset = 0
            while True:
                page = await self._until_done("GET", f"/topics/{topic}/partitions/{partition}/records?offset={offset}")
                found += page["records"]
                if page["nextOffset"] == offset:
                    break
                offset = page["nextOffset"]
        return found
