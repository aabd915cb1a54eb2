"""The commonest request of all, parsed with no more than it needs: one JSON message to send."""

import msgspec
from msgspec import UNSET, UnsetType

from app.calls.names import queue_of
from app.calls.send import Produce
from app.http.parsing.json_text import check_utf8
from app.http.parsing.message import message_of
from app.http.parsing.message_properties import MessageFields
from cluster.errors import ServerError


class _Envelope(MessageFields, forbid_unknown_fields=True, rename="camel", gc=False):
    queue: str | UnsetType = UNSET
    topic: str | UnsetType = UNSET


_decode = msgspec.json.Decoder(_Envelope).decode


def parse_single(body: bytes) -> Produce | None:
    """The message; None for everything else, faults included, which `parse_send` tells apart."""
    try:
        check_utf8(body)
        fields = _decode(body)
        message = message_of(fields)
        queue = queue_of(
            None if fields.queue is UNSET else fields.queue,
            None if fields.topic is UNSET else fields.topic,
        )
    except (ServerError, msgspec.DecodeError, RecursionError):
        return None
    return None if fields.dedup_id is not None else Produce(queue, [message])
