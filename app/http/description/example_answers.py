"""What is answered in the examples: parts of one story, so that its ids and figures fit together."""

import json
from typing import Any

Document = dict[str, Any]

TIME_MS = 1_795_424_196_738
MESSAGE_ID = "m-ctp87f0ap1697-0-1-0"
RECEIPT = "r-ctp87f0ap1697-0-0-d2cz21h92635n-0-1-1"
NEXT_RECEIPT = "r-ctp87f0ap1697-0-1-d2cz21h92635n-0-1-1"


def line(document: Document) -> str:
    """A line of NDJSON."""
    return json.dumps(document, separators=(",", ":")) + "\n"


STORED: Document = {"messageId": MESSAGE_ID, "partition": 0, "offset": 0}
ACCEPTED: Document = {"messageId": None, "partition": 0, "offset": None}
STORED_BATCH: Document = {
    "results": [STORED, {"messageId": "m-ctp87f0ap1697-3-1-0", "partition": 3, "offset": 0}],
    "failed": 0,
}
STORED_IN_PART: Document = {
    "results": [
        STORED,
        {
            "code": "MESSAGE_TOO_LARGE",
            "detail": "the body has more than 1048576 bytes",
            "retriable": False,
            "field": "messages[1].body",
        },
    ],
    "failed": 1,
}
STALE: Document = {
    "code": "RECEIPT_STALE",
    "detail": "the message was leased again, or is done",
    "retriable": False,
    "field": "receipts[1]",
}
_HEAD: Document = {"messageId": MESSAGE_ID, "queue": "orders", "partition": 0, "offset": 0}
_CONTENT: Document = {
    "key": "customer-17",
    "body": {"order": 4711, "total": "19.90"},
    "timestamp": TIME_MS,
    "appendTime": TIME_MS,
}
MESSAGE: Document = {**_HEAD, **_CONTENT}
DELIVERY: Document = {**_HEAD, "receipt": RECEIPT, "attempt": 1, **_CONTENT}
INSPECTED: Document = {
    **MESSAGE,
    "groups": [{"group": "billing", "state": "leased", "attempts": 1, "until": TIME_MS + 30_000}],
}
RECORDS: Document = {
    "records": [MESSAGE],
    "offset": 0,
    "nextOffset": 1,
    "logStart": 0,
    "highWatermark": 1,
    "epoch": 1,
}
_CONFIG: Document = {
    "retention": "time",
    "retentionMs": 604_800_000,
    "retentionBytes": -1,
    "segmentBytes": 134_217_728,
    "dedupWindowMs": 300_000,
    "minInsyncReplicas": 2,
    "maxReplicaLagMs": 10_000,
}
TOPIC: Document = {
    "name": "orders",
    "id": "ctp87f0ap1697",
    "partitions": 8,
    "replicationFactor": 3,
    "createdAt": TIME_MS - 43,
    "config": _CONFIG,
    "decommissioned": [],
}
UPDATED_TOPIC: Document = {**TOPIC, "config": {**_CONFIG, "retentionMs": 1_209_600_000}}
SMALLER_TOPIC: Document = {**TOPIC, "decommissioned": [7]}
_ENDS: Document = {"logStart": 0, "highWatermark": 1}
_PARTITION: Document = {
    "partition": 0,
    "leader": 1,
    "leaderEpoch": 1,
    "replicas": [1, 2, 4],
    "inSyncReplicas": [1, 2, 4],
    "movingTo": None,
    "life": "active",
    **_ENDS,
    "sizeBytes": 143,
    "problem": None,
}
_PROGRESS: Document = {
    "topic": "orders",
    "partition": 0,
    "progress": 0,
    "doneAbove": 0,
    "inFlight": 1,
    "delayed": 0,
    "blocked": 0,
    "deadLettered": 0,
    "lost": 0,
    **_ENDS,
    "lag": 1,
    "lagMs": 12_000,
    "oldestAgeMs": 40_000,
    "committed": None,
    "paused": False,
    "problem": None,
}
TOPIC_DESCRIPTION: Document = {**TOPIC, "partitions": 1, "partitionStates": [_PARTITION]}
PARTITION_DESCRIPTION: Document = {**_PARTITION, "topic": "orders", "groups": [{**_PROGRESS, "group": "billing"}]}
_SETTINGS: Document = {
    "startPosition": "earliest",
    "visibilityMs": 60_000,
    "maxAttempts": 5,
    "retryBackoffMinMs": 1_000,
    "retryBackoffMaxMs": 600_000,
    "deadLetterTopic": None,
    "maxInFlight": 100_000,
    "maxInFlightPerConsumer": None,
    "maxInFlightPerKey": None,
    "fairBy": "none",
    "sessionTimeoutMs": 15_000,
    "rebalanceTimeoutMs": 60_000,
    "assignor": "sticky",
    "onMissingPosition": "start",
    "onExhausted": "deadLetter",
    "retryDelaysMs": None,
    "retryJitter": 0.5,
}
GROUP: Document = {
    "name": "billing",
    "id": "d2cz21h92635n",
    "mode": "shared",
    "createdAt": TIME_MS + 176,
    "settings": _SETTINGS,
    "deadLetterSources": None,
    "paused": [],
}
PAUSED_GROUP: Document = {**GROUP, "paused": [{"topic": "orders", "partitions": None, "since": TIME_MS + 9_000}]}
UPDATED_GROUP: Document = {**GROUP, "settings": {**_SETTINGS, "visibilityMs": 120_000}}
PRODUCER: Document = {"topic": "orders", "producer": "billing-7", "producerId": "akna6k7shy2ya", "epoch": 3}
_MEMBER: Document = {"group": "shipping", "member": "worker-1", "memberEpoch": 2, "groupEpoch": 2}
_OWNED = [{"topic": "orders", "partition": number, "ownership": 2} for number in range(8)]
ASSIGNMENT: Document = {**_MEMBER, "sessionTimeoutMs": 15_000, "heartbeatIntervalMs": 5_000, "assignment": _OWNED}
MEMBERS: Document = {
    "group": "shipping",
    "groupEpoch": 2,
    "members": [
        {
            "member": "worker-1",
            "memberEpoch": 2,
            "joinedEpoch": 1,
            "topics": ["orders"],
            "patterns": [],
            "rack": "",
            "sessionTimeoutMs": 15_000,
            "static": False,
            "instanceId": "",
            "silentMs": 1_200,
            "assignment": _OWNED,
        }
    ],
}
OFFSETS: Document = {"group": "billing", "offsets": [_PROGRESS], "lag": 1, "lagMs": 12_000, "oldestAgeMs": 40_000}
SEEK: Document = {
    "group": "billing",
    "topic": "orders",
    "dryRun": True,
    "partitions": [{"partition": 0, "offset": 0, "previous": 1}],
    "failed": 0,
}
SCHEDULE_ID = "s-akna6k7shy2ya-0-1-0"
STORED_LATER: Document = {
    "messageId": None,
    "scheduleId": SCHEDULE_ID,
    "partition": 0,
    "offset": None,
    "deliverAt": TIME_MS + 900_000,
}
SCHEDULED: Document = {
    "scheduleId": SCHEDULE_ID,
    "queue": "orders",
    "partition": 0,
    "state": "scheduled",
    "deliverAt": TIME_MS + 900_000,
    "size": 12,
    "key": "customer-17",
    "body": {"order": 17},
}
SCHEDULED_LISTING: Document = {
    "scheduled": [{name: value for name, value in SCHEDULED.items() if name != "body"}],
    "pending": 1,
}
DELIVERED_LATER: Document = {
    "scheduleId": SCHEDULE_ID,
    "queue": "orders",
    "partition": 0,
    "state": "delivered",
    "messageId": MESSAGE_ID,
    "offset": 0,
}
CANCELLED: Document = {"scheduleId": SCHEDULE_ID, "queue": "orders", "partition": 0, "state": "cancelled"}
MOVED: Document = {
    "scheduleId": SCHEDULE_ID,
    "queue": "orders",
    "partition": 0,
    "state": "scheduled",
    "deliverAt": TIME_MS + 3_600_000,
}
RECURRING: Document = {
    "schedule": "every-morning",
    "queue": "orders",
    "partition": 0,
    "cron": "0 8 * * mon-fri",
    "timeZone": "Europe/Berlin",
    "missed": "once",
    "createdAt": TIME_MS,
    "nextAt": TIME_MS + 3_600_000,
    "message": {"body": {"report": "sales"}},
}
RECURRING_LISTING: Document = {"schedules": [{name: RECURRING[name] for name in RECURRING if name != "message"}]}
_BLOCKED_MESSAGE: Document = {
    "topic": "orders",
    "partition": 0,
    "offset": 0,
    "messageId": MESSAGE_ID,
    "key": "customer-17",
    "attempts": 5,
    "since": TIME_MS + 60_000,
}
BLOCKED: Document = {"group": "billing", "keys": [_BLOCKED_MESSAGE], "count": 1, "unknown": []}
DECIDED: Document = {"group": "billing", "keys": [_BLOCKED_MESSAGE]}
COPIED: Document = {
    "group": "billing",
    "from": "audit",
    "dryRun": True,
    "offsets": [{"topic": "orders", "partition": 0, "offset": 1, "previous": 0, "doneAbove": 0}],
    "failed": 0,
}
COMMITTED: Document = {
    "group": "billing",
    "offsets": [{"topic": "orders", "partition": 0, "progress": 1, "previous": 0}],
    "failed": 0,
}
_UNAVAILABLE: Document = {
    "code": "UNAVAILABLE",
    "detail": "the partition has no leader at the moment",
    "retriable": True,
}
COPY_FAILED: Document = {
    **COPIED,
    "offsets": [*COPIED["offsets"], {"topic": "orders", "partition": 1, "problem": _UNAVAILABLE}],
    "failed": 1,
}
SEEK_FAILED: Document = {
    **SEEK,
    "partitions": [*SEEK["partitions"], {"partition": 1, "problem": _UNAVAILABLE}],
    "failed": 1,
}
REDRIVE_ID = "2nehaadj6b1yg"
REDRIVE_IN_LIST: Document = {
    "jobId": REDRIVE_ID,
    "group": "billing",
    "topic": "orders.billing.dlq",
    "state": "running",
    "createdAt": TIME_MS,
    "total": 42,
    "moved": 0,
    "failed": 0,
}
REDRIVE: Document = {
    **REDRIVE_IN_LIST,
    "partitions": [{"partition": 0, "start": 8, "end": 50, "position": 8, "moved": 0, "failed": 0}],
}
REDRIVEN: Document = {
    **REDRIVE_IN_LIST,
    "state": "done",
    "moved": 42,
    "finishedAt": TIME_MS + 800,
    "partitions": [{"partition": 0, "start": 8, "end": 50, "position": 50, "moved": 42, "failed": 0}],
}
REDRIVE_CANCELLED: Document = {
    **REDRIVE_IN_LIST,
    "state": "cancelled",
    "moved": 12,
    "cancelledAt": TIME_MS + 300,
    "partitions": [{"partition": 0, "start": 8, "end": 50, "position": 20, "moved": 12, "failed": 0}],
}
DELETED: Document = {
    "topic": "orders",
    "dryRun": True,
    "deleted": 2,
    "partitions": [
        {"partition": 0, "logStart": 2, "previous": 0, "deleted": 2, "groups": [{"group": "billing", "lost": 1}]}
    ],
    "failed": 0,
}
DELETED_IN_PART: Document = {
    **DELETED,
    "partitions": [*DELETED["partitions"], {"partition": 1, "problem": _UNAVAILABLE}],
    "failed": 1,
}


