"""Examples of each call for openapi.yaml and the try-out of `/docs`: a shop's orders, and billing, which reads them.

A test sends every request to a cluster of the real thing, and holds every answer against its schema.
"""

from app.http.description import example_answers as answers
from app.http.description.audit_examples import AUDIT_EXAMPLES
from app.http.description.compaction_examples import COMPACTION_EXAMPLES
from app.http.description.copy_operations import COPY_EXAMPLES
from app.http.description.demand_example import DEMAND
from app.http.description.encryption_operations import ENCRYPTION_EXAMPLES
from app.http.description.example_forms import Examples, Named, in_json
from app.http.description.media_types import NDJSON, OCTETS
from app.http.description.namespace_examples import NAMESPACE_EXAMPLES
from app.http.description.stream_operations import STREAM_EXAMPLES
from app.http.description.token_examples import TOKEN_EXAMPLES

_TOPIC = {"topic": "orders"}
_PARTITION = {**_TOPIC, "partition": 0}
_GROUP = {"group": "billing"}
_SCHEDULED = {"topic": "orders", "scheduleId": answers.SCHEDULE_ID}
_RECURRING = {"topic": "orders", "schedule": "every-morning"}
_REDRIVE = {**_GROUP, "jobId": answers.REDRIVE_ID}
_EXCLUSIVE = {"group": "shipping"}
_MEMBER = {**_EXCLUSIVE, "member": "worker-1"}
_NODE = {"node": 4}


_LINES = '{"key": "customer-17", "body": {"order": 4711}}\n{"key": "customer-18", "body": {"order": 4712}}\n'
_SEND: dict[str, Named] = {
    **in_json(
        one_message={"queue": "orders", "key": "customer-17", "body": {"order": 4711, "total": "19.90"}},
        a_batch={
            "queue": "orders",
            "messages": [
                {"key": "customer-17", "body": {"order": 4711, "total": "19.90"}, "dedupId": "order-4711"},
                {"key": "customer-18", "body": {"order": 4712, "total": "5.00"}, "tags": ["express"]},
            ],
        },
        bytes={"queue": "orders", "bodyBase64": "iVBORw0KGgo=", "contentType": "image/png"},
    ),
    NDJSON: {"a message on each line": _LINES},
    OCTETS: {"one message": "any bytes"},
}
_SEEK = Examples(
    _GROUP,
    in_json(
        from_the_start={"topic": "orders", "to": "earliest", "dryRun": True},
        past_everything={"topic": "orders", "to": "latest", "dryRun": True},
        from_a_time={"topic": "orders", "to": {"time": answers.TIME_MS}, "dryRun": True},
        one_partition={"topic": "orders", "partition": 0, "to": {"offset": 0}, "dryRun": True},
        ten_messages_again={"topic": "orders", "to": {"relative": -10}, "dryRun": True},
        from_a_message={"topic": "orders", "to": {"messageId": answers.MESSAGE_ID}, "dryRun": True},
        a_readers_own_position={"offsets": [{"topic": "orders", "partition": 0, "offset": 1, "metadata": "row 7"}]},
    ),
    {
        200: in_json(as_it_would_be=answers.SEEK, committed=answers.COMMITTED),
        207: in_json(one_failed=answers.SEEK_FAILED),
    },
)
_BLOCKED = in_json(
    a_key={"topic": "orders", "key": "customer-17"},
    one_message={"messageId": answers.MESSAGE_ID},
    a_place={"topic": "orders", "partition": 0, "offset": 0},
)
_NEW_TOPIC = {"partitions": 8, "config": {"retentionMs": 604_800_000}}
_NEW_GROUP = {"settings": {"visibilityMs": 60_000, "maxAttempts": 5}}


def _settling(done: str) -> dict[int, dict[str, Named]]:
    return {
        200: in_json(one={"status": done}, several={"results": [{"status": done}, {"status": done}], "failed": 0}),
        207: in_json(one_failed={"results": [{"status": done}, answers.STALE], "failed": 1}),
    }


