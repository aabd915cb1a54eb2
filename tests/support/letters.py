"""Dead letters in a cluster over HTTP, and what became of them."""

from collections import Counter
from typing import Any

import httpx2

from cluster.ports.clock import Clock

LETTERS_TOPIC = "orders.workers.dlq"
PATIENCE_MS = 120_000


class LetterBox:
    """Topics `orders` and `refunds`, and letters of both, as if the group `workers` had given them up."""

    def __init__(self, client: httpx2.AsyncClient, clock: Clock) -> None:
        self.client = client
        self.clock = clock

    async def open(self, *, partitions: int = 2, **letters: Any) -> None:
        for topic in ("orders", "refunds"):
            await self.succeed("PUT", f"/topics/{topic}", {"partitions": 3})
        await self.succeed("PUT", f"/topics/{LETTERS_TOPIC}", {"partitions": partitions, **letters})
        await self.succeed("PUT", "/groups/workers", {})

    async def put(self, *bodies: int, source: str = "orders", partition: int | None = None, **fields: Any) -> list[str]:
        """Letters with these bodies; returns their ids."""
        headers = {"acklog-dead-letter-topic": source, "acklog-dead-letter-group": "workers", "kept": "yes"}
        place = {} if partition is None else {"partition": partition}
        messages = [{"body": body, "headers": headers, **place, **fields} for body in bodies]
        sent = await self.succeed("POST", "/messages", {"queue": LETTERS_TOPIC, "messages": messages})
        return [each["messageId"] for each in sent["results"]]

    async def start(self, group: str = "workers", **fields: Any) -> dict[str, Any]:
        return await self.succeed("POST", f"/groups/{group}/redrive", fields)

    async def job(self, job_id: str, group: str = "workers") -> dict[str, Any]:
        return await self.succeed("GET", f"/groups/{group}/redrive/{job_id}")

    async def finished(self, job: dict[str, Any]) -> dict[str, Any]:
        """The job once nothing of it is under way."""
        end_ms = self.clock.monotonic_ms() + PATIENCE_MS
        while "finishedAt" not in (found := await self.job(job["jobId"], job["group"])):
            assert self.clock.monotonic_ms() < end_ms, found
            await self.clock.sleep(50)
        return found

    async def bodies(self, topic: str) -> Counter[int]:
        """Of all that is in a topic."""
        return Counter(each["body"] for each in await self.messages(topic))

    async def messages(self, topic: str) -> list[dict[str, Any]]:
        described = await self.succeed("GET", f"/topics/{topic}")
        found: list[dict[str, Any]] = []
        for partition in range(described["partitions"]):
            place = "time=0"
            while page := await self.succeed("GET", f"/topics/{topic}/partitions/{partition}/records?{place}"):
                found += page["records"]
                if place == f"offset={page['nextOffset']}":
                    break
                place = f"offset={page['nextOffset']}"
        return found

    async def unhandled(self, group: str = "workers") -> int:
        offsets = await self.succeed("GET", f"/groups/{group}/offsets?topic={LETTERS_TOPIC}")
        return int(offsets["totalLag"]) if "totalLag" in offsets else int(offsets["lag"])

    async def succeed(self, method: str, path: str, document: dict[str, Any] | None = None) -> dict[str, Any]:
        """The answer; asked again for as long as nobody can."""
        end_ms = self.clock.monotonic_ms() + PATIENCE_MS
        while True:
            answer = await self.client.request(method, path, json=document)
            if answer.status_code < 300 or self.clock.monotonic_ms() >= end_ms or not answer.json().get("retriable"):
                assert answer.status_code < 300, answer.text
                return answer.json() if answer.content else {}
            await self.clock.sleep(50)

    async def refuse(self, method: str, path: str, document: dict[str, Any] | None = None) -> dict[str, Any]:
        """Its problem."""
        answer = await self.client.request(method, path, json=document)
        assert answer.status_code >= 400, answer.text
        return answer.json()
