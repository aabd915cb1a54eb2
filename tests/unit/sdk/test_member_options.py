"""What a consumer says of itself when it joins an exclusive group: patterns, a rack, a name that lasts."""

import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from acklog import AsyncClient, Client
from acklog.client.call import Request
from acklog.consumer.async_consumer import AsyncConsumer
from acklog.consumer.source import MemberOptions
from tests.sim.loop import SimLoop, simulate
from tests.unit.sdk.fake_group import FakeGroup, Stored
from tests.unit.sdk.fake_log import problem

OPTIONS: MemberOptions = {
    "patterns": ["orders-*", "mails-?"],
    "rack": "a",
    "session_timeout_s": 7.5,
    "static": True,
}
MEMBER = "/groups/mail/members/w"


def group_of_one() -> FakeGroup:
    return with_one_member(FakeGroup([], "exclusive"))


def with_one_member(group: FakeGroup) -> FakeGroup:
    """Its partition has three messages."""
    group.stored = [Stored(0, offset, None) for offset in range(3)]
    group.assign(w=[0])
    return group


def run_async(group: FakeGroup, topics: list[str], **options: Any) -> None:
    async def main(_loop: SimLoop) -> None:
        async with AsyncClient(transport=group) as client:
            consumer = client.consumer(topics, group="mail", mode="exclusive", consumer="w", **options)
            async with consumer:
                await drain_async(consumer)

    simulate(0, main)


async def drain_async(consumer: AsyncConsumer) -> None:
    async for message in consumer:
        async with message:
            pass
        if message.offset == 2:
            break


def run_threads(group: FakeGroup, topics: list[str], **options: Any) -> None:
    with (
        Client(transport=group) as client,
        client.consumer(topics, group="mail", mode="exclusive", consumer="w", **options) as consumer,
    ):
        for message in consumer:
            with message:
                pass
            if message.offset == 2:
                break


RUNS = pytest.mark.parametrize("run", [run_async, run_threads])


def body(request: Request) -> dict[str, Any]:
    return dict(json.loads(request.body))


@RUNS
def test_a_member_says_all_of_itself_when_it_joins(run: Any) -> None:
    group = group_of_one()
    run(group, ["orders"], **OPTIONS)
    joined = body(group.calls("PUT", MEMBER)[0])
    instance = joined.pop("instanceId")
    assert instance
    assert joined == {
        "topics": ["orders"],
        "patterns": ["orders-*", "mails-?"],
        "rack": "a",
        "sessionTimeoutMs": 7_500,
        "static": True,
    }
    beats = [body(each) for each in group.calls("POST", MEMBER)]
    assert {each["instanceId"] for each in beats} == {instance}
    [left] = group.calls("DELETE", MEMBER)
    assert parse_qs(urlsplit(left.target).query) == {"instanceId": [instance], "comesBack": ["true"]}


@RUNS
def test_one_with_nothing_but_patterns_receives_from_what_it_is_assigned(run: Any) -> None:
    group = group_of_one()
    run(group, [], patterns=["orders*"])
    assert "topics" not in body(group.calls("PUT", MEMBER)[0])
    receives = [parse_qs(urlsplit(each.target).query) for each in group.calls("GET", "/messages")]
    assert {tuple(each["queue"]) for each in receives} == {("orders",)}
    assert group.acked == [(0, 0), (0, 1), (0, 2)]
    [left] = group.calls("DELETE", MEMBER)
    assert "comesBack" not in left.target


@RUNS
def test_a_static_name_is_tried_again_while_another_process_has_it(run: Any) -> None:
    class HeldForAWhile(FakeGroup):
        held = 3

        async def _member_call(self, request: Request, parts: list[str]) -> Any:
            if request.method == "PUT" and self.held:
                self.held -= 1
                return problem(409, "MEMBER_EXISTS", True)
            return await super()._member_call(request, parts)

    group = with_one_member(HeldForAWhile([], "exclusive"))
    run(group, ["orders"], static=True, backoff_min_ms=1, backoff_max_ms=5)
    instances = [body(each)["instanceId"] for each in group.calls("PUT", MEMBER)]
    assert len(instances) == 4
    assert len(set(instances)) == 1
    assert group.acked == [(0, 0), (0, 1), (0, 2)]


def test_two_processes_of_a_name_say_so() -> None:
    """Every consumer is another instance, also in one process."""
    groups = [group_of_one(), group_of_one()]
    for group in groups:
        run_async(group, ["orders"], static=True)
    first, second = [body(group.calls("PUT", MEMBER)[0])["instanceId"] for group in groups]
    assert first != second