def _node(number: int) -> Document:
    return {
        "node": number,
        "address": f"node-{number}:7000",
        "rack": "",
        "live": True,
        "draining": False,
        "leaving": False,
        "replicas": 6,
        "leaders": 2,
        "protocol": 4,
    }


CLUSTER: Document = {
    "embedded": False,
    "controller": 1,
    "neededProtocol": 4,
    "storeReachable": True,
    "automaticMoves": True,
    "nodes": [_node(number) for number in (1, 2, 3, 4)],
    "partitions": 8,
    "withoutLeader": 0,
    "belowMinInsync": 0,
    "underReplicated": 0,
    "decommissioned": 0,
    "moving": 0,
    "ordersWaiting": 0,
    "moves": [],
    "troubled": [],
    "complete": True,
}
PLAN: Document = {
    "moves": [
        {
            "topic": "orders",
            "partition": 0,
            "kind": "drain",
            "from": [1, 2, 4],
            "to": [1, 2, 3],
            "reason": "node 4 is drained",
        }
    ],
    "stuck": [],
    "complete": True,
}
DRAINING_NODE: Document = {**_node(4), "draining": True}
ORDER: Document = {"topic": "orders", "partition": 0, "replicas": [1, 2, 3]}
_SHORT: Document = {"logStart": 0, "logEnd": 40, "lastEpoch": 3, "highWatermark": 39}
UNCLEAN_PLAN: Document = {
    "topic": "orders",
    "partition": 0,
    "leaderEpoch": 4,
    "replicas": [
        {
            "node": 1,
            "registered": False,
            "inSync": True,
            "messages": None,
            "delivery": None,
            "problem": "it is not registered",
        },
        {"node": 2, "registered": True, "inSync": False, "messages": _SHORT, "delivery": _SHORT, "problem": None},
    ],
    "loss": {
        "fromOffset": 40,
        "belowOffset": 42,
        "unknownBeyond": [1],
        "groups": [{"group": "billing", "progress": 42, "progressThen": 40}],
    },
    "order": {"node": 2, "incarnation": 7, "directoryId": "01JBZC6Y3N7Q2V", "revision": 1234},
}
UNCLEAN_ELECTED: Document = {
    "topic": "orders",
    "partition": 0,
    "uncleanElection": {
        "count": 1,
        "leaderEpoch": 5,
        "node": 2,
        "logEnd": 40,
        "lostBelow": 42,
        "atMs": 1_760_000_000_000,
    },
}
METRICS = (
    "# HELP acklog_waiting_requests Requests that wait for messages\n"
    "# TYPE acklog_waiting_requests gauge\n"
    "acklog_waiting_requests 0.0\n"
)
