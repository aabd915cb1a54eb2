"""What is recorded of a message on its way through a cluster, on virtual time."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import httpx2
import pytest

from app.http.application import create_server_app
from tests.support.cluster import Cluster, ClusterBuilder
from tests.support.recorded_spans import (
    SAMPLED,
    TRACE_ID,
    UNSAMPLED,
    RecordedSpans,
    links_of,
    parent_of,
    trace_id,
    traceparent,
)

SENT = {"queue": "orders", "body": {"order": 1}}


def run(spans: RecordedSpans, story: Callable[[Cluster, httpx2.AsyncClient], Coroutine[Any, Any, None]]) -> None:
    async def main(cluster: Cluster) -> None:
        await cluster.topic("orders")
        await cluster.group("work", max_attempts=2)
        application = create_server_app(cluster.gateways[0].gateway)
        transport = httpx2.ASGITransport(app=application.asgi, raise_app_exceptions=False)
        async with httpx2.AsyncClient(transport=transport, base_url="http://gateway", timeout=None) as client:
            await story(cluster, client)

    ClusterBuilder().nodes(3).gateway(auto_create_topics=False).traced(spans.tracer).run(main)


async def receive(client: httpx2.AsyncClient, queue: str = "orders", **headers: str) -> dict[str, Any]:
    answer = await client.get("/messages", params={"queue": queue, "group": "work", "waitSeconds": 5}, headers=headers)
    [message] = answer.json()["messages"]
    return dict(message)


async def settle(client: httpx2.AsyncClient, action: str, message: dict[str, Any], **headers: str) -> None:
    answer = await client.post(f"/{action}", json={"receipt": message["receipt"]}, headers=headers)
    assert answer.status_code == 200, answer.text


def test_a_message_of_a_recorded_trace_has_its_whole_life_in_it_whoever_works_on_it() -> None:
    spans = RecordedSpans()

    async def story(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        await client.post("/messages", json=SENT, headers={"traceparent": SAMPLED})
        for _ in range(2):
            message = await receive(client)
            assert message["headers"] == {"traceparent": SAMPLED}
            await settle(client, "nack", message)
        await cluster.until(lambda: "dead-letter orders" in spans.names)
        await cluster.group("readers")
        answer = await client.get("/messages?queue=orders.work.dlq&waitSeconds=5")
        [letter] = answer.json()["messages"]
        assert letter["headers"]["traceparent"] == SAMPLED

    run(spans, story)
    assert {trace_id(span) for span in spans.ended} == {TRACE_ID}
    send, append = spans.named("send orders"), spans.named("append orders")
    assert parent_of(send) == SAMPLED
    assert parent_of(append) == traceparent(send)
    first, second = spans.all_named("lease orders")
    assert parent_of(first) == parent_of(second) == SAMPLED
    assert [event.name for event in first.events] == []
    assert [(event.name, dict(event.attributes or {})["acklog.attempt"]) for event in second.events] == [
        ("redelivery", 2)
    ]
    assert [parent_of(span) for span in spans.all_named("nack orders")] == [SAMPLED, SAMPLED]
    death = spans.named("dead-letter orders")
    assert (parent_of(death), links_of(death)) == (SAMPLED, [SAMPLED])
    assert dict(death.attributes or {})["messaging.destination.name"] == "orders.work.dlq"
    assert parent_of(spans.named("append orders.work.dlq")) == traceparent(death)
    assert parent_of(spans.named("lease orders.work.dlq")) == SAMPLED


def test_a_consumers_own_trace_is_linked_to_that_of_its_messages() -> None:
    spans = RecordedSpans()
    own = "00-11111111111111111111111111111111-2222222222222222-01"

    async def story(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        await client.post("/messages", json=SENT, headers={"traceparent": SAMPLED})
        await settle(client, "ack", await receive(client, traceparent=own), traceparent=own)

    run(spans, story)
    receiving, leasing = spans.named("receive orders"), spans.named("lease orders")
    assert (parent_of(receiving), links_of(receiving)) == (own, [SAMPLED])
    assert (parent_of(leasing), links_of(leasing)) == (traceparent(receiving), [SAMPLED])
    server, node = spans.all_named("ack orders")[::-1]
    assert parent_of(server) == own
    assert (parent_of(node), links_of(node)) == (traceparent(server), [SAMPLED])


def test_an_ack_by_message_id_is_told_of_the_default_group_of_its_namespace() -> None:
    spans = RecordedSpans()

    async def story(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        await client.put("/namespaces/shop")
        await client.put("/topics/shop%2Forders", json={"partitions": 1})
        sent = await client.post("/messages", json={"queue": "shop/orders", "body": 1})
        await client.get("/messages?queue=shop/orders&waitSeconds=5")
        ack = {"messageId": sent.json()["messageId"]}
        done = await client.post("/ack", json=ack, headers={"traceparent": SAMPLED})
        assert done.status_code == 200, done.text

    run(spans, story)
    groups = {(span.attributes or {})["messaging.consumer.group.name"] for span in spans.all_named("ack shop/orders")}
    assert groups == {"shop/default"}


def test_what_is_drawn_begins_a_trace_which_goes_with_the_message() -> None:
    spans = RecordedSpans(sample_per_mille=1_000)

    async def story(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        await client.post("/messages", json=SENT)
        message = await receive(client)
        assert message["headers"] == {"traceparent": traceparent(spans.named("send orders"))}

    run(spans, story)
    send = spans.named("send orders")
    assert parent_of(send) == ""
    assert parent_of(spans.named("append orders")) == traceparent(send)
    assert links_of(spans.named("receive orders")) == [traceparent(send)]


@pytest.mark.parametrize("headers", [{}, {"traceparent": UNSAMPLED}])
def test_nothing_is_recorded_of_what_nobody_traces(headers: dict[str, str]) -> None:
    spans = RecordedSpans()

    async def story(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        await client.post("/messages", json=SENT, headers=headers)
        message = await receive(client)
        assert message.get("headers", {}) == headers  # what the user sent
        await settle(client, "ack", message)

    run(spans, story)
    assert spans.names == []


OTHER = "00-11111111111111111111111111111111-2222222222222222-01"


@pytest.mark.parametrize("given", [["nonsense"], [SAMPLED, OTHER], [f"{SAMPLED}-more"]])
def test_a_traceparent_that_is_none_keeps_nobody_from_beginning_a_trace(given: list[str]) -> None:
    spans = RecordedSpans(sample_per_mille=1_000)

    async def story(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        headers = [("traceparent", each) for each in given]
        await client.post("/messages", json=SENT, headers=[*headers, ("tracestate", "vendor=xyz")])
        message = await receive(client)
        assert message["headers"] == {"traceparent": traceparent(spans.named("send orders"))}

    run(spans, story)
    assert parent_of(spans.named("send orders")) == ""


def test_blanks_around_a_traceparent_are_https() -> None:
    spans = RecordedSpans()

    async def story(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        await client.post("/messages", json=SENT, headers={"traceparent": f"{SAMPLED} "})
        assert (await receive(client))["headers"] == {"traceparent": SAMPLED}

    run(spans, story)
    assert parent_of(spans.named("send orders")) == SAMPLED


def test_a_tracestate_is_passed_on_with_every_span() -> None:
    spans = RecordedSpans()
    trace = {"traceparent": SAMPLED, "tracestate": "vendor=xyz,other=1"}

    async def story(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        await client.post("/messages", json=SENT, headers=trace)
        for _ in range(2):
            message = await receive(client)
            assert message["headers"] == trace
            await settle(client, "nack", message)
        await cluster.until(lambda: "append orders.work.dlq" in spans.names)

    run(spans, story)
    assert {"send orders", "append orders", "lease orders", "dead-letter orders"} < set(spans.names)
    states = {span.name: span.get_span_context().trace_state.to_header() for span in spans.ended}
    assert set(states.values()) == {"vendor=xyz,other=1"}, states


def test_a_trace_that_the_message_names_itself_stays() -> None:
    spans = RecordedSpans(sample_per_mille=1_000)

    async def story(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        await client.post("/messages", json={**SENT, "headers": {"traceparent": SAMPLED}})
        assert (await receive(client))["headers"] == {"traceparent": SAMPLED}

    run(spans, story)
    assert links_of(spans.named("receive orders")) == [SAMPLED]


def test_messages_that_share_a_batch_are_each_told_of_it() -> None:
    spans = RecordedSpans()
    other = "00-11111111111111111111111111111111-2222222222222222-01"

    async def story(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        async with asyncio.TaskGroup() as tasks:
            for trace in (SAMPLED, other, UNSAMPLED):
                tasks.create_task(client.post("/messages", json=SENT, headers={"traceparent": trace}))
        await client.post("/messages", json=SENT)  # behind them, and of none of them

    run(spans, story)
    append = spans.named("append orders")
    sends = [traceparent(span) for span in spans.all_named("send orders")]
    assert len(sends) == 2
    assert sorted([parent_of(append), *links_of(append)]) == sorted(sends)  # whichever came first


def test_a_request_that_fails_says_so() -> None:
    spans = RecordedSpans()

    async def story(cluster: Cluster, client: httpx2.AsyncClient) -> None:
        await client.post("/messages", json={**SENT, "queue": "unknown"}, headers={"traceparent": SAMPLED})

    run(spans, story)
    attributes = dict(spans.named("send unknown").attributes or {})
    assert attributes["http.response.status_code"] == 404
