"""The messages of queues, on whole nodes and in virtual time."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from acklog.wire.identifiers import id_from_bits
from app.auth.principal import ANYONE
from app.services.registry import Services
from app.sqs.messages.digests import attributes_md5, body_md5
from app.sqs.messages.message_receiver import NAMES_MAX
from app.sqs.messages.message_service import MessageService
from app.sqs.messages.outgoing_message import OutgoingMessage, SentMessage
from app.sqs.messages.received_message import ReceivedMessage, ReceiveOptions
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.model.values import Exhausted, Group
from tests.support.cluster import Cluster, ClusterBuilder, client_of
from tests.support.memory_gateway import MemoryWorld
from tests.support.sqs_queues import Patient, QueueUser, arn_of, bodies, joined, text, translated

FIFO = "orders.fifo"
CONTENT = {"ContentBasedDeduplication": "true"}


def with_user(main: Callable[[QueueUser], Awaitable[None]], nodes: int = 1) -> None:
    async def whole(cluster: Cluster) -> None:
        await main(QueueUser(cluster))

    ClusterBuilder().nodes(nodes).gateway().run(whole)


def told(outcome: SqsError | SentMessage | None) -> tuple[SqsErrorCode, str]:
    assert isinstance(outcome, SqsError)
    return outcome.code, outcome.message


def of_group(*groups: str) -> list[OutgoingMessage]:
    return [OutgoingMessage(body=f"{group}{number}", group_id=group) for number, group in enumerate(groups)]


def test_a_message_comes_as_it_was_sent() -> None:
    async def main(user: QueueUser) -> None:
        queue = await user.queue()
        attributes = {"city": text("Ulm"), "price": text("1.50", "Number")}
        trace = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"
        before_ms = user.cluster.clock.now_ms()
        sent = await user.send(
            queue,
            "hällo",
            attributes=attributes,
            system_attributes={"AWSTraceHeader": text(trace)},
            group_id="tenant",
        )
        assert (sent.body_md5, sent.attributes_md5) == (body_md5("hällo"), attributes_md5(attributes))
        assert (sent.system_attributes_md5 is None, sent.sequence_number) == (False, None)
        [found] = await user.receive(queue)
        assert (found.message_id, found.body, found.body_md5) == (sent.message_id, "hällo", sent.body_md5)
        assert (found.attributes, found.attributes_md5) == (attributes, sent.attributes_md5)
        system = dict(found.system_attributes)
        for name in ("SentTimestamp", "ApproximateFirstReceiveTimestamp"):
            assert before_ms <= int(system.pop(name)) <= user.cluster.clock.now_ms()
        assert system.pop("SenderId") == "000000000000"
        assert system == {"ApproximateReceiveCount": "1", "MessageGroupId": "tenant", "AWSTraceHeader": trace}
        assert await user.delete(queue, found.receipt_handle) == [None]
        assert await user.receive(queue) == []

    with_user(main)


def test_only_what_is_asked_for_is_told() -> None:
    async def main(user: QueueUser) -> None:
        queue = await user.queue()
        attributes = {"a.x": text("1"), "a.y": text("2"), "b": text("3")}
        await user.send(queue, "1", attributes=attributes)
        [found] = await user.receive(queue, system_attribute_names=(), attribute_names=(), visibility_seconds=0)
        assert (found.attributes, found.attributes_md5, found.system_attributes) == ({}, None, {})
        await user.cluster.clock.sleep(100)
        asked = {"system_attribute_names": ["ApproximateReceiveCount"], "attribute_names": ["a.*"]}
        [found] = await user.receive(queue, **asked)
        assert found.attributes.keys() == {"a.x", "a.y"}
        assert found.attributes_md5 == attributes_md5({name: attributes[name] for name in ("a.x", "a.y")})
        assert found.system_attributes == {"ApproximateReceiveCount": "2"}

    with_user(main)


def test_both_apis_read_what_the_other_has_sent() -> None:
    async def main(user: QueueUser) -> None:
        queue = await user.queue()
        async with client_of(user.gateway) as client:
            fields = {"queue": "orders", "body": {"a": 1}, "headers": {"city": "Ulm"}, "key": "k"}
            await client.post("/messages", json=fields)
            [found] = await user.receive(queue)
            assert (found.body, found.attributes) == ('{"a":1}', {"city": text("Ulm")})
            assert found.system_attributes["MessageGroupId"] == "k"
            await user.delete(queue, found.receipt_handle)
            await user.send(queue, '{"b": 2}', attributes={"city": text("Bonn")})
            answer = await client.get("/messages", params={"queue": "orders", "group": "others", "max": 10})
            [_, message] = answer.json()["messages"]
            assert (message["body"], message["headers"]) == ({"b": 2}, {"city": "Bonn"})

    with_user(main)


def test_it_comes_again_when_its_time_is_over_and_says_since_when() -> None:
    async def main(user: QueueUser) -> None:
        queue = await user.queue(settings={"visibility_ms": 5_000, "max_attempts": 2})
        await user.send(queue, "1")
        first_ms = user.cluster.clock.now_ms()
        counts = []
        for _ in range(4):
            [found] = await user.receive(queue, wait_seconds=20)
            counts.append(found.system_attributes["ApproximateReceiveCount"])
            assert await user.receive(queue) == []
            first = int(found.system_attributes["ApproximateFirstReceiveTimestamp"])
            assert first_ms <= first <= first_ms + 6_000
        assert counts == ["1", "2", "2", "2"], "it has no dead letters: it comes for ever"

    with_user(main)


@pytest.mark.parametrize("seconds", [0, 7])
def test_a_delay(seconds: int) -> None:
    async def main(user: QueueUser) -> None:
        queue = await user.queue(config={"delay_ms": 3_000})
        sent_ms = user.cluster.clock.now_ms()
        sent = await user.send(queue, "1", delay_seconds=seconds)
        by_queue = await user.send(queue, "2")
        first, *_ = found = await user.receive(queue, wait_seconds=20)
        took_ms = user.cluster.clock.now_ms() - sent_ms
        assert (took_ms < 1_000) if not seconds else (3_000 <= took_ms < 4_500)
        assert first.message_id == (by_queue if seconds else sent).message_id
        while len(found) < 2:
            found = [*found, *await user.receive(queue, wait_seconds=20)]
        assert {each.message_id for each in found} == {sent.message_id, by_queue.message_id}
        assert all(abs(int(each.system_attributes["SentTimestamp"]) - sent_ms) < 1_500 for each in found)

    with_user(main)


def test_a_batch_tells_of_each_of_its_messages() -> None:
    async def main(user: QueueUser) -> None:
        queue = await user.queue()
        wrong = OutgoingMessage(body="\x01")
        outcomes = await user.send_all(queue, OutgoingMessage(body="a"), wrong, OutgoingMessage(body="b"))
        assert told(outcomes[1])[0] is SqsErrorCode.INVALID_MESSAGE_CONTENTS
        found = {each.message_id: each.body for each in await user.receive(queue)}
        ids = [each.message_id for each in outcomes if isinstance(each, SentMessage)]
        assert [found[each] for each in ids] == ["a", "b"]
        [alone] = await user.send_all(queue, wrong)
        assert told(alone) == told(outcomes[1])

    with_user(main)


async def test_a_batch_holds_a_mebibyte(world: MemoryWorld) -> None:
    queue = joined(await world.topic(), Group(id_from_bits(8), "sqs.orders", 0))
    messages = MessageService(Services(world.gateway), translate=translated, arn_of=arn_of)
    half = OutgoingMessage(body="x" * (512 * 1024))
    sent = await messages.send_batch(queue, [half, half], ANYONE)
    assert all(isinstance(each, SentMessage) for each in sent)
    more = OutgoingMessage(body=half.body[1:], attributes={"a": text("1", "Number")})
    with pytest.raises(SqsError) as caught:
        await messages.send_batch(queue, [half, more], ANYONE)
    limit = "Batch requests cannot be longer than 1048576 bytes. You have sent 1048583 bytes."
    assert (caught.value.code, caught.value.message) == (SqsErrorCode.BATCH_REQUEST_TOO_LONG, limit)


def test_messages_of_a_group_come_together_though_each_was_sent_by_itself() -> None:
    async def main(user: QueueUser) -> None:
        queue = await user.queue(FIFO, **CONTENT)
        for number in range(12):
            await user.send(queue, f"{number}", group_id="g")
        found = await user.receive(queue)
        assert bodies(found) == [str(number) for number in range(10)]
        await user.delete(queue, *[each.receipt_handle for each in found])
        assert bodies(await user.receive(queue)) == ["10", "11"]

    with_user(main)


def test_a_message_group_keeps_its_order_and_others_go_on() -> None:
    async def main(user: QueueUser) -> None:
        queue = await user.queue(FIFO, **CONTENT)
        outcomes = await user.send_all(queue, *of_group("a", "a", "b", "a"))
        numbers = [each.sequence_number for each in outcomes if isinstance(each, SentMessage)]
        assert numbers == sorted(numbers)
        assert {len(number or "") for number in numbers} == {20}
        found = await user.receive(queue)
        assert sorted(bodies(found)) == ["a0", "a1", "a3", "b2"]
        assert [each for each in bodies(found) if each[0] == "a"] == ["a0", "a1", "a3"]
        assert {each.system_attributes["SequenceNumber"] for each in found} == set(numbers)
        await user.send_all(queue, OutgoingMessage(body="a4", group_id="a"), OutgoingMessage(body="c5", group_id="c"))
        assert bodies(await user.receive(queue)) == ["c5"], "what is out of its group holds it up"
        await user.delete(queue, *[each.receipt_handle for each in found])
        assert bodies(await user.receive(queue)) == ["a4"]

    with_user(main)


def test_what_fails_of_a_batch_changes_no_order() -> None:
    async def main(user: QueueUser) -> None:
        queue = await user.queue(FIFO, **CONTENT)
        first, last = of_group("a", "a")
        outcomes = await user.send_all(queue, first, OutgoingMessage(body="\x01", group_id="a"), last)
        assert told(outcomes[1])[0] is SqsErrorCode.INVALID_MESSAGE_CONTENTS
        assert bodies(await user.receive(queue)) == ["a0", "a1"]

    with_user(main)


def test_the_same_message_is_stored_once_for_five_minutes() -> None:
    async def main(user: QueueUser) -> None:
        queue = await user.queue(FIFO)
        ids: dict[str, Any] = {"group_id": "g", "deduplication_id": "d"}
        first = await user.send(queue, "one", **ids)
        again = await user.send(queue, "another", **ids)
        assert (again.message_id, again.sequence_number) == (first.message_id, first.sequence_number)
        assert again.body_md5 == body_md5("another")
        within = await user.send_all(
            queue, *[OutgoingMessage(body=f"{number}", group_id="g", deduplication_id="e") for number in range(2)]
        )
        assert len({each.message_id for each in within if isinstance(each, SentMessage)}) == 1
        [found, other] = await user.receive(queue)
        assert (found.body, found.system_attributes["MessageDeduplicationId"], other.body) == ("one", "d", "0")
        await user.delete(queue, found.receipt_handle, other.receipt_handle)
        await user.send(queue, "one", **ids)
        assert await user.receive(queue) == [], "also when it is done"
        await user.cluster.clock.sleep(5 * 60_000 + 1_000)
        assert (await user.send(queue, "one", **ids)).message_id != first.message_id
        assert bodies(await user.receive(queue)) == ["one"]

    with_user(main)


def test_who_has_said_the_id_by_the_other_api_is_told_from_it() -> None:
    async def main(user: QueueUser) -> None:
        queue = await user.queue(FIFO)
        async with client_of(user.gateway) as client:
            await client.post("/messages", json={"queue": FIFO, "body": 1, "key": "g", "dedupId": "d"})
        [outcome] = await user.send_all(queue, OutgoingMessage(body="1", group_id="g", deduplication_id="d"))
        assert told(outcome)[0] is SqsErrorCode.INVALID_PARAMETER_VALUE

    with_user(main)


def test_a_dead_letter_is_the_same_message() -> None:
    async def main(user: QueueUser) -> None:
        grave = await user.queue("letters")
        settings = {"max_attempts": 1, "on_exhausted": Exhausted.DEAD_LETTER, "dead_letter_topic": "letters"}
        queue = await user.queue(settings=settings)
        attributes = {"price": text("1", "Number")}
        begin_ms = user.cluster.clock.now_ms()
        at_once = await user.send(queue, "now", attributes=attributes, group_id="g")
        later = await user.send(queue, "later", delay_seconds=2)
        dead: dict[str, ReceivedMessage] = {}
        for _ in range(2):
            [found] = await user.receive(queue, wait_seconds=20)
            assert await user.hide(queue, found.receipt_handle, 0) is None
        while len(dead) < 2:
            dead |= {each.body: each for each in await user.receive(grave, wait_seconds=20)}
        assert {body: each.message_id for body, each in dead.items()} == {
            "now": at_once.message_id,
            "later": later.message_id,
        }
        assert dead["now"].attributes == attributes
        assert dead["now"].system_attributes["DeadLetterQueueSourceArn"] == arn_of("orders")
        assert dead["now"].system_attributes["MessageGroupId"] == "g"
        assert dead["now"].system_attributes["ApproximateReceiveCount"] == "2", "across both queues"
        assert abs(int(dead["now"].system_attributes["SentTimestamp"]) - begin_ms) < 500, "when it was sent first"

    with_user(main)


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"count_max": 0}, "MaxNumberOfMessages"),
        ({"count_max": 11}, "MaxNumberOfMessages"),
        ({"wait_seconds": -1}, "WaitTimeSeconds"),
        ({"wait_seconds": 21}, "WaitTimeSeconds"),
        ({"visibility_seconds": -1}, "VisibilityTimeout"),
        ({"visibility_seconds": 43_201}, "VisibilityTimeout"),
        ({"attempt_id": "a"}, "ReceiveRequestAttemptId"),
    ],
)
def test_what_a_receive_may_not_ask(options: dict[str, Any], parameter: str) -> None:
    async def main(user: QueueUser) -> None:
        with pytest.raises(SqsError) as caught:
            await user.receive(await user.queue(), **options)
        assert caught.value.code is SqsErrorCode.INVALID_PARAMETER_VALUE
        assert f"for parameter {parameter} is invalid" in caught.value.message

    with_user(main)


def test_a_fifo_receive_may_name_its_attempt() -> None:
    async def main(user: QueueUser) -> None:
        queue = await user.queue(FIFO)
        assert await user.receive(queue, attempt_id="a") == []
        with pytest.raises(SqsError):
            await user.receive(queue, attempt_id="a b")

    with_user(main)


def test_too_much_in_flight_is_told_to_who_does_not_wait() -> None:
    async def main(user: QueueUser) -> None:
        queue = await user.queue(settings={"max_in_flight": 2})
        await user.send_all(queue, *[OutgoingMessage(body="x")] * 3)
        assert len(await user.receive(queue)) == 2
        with pytest.raises(SqsError) as caught:
            await user.receive(queue)
        assert caught.value.code is SqsErrorCode.OVER_LIMIT
        assert await user.receive(queue, wait_seconds=1) == []

    with_user(main)


def test_an_answer_that_nobody_takes_gives_its_messages_back() -> None:
    async def main(user: QueueUser) -> None:
        queue = await user.queue()
        await user.send(queue, "1")
        received = await user.messages.receive(queue, ReceiveOptions(), user.principal, Patient())
        assert len(received.messages) == 1
        await received.release()
        [found] = await user.receive(queue)
        assert found.system_attributes["ApproximateReceiveCount"] == "1"

    with_user(main)


def test_names_of_attributes_are_counted() -> None:
    async def main(user: QueueUser) -> None:
        queue = await user.queue()
        assert await user.receive(queue, attribute_names=["a"] * (NAMES_MAX - 1), system_attribute_names=["All"]) == []
        with pytest.raises(SqsError) as caught:
            await user.receive(queue, attribute_names=["a"] * NAMES_MAX, system_attribute_names=["All"])
        assert caught.value.code is SqsErrorCode.INVALID_PARAMETER_VALUE

    with_user(main)
