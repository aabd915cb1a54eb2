"""Every case of the table, by both protocols, against a server that runs."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple

import aiohttp
import pytest
import pytest_asyncio

from tests.conformance.sqs.cases import Case, all_cases, filled
from tests.conformance.sqs.outcome import at, differences
from tests.conformance.sqs.wire import Answered, HttpAnswer, Post, call_by_json, call_by_query
from tests.support.server_process import ServerProcess

pytestmark = [
    pytest.mark.integration,
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.xdist_group("sqs_conformance"),
]

ACCOUNT = "000000000000"
REGION = "us-east-1"
CASES_MIN = 350
PROTOCOLS = {"json": call_by_json, "query": call_by_query}
CASES = list(all_cases())


class Documented(NamedTuple):
    """How an error is told in the query protocol, and with which status."""

    code: str
    status: int = 400


# From the errors of each call in the API reference, and the examples of the query protocol's documents.
ERRORS = {
    "QueueDoesNotExist": Documented("AWS.SimpleQueueService.NonExistentQueue"),
    "QueueNameExists": Documented("QueueAlreadyExists"),
    "PurgeQueueInProgress": Documented("AWS.SimpleQueueService.PurgeQueueInProgress", 403),
    "InvalidAttributeName": Documented("InvalidAttributeName"),
    "InvalidAttributeValue": Documented("InvalidAttributeValue"),
    "InvalidParameterValueException": Documented("InvalidParameterValue"),
    "MissingRequiredParameterException": Documented("MissingParameter"),
    "InvalidMessageContents": Documented("InvalidMessageContents"),
    "ReceiptHandleIsInvalid": Documented("ReceiptHandleIsInvalid"),
    "MessageNotInflight": Documented("AWS.SimpleQueueService.MessageNotInflight"),
    "OverLimit": Documented("OverLimit", 403),
    "EmptyBatchRequest": Documented("AWS.SimpleQueueService.EmptyBatchRequest"),
    "TooManyEntriesInBatchRequest": Documented("AWS.SimpleQueueService.TooManyEntriesInBatchRequest"),
    "BatchEntryIdsNotDistinct": Documented("AWS.SimpleQueueService.BatchEntryIdsNotDistinct"),
    "InvalidBatchEntryId": Documented("AWS.SimpleQueueService.InvalidBatchEntryId"),
    "BatchRequestTooLong": Documented("AWS.SimpleQueueService.BatchRequestTooLong"),
    "UnsupportedOperation": Documented("AWS.SimpleQueueService.UnsupportedOperation"),
    "ResourceNotFoundException": Documented("ResourceNotFoundException", 404),
    "UnknownOperationException": Documented("InvalidAction"),
    "SerializationException": Documented("InvalidParameterValue"),
    "InvalidAddress": Documented("InvalidAddress", 404),
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("sqs")
    with ServerProcess(directory / "data", directory / "server.log") as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def post(server: ServerProcess) -> AsyncIterator[Post]:
    async with aiohttp.ClientSession() as session:

        async def send(headers: dict[str, str], body: bytes) -> HttpAnswer:
            async with session.post(f"{server.base_url}/", data=body, headers=headers) as answer:
                names = {name.lower(): value for name, value in answer.headers.items()}
                return HttpAnswer(answer.status, names, await answer.read())

        yield send


class Run:
    """One case by one protocol."""

    def __init__(self, case: Case, protocol: str, number: int, post: Post) -> None:
        self._call = PROTOCOLS[protocol]
        self._protocol = protocol
        self._post = post
        self._case = case
        stem = f"c{number}-{protocol}"
        self._kept: dict[str, Any] = {
            "case": stem,
            "name": f"{stem}-new",
            "short": chr(ord("a") + number % 26) if protocol == "json" else chr(ord("A") + number % 26),
            "account": ACCOUNT,
            "nowhere": f"http://127.0.0.1/{ACCOUNT}/nowhere",
            **case.kept,
        }
        for length in (75, 76, 80, 81):
            self._kept[f"long{length}"] = f"{stem}-".ljust(length, "x")

    async def run(self) -> None:
        for name in self._case.queues:
            await self._make(name)
        await self._steps(self._case.steps)

    async def _make(self, name: str) -> None:
        key, dot, _ = name.partition(".")
        queue_name = f"{self._kept['case']}-{name}"
        attributes = dict(self._case.attributes) | ({"FifoQueue": "true"} if dot else {})
        made = await self._call(self._post, "CreateQueue", {"QueueName": queue_name, "Attributes": attributes})
        assert made.error == "", made
        url = made.result["QueueUrl"]
        self._kept |= {
            key: url,
            f"{key}.url": url,
            f"{key}.name": queue_name,
            f"{key}.upper": queue_name.upper(),
            f"{key}.arn": f"arn:aws:sqs:{REGION}:{ACCOUNT}:{queue_name}",
        }

    async def _steps(self, steps: list[dict[str, Any]]) -> bool:
        """Whether there may be more."""
        for step in steps:
            if "wait_ms" in step:
                await asyncio.sleep(step["wait_ms"] / 1000)
            elif "steps" in step:
                await self._steps(self._case.kept[step["steps"].removeprefix("$")])
            elif not await self._step(step):
                return False
        return True

    async def _step(self, step: dict[str, Any]) -> bool:
        call = filled(step["call"], self._kept)
        answered = await self._call(self._post, call, filled(step["with"], self._kept) or {})
        error = filled(step.get("error", ""), self._kept)
        self._check_error(error, answered)
        if error:
            return not step.get("stop", False)
        found = answered.result
        expected = filled(step.get("result", {}), self._kept)
        faults = differences(_without_nothing(expected), found)
        if "equals" in step:
            faults += differences(filled(step["equals"], self._kept), found, exactly=True)
        faults += [f"{path} is {at(found, path)!r}" for path in step.get("absent", []) if at(found, path) is not None]
        for path, count in step.get("count", {}).items():
            faults += [] if len(at(found, path) or []) == count else [f"{path} is {at(found, path)!r:.300}"]
        for path, names in filled(step.get("keys", {}), self._kept).items():
            faults += [] if sorted(at(found, path) or []) == sorted(names) else [f"{path} is {at(found, path)!r:.300}"]
        assert faults == [], f"{call}: {found!r:.1000}"
        for name, path in step.get("save", {}).items():
            self._kept[name] = at(found, path)
        return True

    def _check_error(self, error: str | None, answered: Answered) -> None:
        if not error:
            assert answered.error == "", answered
            return
        documented = ERRORS[error]
        expected = error if self._protocol == "json" else documented.code
        assert (answered.error, answered.status) == (expected, documented.status), answered


def _without_nothing(expected: Any) -> Any:
    """Without what an entry of a case leaves open."""
    if isinstance(expected, dict):
        return {name: _without_nothing(value) for name, value in expected.items() if value is not None}
    return expected


def test_there_are_enough_cases() -> None:
    assert len(CASES) >= CASES_MIN
    assert len({case.name for case in CASES}) == len(CASES)
    assert all(case.source for case in CASES)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.name for case in CASES])
async def test_as_documented(number: int, protocol: str, post: Post) -> None:
    await Run(CASES[number], protocol, number, post).run()
