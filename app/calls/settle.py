"""What a request to acknowledge, give back or extend asks for."""

from dataclasses import dataclass

from acklog.wire.identifiers import MessageId, Receipt
from cluster.errors import ServerError

Item = Receipt | MessageId | ServerError


@dataclass(frozen=True, slots=True)
class SettleCommand:
    """`items` holds, in the request's order, what is to be settled or why it cannot be. `group` goes with message ids;
    None: the default one of the topic's namespace. `delay_ms` -1: by the group's back-off; `reason` goes with a nack.
    `kind` is what the items are: "receipt" or "messageId"."""

    action: str
    items: list[Item]
    is_batch: bool
    group: str | None = None
    delay_ms: int = -1
    visibility_ms: int = 0
    kind: str = "receipt"
    reason: str = ""

    def field_of(self, index: int) -> str:
        """Where in the request the item stands."""
        return f"{self.kind}s[{index}]" if self.is_batch else self.kind
