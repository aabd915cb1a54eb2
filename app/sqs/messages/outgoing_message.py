"""A message as it is to be sent, and as it was sent."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.sqs.messages.message_attribute import MessageAttribute
from app.sqs.messages.sqs_text import size_of


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingMessage:
    """`delay_seconds` None: as the queue has it. `trace` are headers for it where it names no trace itself."""

    body: str
    delay_seconds: int | None = None
    attributes: Mapping[str, MessageAttribute] = field(default_factory=dict)
    system_attributes: Mapping[str, MessageAttribute] = field(default_factory=dict)
    deduplication_id: str | None = None
    group_id: str | None = None
    trace: Mapping[str, str] = field(default_factory=dict)

    @property
    def size_bytes(self) -> int:
        """What counts against a queue's MaximumMessageSize: system attributes do not."""
        return size_of(self.body) + sum(size_of(name) + each.size_bytes for name, each in self.attributes.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class SentMessage:
    """MD5s of attributes are None where there are none."""

    message_id: str
    body_md5: str
    attributes_md5: str | None = None
    system_attributes_md5: str | None = None
    sequence_number: str | None = None
