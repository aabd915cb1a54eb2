"""The part of the examples' story that is about a table: the shop's customers, in a topic that is compacted."""

from typing import Any

from app.http.description.example_answers import MESSAGE
from app.http.description.example_forms import Examples, in_json

Document = dict[str, Any]

CUSTOMERS = "customers"
KEY = "customer-17"
LATEST: Document = {**MESSAGE, "queue": CUSTOMERS, "key": KEY, "body": {"city": "Bern"}}
_REPLICA: Document = {"node": 1, "state": "waiting", "cleanBytes": 9_216, "dirtyBytes": 4_301}
ASKED: Document = {
    "topic": CUSTOMERS,
    "partitions": [{"partition": 0, "replicas": [_REPLICA, {**_REPLICA, "node": 2, "state": "running"}]}],
    "failed": 0,
}
DONE: Document = {
    "topic": CUSTOMERS,
    "partitions": [{"partition": 0, "replicas": [{"node": 1, "state": "idle", "cleanBytes": 9_731, "dirtyBytes": 0}]}],
    "failed": 0,
}
IN_PART: Document = {
    "topic": CUSTOMERS,
    "partitions": [
        {
            "partition": 0,
            "replicas": [
                _REPLICA,
                {
                    "node": 2,
                    "problem": {"code": "UNAVAILABLE", "detail": "Node 2 does not answer.", "retriable": True},
                },
            ],
        }
    ],
    "failed": 1,
}

TABLE = {"topic": CUSTOMERS}
COMPACTION_EXAMPLES = {
    "compactTopic": Examples(
        TABLE,
        in_json(all_of_it={}, one_partition={"partitions": [0]}),
        {202: in_json(it_waits=ASKED), 207: in_json(one_node_is_away=IN_PART)},
    ),
    "describeCompaction": Examples(TABLE, {}, {200: in_json(it_is_done=DONE), 207: in_json(one_node_is_away=IN_PART)}),
    "latestOfKey": Examples({**TABLE, "key": KEY}, {}, {200: in_json(a_customer=LATEST)}),
}
