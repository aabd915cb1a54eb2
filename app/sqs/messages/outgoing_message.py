"""A message as it is to be sent, and as it was sent."""

from collections.abc import Mapping

import msgspec

from app.sqs.messages.message_attribute import MessageAttribute
from app.sqs.messages.sqs_text import size_of


class OutgoingMessage(msgspec.Struct, frozen=True, kw_only=True):
    """`delay_seconds` None: as the queue has it. `trace` are headers for it where it names no trace itself."""

    body: str
    delay_seconds: int | None = None
    attributes: Mapping[str, MessageAttribute] = {}
    system_attributes: Mapping[str, MessageAttribute] = {}
    deduplication_id: str | None = None
    group_id: str | None = None
    trace: Mapping[str, str] = {}

    @property
    def size_bytes(self) -> int:
        """What counts against a queue's MaximumMessageSize: system attributes do not."""
        size_bytes = size_of(self.body)
        for name, each in self.attributes.items():
            size_bytes += size_of(name) + each.size_bytes
        return size_bytes


class SentMessage(msgspec.Struct, frozen=True, kw_only=True):
    """MD5s of attributes are None where there are none."""

    message_id: str
    body_md5: str
    attributes_md5: str | None = None
    system_attributes_md5: str | None = None
    sequence_number: str | None = None
