"""Queues made, found, listed, tagged, shared and taken away, and who may."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest

from acklog.wire.problems import ProblemCode
from app.auth.principal import ANYONE, Principal
from app.auth.right import Effect, Right
from app.auth.rights import rights_of
from app.sqs.protocol.failures import sqs_error_of
from app.sqs.queues.access_policy import ACTIONS, LABEL_LENGTH_MAX, STATEMENTS_MAX
from app.sqs.queues.page_tokens import name_of_token, token_of
from app.sqs.queues.queue_service import QueueService
from app.sqs.queues.queue_tags import TAG_KEY_LENGTH_MAX, TAG_VALUE_LENGTH_MAX, TAGS_OF_QUEUE_MAX
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.catalog.catalog_change import CatalogSettings
from cluster.catalog.queue_admin import QueueAdmin
from cluster.errors import ServerError
from cluster.model.action import Action
from cluster.model.values import CleanupPolicy, GroupMode, GroupSettings, TopicConfig
from cluster.ports.coordination import OutcomeUnknownError
from tests.support.queue_gateways import NAMES, QueueGateway, QueueGateways, with_gateways

C = SqsErrorCode
ACCOUNTS = ["111122223333"]


async def refused(code: SqsErrorCode, call: Awaitable[object]) -> SqsError:
    with pytest.raises(SqsError) as caught:
        await call
    assert caught.value.code is code, caught.value
    return caught.value


def on_one(main: Callable[[QueueGateway], Awaitable[None]]) -> None:
    with_gateways(1, lambda _world, gateways: main(gateways[0]))


def test_what_there_is_already() -> None:
    async def main(one: QueueGateway) -> None:
        queue = await one.queues.create("orders", {"VisibilityTimeout": "5"}, {"a": "1"}, ANYONE)
        assert await one.queues.create("orders", {}, {}, ANYONE) == queue
        assert await one.queues.create("orders", {"VisibilityTimeout": "05"}, {"a": "2"}, ANYONE) == queue
        for attribute, text in (("VisibilityTimeout", "6"), ("KmsMasterKeyId", "key"), ("Policy", "{}")):
            error = await refused(C.QUEUE_NAME_EXISTS, one.queues.create("orders", {attribute: text}, {}, ANYONE))
            expected = "A queue already exists with the same name and a different value for attribute "
            assert error.message == expected + attribute
        await one.queues.set_attributes("orders", {"Policy": '{ "Version": "1", "Statement": [] }'}, ANYONE)
        same = {"Policy": '{"Statement":[],"Version":"1"}'}
        assert (await one.queues.create("orders", same, {}, ANYONE)).topic == queue.topic
        await refused(C.INVALID_PARAMETER_VALUE, one.queues.create("orders.fifo", {}, {}, ANYONE))
        await refused(C.INVALID_PARAMETER_VALUE, one.queues.create("orders", {"FifoQueue": "true"}, {}, ANYONE))
        await refused(C.INVALID_ATTRIBUTE_NAME, one.queues.create("orders", {"FifoQueue": "false"}, {}, ANYONE))

    on_one(main)


def test_a_topic_that_there_is_becomes_the_queues() -> None:
    async def main(one: QueueGateway) -> None:
        topics = one.gateway.topics
        config = TopicConfig(retention_ms=777_000)
        topic = await topics.get_or_create("orders", partitions=3, config=config, replication_factor=1)
        queue = await one.queues.create("orders", {"DelaySeconds": "2"}, {}, ANYONE)
        assert queue.topic.id == topic.id
        assert (queue.topic.config.retention_ms, queue.topic.config.delay_ms) == (777_000, 2_000)
        await topics.get_or_create("many.fifo", partitions=3, config=config, replication_factor=1)
        fifo = {"FifoQueue": "true"}
        await refused(C.INVALID_ATTRIBUTE_VALUE, one.queues.create("many.fifo", fifo, {}, ANYONE))
        assert one.metadata.queues.find("many.fifo") is None
        await one.queues.create("many.fifo", {**fifo, "DeduplicationScope": "messageGroup"}, {}, ANYONE)
        table = TopicConfig(cleanup_policy=CleanupPolicy.COMPACT)
        await topics.get_or_create("table", partitions=1, config=table, replication_factor=1)
        await refused(C.INVALID_PARAMETER_VALUE, one.queues.create("table", {}, {}, ANYONE))

    on_one(main)


def test_a_group_that_there_is_becomes_the_queues_if_it_can() -> None:
    async def main(one: QueueGateway) -> None:
        groups = one.gateway.groups
        before = GroupSettings(filter="header.a = 'b'", max_attempts=3)
        group = await groups.get_or_create("sqs.orders", mode=GroupMode.SHARED, settings=before)
        queue = await one.queues.create("orders", {}, {}, ANYONE)
        assert (queue.group.id, queue.group.settings.max_attempts) == (group.id, 1_000)
        assert queue.group.settings.filter == before.filter
        await groups.get_or_create("sqs.other", mode=GroupMode.EXCLUSIVE, settings=GroupSettings())
        await refused(C.QUEUE_NAME_EXISTS, one.queues.create("other", {}, {}, ANYONE))
        assert one.metadata.queues.find("other") is None

    on_one(main)


def test_a_queue_whose_topic_or_group_is_gone_is_gone() -> None:
    async def main(one: QueueGateway) -> None:
        for gone in ("topic", "topic made anew", "group"):
            queue = await one.queues.create("orders", {"VisibilityTimeout": "5"}, {"a": "b"}, ANYONE)
            if gone == "group":
                await one.gateway.groups.delete("sqs.orders")
            else:
                await one.gateway.topics.delete("orders")
            if gone == "topic made anew":
                await one.gateway.topics.get_or_create(
                    "orders", partitions=1, config=TopicConfig(), replication_factor=1
                )
            await refused(C.QUEUE_DOES_NOT_EXIST, one.queues.find("orders", ANYONE, Action.SEND))
            await refused(C.QUEUE_DOES_NOT_EXIST, one.queues.tags("orders", ANYONE))
            assert one.queues.list_page("", 10, "", ANYONE) == ([], None)
            again = await one.queues.create("orders", {}, {}, ANYONE)
            assert (again.stored.tags, again.group.settings.visibility_ms) == ({}, 30_000)
            assert again.stored.id != queue.stored.id
            assert again.group.id != queue.group.id
            await one.queues.delete("orders", ANYONE)

    on_one(main)


def test_deleted_and_made_again_at_once() -> None:
    async def main(one: QueueGateway) -> None:
        first = await one.queues.create("orders", {"VisibilityTimeout": "5"}, {}, ANYONE)
        await one.queues.delete("orders", ANYONE)
        assert (one.metadata.topic("orders"), one.metadata.group("sqs.orders")) == (None, None)
        for name in ("orders", "never", "a.b", "", "x" * 1_000):
            await refused(C.QUEUE_DOES_NOT_EXIST, one.queues.delete(name, ANYONE))
            await refused(C.QUEUE_DOES_NOT_EXIST, one.queues.find(name, ANYONE, Action.SEND))
        again = await one.queues.create("orders", {"VisibilityTimeout": "6"}, {}, ANYONE)
        assert again.topic.id != first.topic.id

    on_one(main)


def test_another_gateway_finds_what_was_made_a_moment_ago() -> None:
    async def main(world: QueueGateways, gateways: list[QueueGateway]) -> None:
        first, second = gateways
        made = await first.queues.create("orders", {}, {}, ANYONE)
        assert await second.queues.find("orders", ANYONE, Action.SEND) == made

    with_gateways(2, main)


def test_pages_of_names() -> None:
    async def main(one: QueueGateway) -> None:
        names = sorted(["a1", "a2", "a3", "b.fifo"])
        for name in names:
            await one.queues.create(name, {"FifoQueue": "true"} if name.endswith(".fifo") else {}, {}, ANYONE)
        assert one.queues.list_page("", 1_000, "", ANYONE) == (names, None)
        assert one.queues.list_page("a", 2, "", ANYONE) == (["a1", "a2"], token_of("a2"))
        assert one.queues.list_page("a", 2, token_of("a2"), ANYONE) == (["a3"], None)
        assert one.queues.list_page("", 4, "", ANYONE) == (names, None)
        assert one.queues.list_page("c", 4, "", ANYONE) == ([], None)
        for limit, after in ((0, ""), (1_001, ""), (-1, ""), (1, "a1")):
            with pytest.raises(SqsError) as caught:
                one.queues.list_page("", limit, after, ANYONE)
            assert caught.value.code is C.INVALID_PARAMETER_VALUE
        for name in ("a1", "a2"):
            policy = json.dumps({"deadLetterTargetArn": NAMES.arn_of("a3"), "maxReceiveCount": 2})
            await one.queues.set_attributes(name, {"RedrivePolicy": policy}, ANYONE)
        assert await one.queues.dead_letter_sources("a3", 1, "", ANYONE) == (["a1"], token_of("a1"))
        assert await one.queues.dead_letter_sources("a3", 1, token_of("a1"), ANYONE) == (["a2"], None)
        await refused(C.INVALID_PARAMETER_VALUE, one.queues.dead_letter_sources("a3", 1_001, "", ANYONE))
        await refused(C.QUEUE_DOES_NOT_EXIST, one.queues.dead_letter_sources("nobody", 1, "", ANYONE))

    on_one(main)


def test_tokens_of_pages() -> None:
    assert name_of_token(token_of("orders.fifo")) == "orders.fifo"
    assert name_of_token("") == ""
    for token in ("x", "####", token_of("a b"), token_of(""), "A" * 10_000, "é"):
        if token:
            with pytest.raises(SqsError):
                name_of_token(token)


def test_tags() -> None:
    async def main(one: QueueGateway) -> None:
        queues = one.queues
        longest = {"k" * TAG_KEY_LENGTH_MAX: "v" * TAG_VALUE_LENGTH_MAX}
        await queues.create("orders", {}, longest, ANYONE)
        assert await queues.tags("orders", ANYONE) == longest
        await queues.tag("orders", {"ключ 1": "", "a": "b"}, ANYONE)
        await queues.tag("orders", {"a": "c"}, ANYONE)
        assert await queues.tags("orders", ANYONE) == {**longest, "ключ 1": "", "a": "c"}
        await queues.untag("orders", [*longest, "nothing"], ANYONE)
        assert await queues.tags("orders", ANYONE) == {"ключ 1": "", "a": "c"}
        many = {f"t{number}": "" for number in range(TAGS_OF_QUEUE_MAX - 2)}
        await queues.tag("orders", many, ANYONE)
        for tags in (
            {"one more": ""},
            {"": ""},
            {"k" * (TAG_KEY_LENGTH_MAX + 1): ""},
            {"a": "v" * (TAG_VALUE_LENGTH_MAX + 1)},
            {"aws:a": ""},
            {"AWS:a": ""},
            {"a\n": ""},
            {"a": "<"},
        ):
            await refused(C.INVALID_PARAMETER_VALUE, queues.tag("orders", tags, ANYONE))
            if "one more" not in tags:
                await refused(C.INVALID_PARAMETER_VALUE, queues.create("other", {}, tags, ANYONE))
        await refused(C.MISSING_PARAMETER, queues.tag("orders", {}, ANYONE))
        await refused(C.MISSING_PARAMETER, queues.untag("orders", [], ANYONE))
        assert len(await queues.tags("orders", ANYONE)) == TAGS_OF_QUEUE_MAX
        assert one.metadata.queues.find("other") is None

    on_one(main)


async def policy_of(queues: QueueService) -> dict[str, object] | None:
    text = (await queues.attributes("orders", ["Policy"], ANYONE)).get("Policy")
    return None if text is None else json.loads(text)


def test_permissions() -> None:
    async def main(one: QueueGateway) -> None:
        queues = one.queues
        await queues.create("orders", {}, {}, ANYONE)
        one.store.after["transact"] = [OutcomeUnknownError("lost")]
        adding = asyncio.ensure_future(queues.add_permission("orders", "a", ACCOUNTS, ["SendMessage"], ANYONE))
        while not adding.done():
            await one.gateway.clock.advance_ms(1_000)  # type: ignore[attr-defined]
        await adding
        arn = NAMES.arn_of("orders")
        assert await policy_of(queues) == {
            "Version": "2008-10-17",
            "Id": f"{arn}/SQSDefaultPolicy",
            "Statement": [
                {
                    "Sid": "a",
                    "Effect": "Allow",
                    "Principal": {"AWS": "arn:aws:iam::111122223333:root"},
                    "Action": "SQS:SendMessage",
                    "Resource": arn,
                }
            ],
        }
        seven = sorted(ACTIONS)[:7]
        await queues.add_permission("orders", "l" * LABEL_LENGTH_MAX, ["000000000000", *ACCOUNTS], seven, ANYONE)
        for label, accounts, actions, code in (
            ("a", ACCOUNTS, ["*"], C.INVALID_PARAMETER_VALUE),
            ("", ACCOUNTS, ["*"], C.INVALID_PARAMETER_VALUE),
            ("a b", ACCOUNTS, ["*"], C.INVALID_PARAMETER_VALUE),
            ("l" * (LABEL_LENGTH_MAX + 1), ACCOUNTS, ["*"], C.INVALID_PARAMETER_VALUE),
            ("b", [], ["*"], C.MISSING_PARAMETER),
            ("b", ACCOUNTS, [], C.MISSING_PARAMETER),
            ("b", ["11112222333"], ["*"], C.INVALID_PARAMETER_VALUE),
            ("b", ACCOUNTS, ["DeleteQueue"], C.INVALID_PARAMETER_VALUE),
            ("b", ACCOUNTS, ["*"] * 8, C.OVER_LIMIT),
            ("b", ACCOUNTS * 51, ["*"], C.OVER_LIMIT),
        ):
            await refused(code, queues.add_permission("orders", label, accounts, actions, ANYONE))
        for number in range(STATEMENTS_MAX - 2):
            await queues.add_permission("orders", f"n{number}", ACCOUNTS, ["*"], ANYONE)
        await refused(C.OVER_LIMIT, queues.add_permission("orders", "more", ACCOUNTS, ["*"], ANYONE))
        error = await refused(C.INVALID_PARAMETER_VALUE, queues.remove_permission("orders", "more", ANYONE))
        assert error.message == "Value more for parameter Label is invalid. Reason: can't find label."
        for label in ["a", "l" * LABEL_LENGTH_MAX, *(f"n{number}" for number in range(STATEMENTS_MAX - 2))]:
            await queues.remove_permission("orders", label, ANYONE)
        assert await policy_of(queues) is None

    on_one(main)


def holder(*actions: Action, topics: tuple[str, ...] = ("orders",)) -> Principal:
    return Principal("holder", rights_of([Right(effect=Effect.ALLOW, actions=actions, topics=topics)]))


def test_who_may_do_what() -> None:
    async def main(one: QueueGateway) -> None:
        queues = one.queues
        policy = json.dumps({"deadLetterTargetArn": NAMES.arn_of("dlq"), "maxReceiveCount": 2})
        await queues.create("dlq", {}, {}, ANYONE)
        await queues.create("orders", {}, {}, ANYONE)
        calls: dict[str, tuple[Action, Callable[[Principal], Awaitable[object]]]] = {
            "create": (Action.MANAGE, lambda who: queues.create("orders", {}, {}, who)),
            "attributes": (Action.LOOK, lambda who: queues.attributes("orders", [], who)),
            "set": (Action.MANAGE, lambda who: queues.set_attributes("orders", {}, who)),
            "tags": (Action.LOOK, lambda who: queues.tags("orders", who)),
            "tag": (Action.MANAGE, lambda who: queues.tag("orders", {"a": ""}, who)),
            "untag": (Action.MANAGE, lambda who: queues.untag("orders", ["a"], who)),
            "add": (Action.MANAGE, lambda who: queues.add_permission("orders", "a", ACCOUNTS, ["*"], who)),
            "remove": (Action.MANAGE, lambda who: queues.remove_permission("orders", "a", who)),
            "sources": (Action.LOOK, lambda who: queues.dead_letter_sources("orders", 1, "", who)),
            "find": (Action.SEND, lambda who: queues.find("orders", who, Action.SEND)),
            "delete": (Action.MANAGE, lambda who: queues.delete("orders", who)),
        }
        for needed, ask in calls.values():
            others = [each for each in Action if each is not needed]
            with pytest.raises(ServerError) as caught:
                await ask(holder(*others))
            assert caught.value.code is ProblemCode.FORBIDDEN
            await ask(holder(needed))
        for who in (holder(*Action), holder(Action.MANAGE, topics=("orders", "dlq"))):
            with pytest.raises(ServerError) as caught:
                await queues.create("orders", {"RedrivePolicy": policy}, {}, who)
            assert caught.value.code is ProblemCode.FORBIDDEN
        both = holder(Action.MANAGE, Action.RECEIVE, topics=("orders", "dlq"))
        await queues.create("orders", {"RedrivePolicy": policy}, {}, both)
        assert queues.list_page("", 10, "", holder(Action.LOOK)) == (["orders"], None)
        with pytest.raises(ServerError):
            queues.list_page("", 10, "", holder(Action.SEND))

    on_one(main)


def test_there_are_so_many_queues_at_most_and_those_without_a_topic_give_way() -> None:
    async def main(world: QueueGateways, gateways: list[QueueGateway]) -> None:
        one = gateways[0]
        admin = QueueAdmin(
            one.store,
            one.metadata,
            clock=world.clock,
            entropy=one.gateway.entropy,
            settings=CatalogSettings(queues_max=2),
        )
        for name in ("a", "b"):
            await one.queues.create(name, {}, {}, ANYONE)
        with pytest.raises(ServerError) as caught:
            await admin.claim("c", {}, {}, instead_of=None)
        assert caught.value.code is ProblemCode.TOO_MANY_TOPICS
        await one.gateway.topics.delete("b")
        claim, is_own = await admin.claim("c", {}, {}, instead_of=None)
        assert (is_own, one.metadata.queues.find("b")) == (True, None)
        assert one.metadata.queues.find("c") == claim

    with_gateways(1, main)


def test_a_deletion_of_what_is_gone_spares_what_has_its_name_since() -> None:
    async def main(one: QueueGateway) -> None:
        topics = one.gateway.topics
        await one.queues.create("orders", {}, {}, ANYONE)
        await topics.delete("orders")
        anew = await topics.get_or_create("orders", partitions=1, config=TopicConfig(), replication_factor=1)
        await one.queues.delete("orders", ANYONE)
        assert one.metadata.topic("orders") == anew
        assert (one.metadata.group("sqs.orders"), one.metadata.queues.find("orders")) == (None, None)

    on_one(main)


def test_who_completes_a_queue_late_undoes_nothing_that_was_set_since() -> None:
    async def main(world: QueueGateways, gateways: list[QueueGateway]) -> None:
        late, other = gateways
        topics, groups = other.gateway.topics, other.gateway.groups
        await topics.get_or_create("orders", partitions=1, config=TopicConfig(), replication_factor=1)
        await groups.get_or_create("sqs.orders", mode=GroupMode.SHARED, settings=GroupSettings())
        given = {"MessageRetentionPeriod": "60", "VisibilityTimeout": "1"}
        changed = {"MessageRetentionPeriod": "99", "VisibilityTimeout": "2"}

        async def complete_and_change() -> None:
            await other.queues.create("orders", given, {}, ANYONE)
            await other.queues.set_attributes("orders", changed, ANYONE)

        late.store.meanwhile = [None, complete_and_change]  # between its claim and what it does by that
        await late.queues.create("orders", given, {}, ANYONE)
        assert await other.queues.attributes("orders", list(changed), ANYONE) == changed

    with_gateways(2, main)


@pytest.mark.parametrize(
    ("changed", "steps_before", "code"),
    [
        ({"DelaySeconds": "9"}, 0, ProblemCode.TOPIC_NOT_FOUND),
        ({"VisibilityTimeout": "9"}, 0, ProblemCode.GROUP_NOT_FOUND),
        ({"DelaySeconds": "9", "VisibilityTimeout": "9"}, 1, ProblemCode.GROUP_NOT_FOUND),
    ],
)
def test_a_change_of_what_was_made_anew_meanwhile_changes_nothing_of_that(
    changed: dict[str, str], steps_before: int, code: ProblemCode
) -> None:
    async def main(world: QueueGateways, gateways: list[QueueGateway]) -> None:
        late, other = gateways
        asked = ["DelaySeconds", "VisibilityTimeout", "LastModifiedTimestamp"]
        await late.queues.create("orders", {}, {}, ANYONE)

        async def make_anew() -> None:
            await other.queues.delete("orders", ANYONE)
            await other.queues.create("orders", {}, {}, ANYONE)

        late.store.meanwhile = [*[None] * steps_before, make_anew]
        with pytest.raises(ServerError) as caught:
            await late.queues.set_attributes("orders", changed, ANYONE)
        assert caught.value.code is code
        assert sqs_error_of(caught.value).code is SqsErrorCode.QUEUE_DOES_NOT_EXIST
        found = await other.queues.attributes("orders", asked, ANYONE)
        assert (found["DelaySeconds"], found["VisibilityTimeout"]) == ("0", "30")

    with_gateways(2, main)


@pytest.mark.parametrize("action", [Action.MANAGE, Action.PURGE, Action.SETTLE])
def test_what_is_denied_on_the_group_is_not_had_by_the_topic(action: Action) -> None:
    async def main(one: QueueGateway) -> None:
        await one.queues.create("orders", {}, {}, ANYONE)
        allowed = Right(effect=Effect.ALLOW, actions=(action,), topics=("orders",))
        denied = Right(effect=Effect.DENY, actions=(action,), groups=("sqs.*",))
        await one.queues.find("orders", Principal("may", rights_of([allowed])), action)
        with pytest.raises(ServerError) as caught:
            await one.queues.find("orders", Principal("may not", rights_of([allowed, denied])), action)
        assert caught.value.code is ProblemCode.FORBIDDEN

    with_gateways(1, lambda _world, gateways: main(gateways[0]))


def test_half_a_pair_of_surrogates_is_in_no_policy() -> None:
    async def main(one: QueueGateway) -> None:
        await one.queues.create("orders", {}, {}, ANYONE)
        for name in ("Policy", "RedriveAllowPolicy"):
            with pytest.raises(SqsError) as caught:
                await one.queues.set_attributes("orders", {name: '{"Id": "\\ud800"}'}, ANYONE)
            caught.value.message.encode()

    with_gateways(1, lambda _world, gateways: main(gateways[0]))
