"""Every attribute of a queue: at its limits, beyond them, of the wrong kind of queue, and where it lies."""

import json

import pytest

from app.auth.principal import ANYONE
from app.sqs.queues.attribute_table import ATTRIBUTES, READ_ONLY, SETTABLE
from app.sqs.queues.queue_service import QueueService
from app.sqs.queues.redrive_policy import POLICY_LENGTH_MAX
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.model.values import Encryption, FairBy, GroupMode, TopicConfig
from tests.support.queue_gateways import NAMES, QueueGateway, QueueGateways, with_gateways

C = SqsErrorCode
DLQ_ARN = NAMES.arn_of("dlq")
FIFO_DLQ_ARN = NAMES.arn_of("dlq.fifo")
LONGEST_POLICY = '{"Statement":[]}'.ljust(POLICY_LENGTH_MAX)


def redrive(arn: str = DLQ_ARN, count: object = 3) -> str:
    return json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": count})


def allow(permission: str, sources: object = None) -> str:
    document = {"redrivePermission": permission}
    return json.dumps(document if sources is None else {**document, "sourceQueueArns": sources})


NUMBERS = {
    "DelaySeconds": (0, 900),
    "MessageRetentionPeriod": (60, 1_209_600),
    "VisibilityTimeout": (0, 43_200),
    "MaximumMessageSize": (1_024, 1_048_576),
    "ReceiveMessageWaitTimeSeconds": (0, 20),
    "KmsDataKeyReusePeriodSeconds": (60, 86_400),
}
GOOD: dict[str, list[str]] = {
    **{name: [str(low), str(high)] for name, (low, high) in NUMBERS.items()},
    "RedrivePolicy": [redrive(), redrive(count=1), redrive(count=1000), redrive(count="7"), ""],
    "Policy": ['{"Version":"2012-10-17","Statement":[]}', '{"Statement":{}}', LONGEST_POLICY, ""],
    "RedriveAllowPolicy": [
        allow("allowAll"),
        allow("denyAll"),
        allow("byQueue", [DLQ_ARN]),
        allow("byQueue", [DLQ_ARN] * 10),
        "",
    ],
    "KmsMasterKeyId": ["alias/aws/sqs", "k" * 2_048, ""],
    "SqsManagedSseEnabled": ["true", "false"],
    "FifoQueue": ["true"],
    "ContentBasedDeduplication": ["true", "false"],
    "DeduplicationScope": ["queue", "messageGroup"],
    "FifoThroughputLimit": ["perQueue"],
}
BAD: dict[str, list[str]] = {
    **{
        name: [str(low - 1), str(high + 1), "", "x", "1.5", " 61", "+61", "٦١", "9" * 5_000]
        for name, (low, high) in NUMBERS.items()
    },
    "RedrivePolicy": [
        redrive(count=0),
        redrive(count=1001),
        redrive(count=True),
        redrive(count=2.5),
        redrive(count="0x3"),
        redrive(count=[]),
        redrive(arn=""),
        redrive(arn=NAMES.arn_of("nobody")),
        redrive(arn="dlq"),
        redrive(arn=DLQ_ARN.replace("123456789012", "210987654321")),
        redrive(arn=FIFO_DLQ_ARN),
        redrive(arn=NAMES.arn_of("orders")),
        '{"maxReceiveCount":3}',
        json.dumps({"deadLetterTargetArn": DLQ_ARN}),
        redrive()[:-1] + ',"more":1}',
        "{",
        "[]",
        "[" * 5_000,
        f'{{"maxReceiveCount":{"9" * 5_000}}}',
    ],
    "Policy": [
        "x",
        "[]",
        '{"Statement":1}',
        '{"Statement":["x"]}',
        f"{LONGEST_POLICY} ",
        "{" * 8_000,
        json.dumps({"Statement": [{}] * 21}),
    ],
    "RedriveAllowPolicy": [
        allow("some"),
        allow("byQueue"),
        allow("byQueue", []),
        allow("byQueue", [DLQ_ARN] * 11),
        allow("byQueue", [1]),
        allow("allowAll", [DLQ_ARN]),
        "x",
        "{}",
    ],
    "KmsMasterKeyId": ["k" * 2_049, "a b", "\n"],
    "SqsManagedSseEnabled": ["", "yes", "1"],
    "FifoQueue": ["", "yes", "false"],
    "ContentBasedDeduplication": ["", "yes"],
    "DeduplicationScope": ["", "group", "messagegroup"],
    "FifoThroughputLimit": ["", "perMessageGroupId", "perMessageGroup"],
}
POLICIES = {"RedrivePolicy", "RedriveAllowPolicy"}