EXAMPLES: dict[str, Examples] = {
    "sendMessages": Examples(
        {},
        _SEND,
        {
            201: in_json(one_message=answers.STORED, a_batch=answers.STORED_BATCH, later=answers.STORED_LATER),
            202: in_json(one_message=answers.ACCEPTED),
            207: in_json(one_is_too_large=answers.STORED_IN_PART),
        },
    ),
    "receiveMessages": Examples(
        {"queue": ["orders"], "group": "billing", "max": 10, "waitSeconds": 5},
        {},
        {
            200: {
                **in_json(a_message={"messages": [answers.DELIVERY]}, none={"messages": [], "reason": "EMPTY"}),
                NDJSON: {"a message on each line": answers.line(answers.DELIVERY)},
            }
        },
    ),
    "lookAtMessage": Examples({"messageId": answers.MESSAGE_ID}, {}, {200: in_json(leased=answers.INSPECTED)}),
    "listScheduled": Examples({"topic": "orders", "limit": 10}, {}, {200: in_json(one=answers.SCHEDULED_LISTING)}),
    "lookAtScheduled": Examples(
        _SCHEDULED,
        {},
        {200: in_json(it_is_scheduled=answers.SCHEDULED, it_was_delivered=answers.DELIVERED_LATER)},
    ),
    "cancelScheduled": Examples(_SCHEDULED, {}, {200: in_json(it_is_cancelled=answers.CANCELLED)}),
    "moveScheduled": Examples(
        _SCHEDULED,
        in_json(to_a_time={"deliverAt": "2024-06-30T18:00:00+02:00"}, from_now={"delaySeconds": 3600}),
        {200: in_json(it_is_moved=answers.MOVED)},
    ),
    "acknowledge": Examples(
        {},
        in_json(
            one={"receipt": answers.RECEIPT},
            several={"receipts": [answers.RECEIPT, answers.NEXT_RECEIPT]},
            by_id={"messageId": answers.MESSAGE_ID, "group": "billing"},
        ),
        _settling("acknowledged"),
    ),
    "giveBack": Examples(
        {},
        in_json(
            one={"receipt": answers.RECEIPT, "delaySeconds": 30, "reason": "no such customer"},
            several={"receipts": [answers.RECEIPT, answers.NEXT_RECEIPT]},
        ),
        _settling("returned"),
    ),
    "extend": Examples(
        {},
        in_json(
            one={"receipt": answers.RECEIPT, "visibilitySeconds": 60},
            several={"receipts": [answers.RECEIPT, answers.NEXT_RECEIPT], "visibilitySeconds": 60},
        ),
        _settling("extended"),
    ),
    "readRecords": Examples(
        {**_PARTITION, "offset": "earliest"},
        {},
        {
            200: {
                **in_json(a_page=answers.RECORDS),
                NDJSON: {"a message on each line": answers.line(answers.MESSAGE)},
            }
        },
    ),
    "listTopics": Examples({"limit": 100}, {}, {200: in_json(one_page={"topics": [answers.TOPIC]})}),
    "putTopic": Examples(
        _TOPIC,
        in_json(a_week={**_NEW_TOPIC}, defaults={}),
        {200: in_json(it_was_there=answers.TOPIC), 201: in_json(it_is_new=answers.TOPIC)},
    ),
    "updateTopic": Examples(
        _TOPIC,
        in_json(keep_for_longer={"config": {"retentionMs": 1_209_600_000}}, more_partitions={"partitions": 16}),
        {200: in_json(two_weeks=answers.UPDATED_TOPIC)},
    ),
    "describeTopic": Examples(_TOPIC, {}, {200: in_json(on_three_nodes=answers.TOPIC_DESCRIPTION)}),
    "deleteTopic": Examples(_TOPIC),
    "describePartition": Examples(_PARTITION, {}, {200: in_json(on_three_nodes=answers.PARTITION_DESCRIPTION)}),
    "decommissionPartitions": Examples(
        _TOPIC, in_json(the_last={"partitions": [7]}), {200: in_json(the_last=answers.SMALLER_TOPIC)}
    ),
    "purgeTopic": Examples(
        _TOPIC,
        in_json(what_would_go={"dryRun": True}, one_partition={"partitions": [0]}),
        {200: in_json(two_messages=answers.DELETED), 207: in_json(one_failed=answers.DELETED_IN_PART)},
    ),
    "deleteBefore": Examples(
        _TOPIC,
        in_json(
            an_offset={"offsets": [{"partition": 0, "offset": 2}], "dryRun": True},
            a_time={"time": answers.TIME_MS},
        ),
        {200: in_json(two_messages=answers.DELETED), 207: in_json(one_failed=answers.DELETED_IN_PART)},
    ),
    **COMPACTION_EXAMPLES,
    **ENCRYPTION_EXAMPLES,
    "openProducer": Examples(
        {"topic": "orders", "producer": "billing-7"},
        in_json(a_process={"instanceId": "9f86d081"}),
        {200: in_json(it_took_over=answers.PRODUCER)},
    ),
    "listSchedules": Examples(_TOPIC, {}, {200: in_json(one=answers.RECURRING_LISTING)}),
    "putSchedule": Examples(
        {**_TOPIC, "schedule": "reminders"},
        in_json(
            by_cron={"cron": "0 8 * * mon-fri", "timeZone": "Europe/Berlin", "message": {"body": {"report": "sales"}}},
            every_so_often={"everySeconds": 300, "message": {"key": "customer-17", "body": 1}, "missed": "all"},
        ),
        {200: in_json(it_was_there=answers.RECURRING), 201: in_json(it_is_made=answers.RECURRING)},
    ),
    "updateSchedule": Examples(
        _RECURRING,
        in_json(pause={"paused": True}, another_time={"cron": "30 7 * * *", "timeZone": "Asia/Tokyo"}),
        {200: in_json(it_is_changed=answers.RECURRING)},
    ),
    "describeSchedule": Examples(_RECURRING, {}, {200: in_json(one=answers.RECURRING)}),
    "deleteSchedule": Examples(_RECURRING),
    "listGroups": Examples({"limit": 100}, {}, {200: in_json(one_page={"groups": [answers.GROUP]})}),
    "putGroup": Examples(
        _GROUP,
        in_json(five_attempts={**_NEW_GROUP}, defaults={}),
        {200: in_json(it_was_there=answers.GROUP), 201: in_json(it_is_new=answers.GROUP)},
    ),
    "updateGroup": Examples(
        _GROUP,
        in_json(
            longer_leases={"settings": {"visibilityMs": 120_000}},
            another_dead_letter_topic={"settings": {"deadLetterTopic": "unpaid"}},
            dead_letter_topic_by_default={"settings": {"deadLetterTopic": None}},
        ),
        {200: in_json(longer_leases=answers.UPDATED_GROUP)},
    ),
    "describeGroup": Examples(_GROUP, {}, {200: in_json(five_attempts=answers.GROUP)}),
    "deleteGroup": Examples(_GROUP),
    "pauseGroup": Examples(
        _GROUP,
        in_json(all_of_it={}, a_topic={"topic": "orders"}, one_partition={"topic": "orders", "partitions": [0]}),
        {200: in_json(a_topic=answers.PAUSED_GROUP)},
    ),
    "resumeGroup": Examples(
        _GROUP, in_json(all_of_it={}, a_topic={"topic": "orders"}), {200: in_json(all=answers.GROUP)}
    ),
    "groupOffsets": Examples(_GROUP, {}, {200: in_json(one_leased=answers.OFFSETS)}),
    "groupDemand": Examples(_GROUP, {}, {200: in_json(one_leased=DEMAND)}),
    "copyPosition": Examples(
        {"group": "billing"},
        in_json(all_topics={"from": "audit", "dryRun": True}),
        {200: in_json(as_it_would_be=answers.COPIED), 207: in_json(one_failed=answers.COPY_FAILED)},
    ),
    "startRedrive": Examples(
        _GROUP,
        in_json(
            all_of_it={},
            some_slowly={"topic": "orders.billing.dlq", "filter": 'tag in ("express")', "ratePerSecond": 50},
            elsewhere={"topic": "orders.billing.dlq", "to": "orders"},
        ),
        {201: in_json(it_begins=answers.REDRIVE)},
    ),
    "listRedrives": Examples(_GROUP, {}, {200: in_json(one={"jobs": [answers.REDRIVE_IN_LIST]})}),
    "lookAtRedrive": Examples(_REDRIVE, {}, {200: in_json(it_is_done=answers.REDRIVEN)}),
    "cancelRedrive": Examples(_REDRIVE, {}, {200: in_json(it_is_cancelled=answers.REDRIVE_CANCELLED)}),
    "listBlocked": Examples(_GROUP, {}, {200: in_json(one=answers.BLOCKED)}),
    "releaseBlocked": Examples(_GROUP, _BLOCKED, {200: in_json(it_goes_on=answers.DECIDED)}),
    "skipBlocked": Examples(_GROUP, _BLOCKED, {200: in_json(it_is_done=answers.DECIDED)}),
    "seekGroup": _SEEK,
    "seekGroupByPost": _SEEK,
    "listMembers": Examples(_EXCLUSIVE, {}, {200: in_json(one=answers.MEMBERS)}),
    "joinGroup": Examples(
        _MEMBER,
        in_json(
            a_topic={"topics": ["orders"]}, what_comes_as_well={"patterns": ["orders*"], "sessionTimeoutMs": 30_000}
        ),
        {200: in_json(it_is_alone=answers.ASSIGNMENT)},
    ),
    "heartbeat": Examples(
        _MEMBER,
        in_json(at_once={"memberEpoch": 2}, wait_for_news={"memberEpoch": 2, "waitSeconds": 20}),
        {200: in_json(no_news=answers.ASSIGNMENT)},
    ),
    "leaveGroup": Examples(_MEMBER),
    "lookAtCluster": Examples({"limit": 100}, {}, {200: in_json(four_nodes=answers.CLUSTER)}),
    "planMoves": Examples(
        {},
        in_json(
            without_a_node={"drain": [4]},
            a_node_is_lost={"lost": [4]},
            as_asked={"moves": [{"topic": "orders", "partition": 0, "replicas": [1, 2, 3]}]},
        ),
        {200: in_json(a_move=answers.PLAN)},
    ),
    "drainNode": Examples(_NODE, {}, {202: in_json(it_still_has_replicas=answers.DRAINING_NODE)}),
    "stopDrainingNode": Examples(_NODE),
    "reassignPartition": Examples(
        _PARTITION,
        in_json(onto_three_nodes={"replicas": [1, 2, 3]}),
        {202: in_json(onto_three_nodes=answers.ORDER)},
    ),
    "cancelMove": Examples(_PARTITION),
    "planUncleanElection": Examples(
        _PARTITION,
        in_json(whoever_loses_least={}, a_certain_node={"node": 2}),
        {200: in_json(two_messages_would_be_lost=answers.UNCLEAN_PLAN)},
    ),
    "electUnclean": Examples(
        _PARTITION,
        in_json(as_planned=answers.UNCLEAN_PLAN["order"]),
        {200: in_json(it_leads=answers.UNCLEAN_ELECTED)},
    ),
    "pauseMoves": Examples(),
    "resumeMoves": Examples(),
    **AUDIT_EXAMPLES,
    **STREAM_EXAMPLES,
    **COPY_EXAMPLES,
    **TOKEN_EXAMPLES,
    **NAMESPACE_EXAMPLES,
    "isAlive": Examples({}, {}, {200: in_json(it_is={"status": "alive"})}),
    "isReady": Examples({}, {}, {200: in_json(it_can={"status": "ready"})}),
    "metrics": Examples({}, {}, {200: {"text/plain": {"a part": answers.METRICS}}}),
}
