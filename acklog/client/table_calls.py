"""The calls about topics that keep the last message of each key."""

from collections.abc import Sequence
from urllib.parse import quote

from acklog.client.call import JSON, Call, Request, encode_document, read_as, segment
from acklog.client.message_calls import bodies_of
from acklog.messages import StoredMessage
from acklog.tables import CompactionState

_read_compaction = read_as(CompactionState)
_read_message = read_as(StoredMessage)


def get(topic: str, key: str) -> Call[StoredMessage]:
    # Dots alone would be taken for a step up by whatever tidies paths.
    encoded = key.replace(".", "%2E") if key in {".", ".."} else quote(key, safe="")
    request = Request("GET", f"/topics/{segment(topic)}/keys/{encoded}")
    return Call(request, _read_message, bodies=lambda message: bodies_of([message]))


def compact(topic: str, partitions: Sequence[int] | None) -> Call[CompactionState]:
    document = {} if partitions is None else {"partitions": list(partitions)}
    return Call(Request("POST", f"/topics/{segment(topic)}/compact", encode_document(document), JSON), _read_compaction)


def compaction(topic: str) -> Call[CompactionState]:
    return Call(Request("GET", f"/topics/{segment(topic)}/compaction"), _read_compaction)