def fitting(name: str, text: str) -> tuple[str, dict[str, str]]:
    """A queue's name, and what has to be given beside."""
    if ATTRIBUTES[name].is_for_fifo:
        return "orders.fifo", {"FifoQueue": "true", name: text}
    return "orders", {name: text}


async def refused(code: SqsErrorCode, call: object) -> SqsError:
    with pytest.raises(SqsError) as caught:
        await call  # type: ignore[misc]
    assert caught.value.code is code, caught.value
    return caught.value


async def dead_letter_queues(queues: QueueService) -> None:
    await queues.create("dlq", {}, {}, ANYONE)
    await queues.create("dlq.fifo", {"FifoQueue": "true"}, {}, ANYONE)


def test_every_attribute_is_tried() -> None:
    settable = {attribute.name for attribute in SETTABLE}
    assert set(GOOD) == set(BAD) == settable


@pytest.mark.parametrize("name", GOOD)
def test_what_an_attribute_may_be(name: str) -> None:
    async def main(world: QueueGateways, gateways: list[QueueGateway]) -> None:
        queues = gateways[0].queues
        await dead_letter_queues(queues)
        for text in GOOD[name]:
            queue_name, given = fitting(name, text)
            await queues.create(queue_name, given, {}, ANYONE)
            assert (await queues.attributes(queue_name, [name], ANYONE)).get(name, "") == text
            await queues.create(queue_name, given, {}, ANYONE)  # the same: idempotent
            await queues.delete(queue_name, ANYONE)
            if name == "FifoQueue":
                continue
            await queues.create(queue_name, {"FifoQueue": "true"} if queue_name.endswith(".fifo") else {}, {}, ANYONE)
            await queues.set_attributes(queue_name, {name: text}, ANYONE)
            assert (await queues.attributes(queue_name, [name], ANYONE)).get(name, "") == text
            await queues.delete(queue_name, ANYONE)

    with_gateways(1, main)


@pytest.mark.parametrize("name", BAD)
def test_what_an_attribute_cannot_be_changes_nothing(name: str) -> None:
    async def main(world: QueueGateways, gateways: list[QueueGateway]) -> None:
        queues = gateways[0].queues
        await dead_letter_queues(queues)
        plain = fitting(name, "")[0]
        fifo = {"FifoQueue": "true"} if plain.endswith(".fifo") else {}
        for text in BAD[name]:
            queue_name, given = fitting(name, text)
            with pytest.raises(SqsError) as caught:
                await queues.create(queue_name, given, {}, ANYONE)
            if name == "FifoQueue":
                assert caught.value.code is C.INVALID_PARAMETER_VALUE  # the name says that it is one
                continue
            is_policy = name in POLICIES
            assert caught.value.code is (C.INVALID_PARAMETER_VALUE if is_policy else C.INVALID_ATTRIBUTE_VALUE)
            assert name in caught.value.message
            assert len(caught.value.message) < 500
            if not is_policy:
                assert caught.value.message.startswith(f"Invalid value for the parameter {name}.")
            assert gateways[0].metadata.queues.find(queue_name) is None
            assert gateways[0].metadata.topic(queue_name) is None
        if name == "FifoQueue":
            return
        queue = await queues.create(plain, fifo, {}, ANYONE)
        for text in BAD[name]:
            await refused(
                caught.value.code, queues.set_attributes(plain, {"VisibilityTimeout": "7", name: text}, ANYONE)
            )
        assert await queues.create(plain, fifo, {}, ANYONE) == queue

    with_gateways(1, main)


def test_what_is_unknown_read_only_or_of_the_other_kind_of_queue() -> None:
    async def main(world: QueueGateways, gateways: list[QueueGateway]) -> None:
        queues = gateways[0].queues
        unknown = ["Nothing", "All", "", "x" * 10_000, *(each.name for each in READ_ONLY)]
        of_fifo = [each.name for each in SETTABLE if each.is_for_fifo]
        for name in [*unknown, *of_fifo]:
            if name != "FifoQueue":
                error = await refused(C.INVALID_ATTRIBUTE_NAME, queues.create("orders", {name: "true"}, {}, ANYONE))
                assert error.message == f"Unknown Attribute {name[:256]}."
        await queues.create("orders", {}, {}, ANYONE)
        for name in [*unknown, *of_fifo]:
            await refused(C.INVALID_ATTRIBUTE_NAME, queues.set_attributes("orders", {name: "true"}, ANYONE))
        await queues.create("orders.fifo", {"FifoQueue": "true"}, {}, ANYONE)
        fixed = queues.set_attributes("orders.fifo", {"FifoQueue": "true"}, ANYONE)
        await refused(C.INVALID_ATTRIBUTE_NAME, fixed)
        await refused(C.INVALID_ATTRIBUTE_NAME, queues.attributes("orders", ["Nothing"], ANYONE))

    with_gateways(1, main)


def test_where_attributes_lie() -> None:
    async def main(world: QueueGateways, gateways: list[QueueGateway]) -> None:
        queues = gateways[0].queues
        plain = await queues.create("plain", {}, {}, ANYONE)
        assert plain.topic.config == TopicConfig(retention_ms=345_600_000, ttl_ms=345_600_000)
        assert (plain.topic.partitions, plain.group.mode) == (8, GroupMode.SHARED)
        settings = plain.group.settings
        assert (settings.visibility_ms, settings.fair_by, settings.dead_letter_topic) == (30_000, FairBy.KEY, None)
        assert (settings.retry_backoff_min_ms, settings.retry_backoff_max_ms, settings.retry_jitter) == (0, 0, 0.0)
        given = {"DelaySeconds": "5", "MessageRetentionPeriod": "60", "VisibilityTimeout": "9"}
        await queues.create("dlq", {}, {}, ANYONE)
        queue = await queues.create("orders", {**given, "RedrivePolicy": redrive()}, {}, ANYONE)
        config = queue.topic.config
        assert (config.delay_ms, config.retention_ms, config.ttl_ms) == (5_000, 60_000, 60_000)
        settings = queue.group.settings
        assert (settings.visibility_ms, settings.max_attempts, settings.dead_letter_topic) == (9_000, 3, "dlq")
        assert queue.group.dead_letter_sources == ("orders",)
        assert set(queue.stored.attributes) == {"RedrivePolicy"}
        await queues.set_attributes("orders", {"RedrivePolicy": ""}, ANYONE)
        queue = await queues.create("orders", given, {}, ANYONE)
        assert (queue.group.settings.dead_letter_topic, queue.group.settings.max_attempts) == (None, 1_000)
        assert (queue.group.dead_letter_sources, queue.stored.attributes) == (None, {})
        whole = await queues.create("whole.fifo", {"FifoQueue": "true"}, {}, ANYONE)
        assert (whole.topic.partitions, whole.group.mode, whole.group.settings.fair_by) == (
            1,
            GroupMode.KEY_ORDERED,
            FairBy.NONE,
        )
        by_group = {"FifoQueue": "true", "DeduplicationScope": "messageGroup"}
        assert (await queues.create("groups.fifo", by_group, {}, ANYONE)).topic.partitions == 8

    with_gateways(1, main)


def test_what_is_shown_of_all_kinds_of_queues() -> None:
    async def main(world: QueueGateways, gateways: list[QueueGateway]) -> None:
        queues = gateways[0].queues
        asked = [*(each.name for each in SETTABLE), "QueueArn", "CreatedTimestamp"]
        await queues.create("orders", {}, {}, ANYONE)
        shown = await queues.attributes("orders", asked, ANYONE)
        created = str(world.clock.now_ms() // 1000)
        assert shown == {
            "QueueArn": NAMES.arn_of("orders"),
            "CreatedTimestamp": created,
            "DelaySeconds": "0",
            "MaximumMessageSize": "1048576",
            "MessageRetentionPeriod": "345600",
            "ReceiveMessageWaitTimeSeconds": "0",
            "VisibilityTimeout": "30",
            "SqsManagedSseEnabled": "false",
        }
        fifo = {"FifoQueue": "true", "ContentBasedDeduplication": "true"}
        await queues.create("orders.fifo", fifo, {}, ANYONE)
        of_fifo = await queues.attributes("orders.fifo", asked, ANYONE)
        assert of_fifo == {
            **shown,
            "QueueArn": NAMES.arn_of("orders.fifo"),
            **fifo,
            "DeduplicationScope": "queue",
            "FifoThroughputLimit": "perQueue",
        }
        await world.clock.advance_ms(5_000)
        await queues.set_attributes("orders", {"VisibilityTimeout": "31"}, ANYONE)
        times = await queues.attributes("orders", ["CreatedTimestamp", "LastModifiedTimestamp"], ANYONE)
        assert times == {"CreatedTimestamp": created, "LastModifiedTimestamp": str(int(created) + 5)}

    with_gateways(1, main)


def test_what_acklogs_own_api_changes_shows_through() -> None:
    async def main(world: QueueGateways, gateways: list[QueueGateway]) -> None:
        gateway, queues = gateways[0].gateway, gateways[0].queues
        await queues.create("dlq", {}, {}, ANYONE)
        await queues.create("orders", {"RedrivePolicy": redrive(count="5")}, {}, ANYONE)
        asked = ["RedrivePolicy", "VisibilityTimeout", "MessageRetentionPeriod", "DelaySeconds", "SqsManagedSseEnabled"]
        assert (await queues.attributes("orders", asked, ANYONE))["RedrivePolicy"] == redrive(count="5")
        group = gateway.metadata.group("sqs.orders")
        assert group is not None
        settings = group.settings
        changed = {**{field: getattr(settings, field) for field in type(settings).__struct_fields__}, "max_attempts": 9}
        await gateway.groups.update("sqs.orders", settings=type(settings)(**{**changed, "visibility_ms": 1_500}))
        config = TopicConfig(retention_ms=-1, delay_ms=3_000, encryption=Encryption.OFF)
        await gateway.topics.update("orders", config=config)
        shown = await queues.attributes("orders", asked, ANYONE)
        assert json.loads(shown.pop("RedrivePolicy")) == {"deadLetterTargetArn": DLQ_ARN, "maxReceiveCount": 9}
        assert shown == {
            "VisibilityTimeout": "1",
            "MessageRetentionPeriod": "1209600",
            "DelaySeconds": "3",
            "SqsManagedSseEnabled": "false",
        }

    with_gateways(1, main)


def test_rules_of_attributes_together() -> None:
    async def main(world: QueueGateways, gateways: list[QueueGateway]) -> None:
        queues = gateways[0].queues
        both = {"KmsMasterKeyId": "key", "SqsManagedSseEnabled": "true"}
        await refused(C.INVALID_ATTRIBUTE_VALUE, queues.create("orders", both, {}, ANYONE))
        asked = ["KmsMasterKeyId", "SqsManagedSseEnabled", "KmsDataKeyReusePeriodSeconds"]
        await queues.create("orders", {"KmsMasterKeyId": "key"}, {}, ANYONE)
        of_key = {"KmsMasterKeyId": "key", "SqsManagedSseEnabled": "false", "KmsDataKeyReusePeriodSeconds": "300"}
        assert await queues.attributes("orders", asked, ANYONE) == of_key
        await queues.set_attributes("orders", {"SqsManagedSseEnabled": "true"}, ANYONE)
        assert await queues.attributes("orders", asked, ANYONE) == {"SqsManagedSseEnabled": "true"}
        await queues.set_attributes("orders", {"KmsMasterKeyId": "key"}, ANYONE)
        assert await queues.attributes("orders", asked, ANYONE) == of_key
        await refused(C.INVALID_ATTRIBUTE_VALUE, queues.set_attributes("orders", both, ANYONE))

        limit = {"FifoThroughputLimit": "perMessageGroupId"}
        scope = {"DeduplicationScope": "messageGroup"}
        fifo = {"FifoQueue": "true"}
        await refused(C.INVALID_ATTRIBUTE_VALUE, queues.create("a.fifo", {**fifo, **limit}, {}, ANYONE))
        await queues.create("a.fifo", {**fifo, **limit, **scope}, {}, ANYONE)
        back = {"DeduplicationScope": "queue"}
        await refused(C.INVALID_ATTRIBUTE_VALUE, queues.set_attributes("a.fifo", back, ANYONE))
        several = {**back, "FifoThroughputLimit": "perQueue"}  # it has eight partitions, though
        error = await refused(C.INVALID_ATTRIBUTE_VALUE, queues.set_attributes("a.fifo", several, ANYONE))
        assert "8 partitions" in error.message
        await queues.create("b.fifo", fifo, {}, ANYONE)
        await refused(C.INVALID_ATTRIBUTE_VALUE, queues.set_attributes("b.fifo", limit, ANYONE))
        await queues.set_attributes("b.fifo", {**scope, **limit}, ANYONE)
        await queues.set_attributes("b.fifo", several, ANYONE)

    with_gateways(1, main)


def test_who_may_send_dead_letters_to_a_queue() -> None:
    async def main(world: QueueGateways, gateways: list[QueueGateway]) -> None:
        queues = gateways[0].queues
        await queues.create("orders", {}, {}, ANYONE)
        for policy, may in (
            (allow("denyAll"), False),
            (allow("byQueue", [NAMES.arn_of("other")]), False),
            (allow("byQueue", [NAMES.arn_of("other"), NAMES.arn_of("orders")]), True),
            (allow("allowAll"), True),
            ("", True),
        ):
            await queues.create("dlq", {}, {}, ANYONE)
            await queues.set_attributes("dlq", {"RedriveAllowPolicy": policy}, ANYONE)
            setting = queues.set_attributes("orders", {"RedrivePolicy": redrive()}, ANYONE)
            if may:
                await setting
                assert await queues.dead_letter_sources("dlq", 10, "", ANYONE) == (["orders"], None)
                await queues.set_attributes("orders", {"RedrivePolicy": ""}, ANYONE)
            else:
                error = await refused(C.INVALID_PARAMETER_VALUE, setting)
                assert "does not permit" in error.message
            assert await queues.dead_letter_sources("dlq", 10, "", ANYONE) == ([], None)

    with_gateways(1, main)
