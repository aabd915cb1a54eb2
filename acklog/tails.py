"""What a tail of a topic gives: messages as they come, and what of them is not there any more."""

import msgspec

from acklog.messages import StoredMessage


class TailMessage(StoredMessage, kw_only=True, omit_defaults=True):
    """A message of a tail. Where its body is longer than the tail wanted, `is_truncated`: `body_bytes` is then its
    beginning, and `whole_body_bytes` how long it is."""

    is_truncated: bool = msgspec.field(name="truncated", default=False)
    whole_body_bytes: int | None = msgspec.field(name="bodyBytes", default=None)

    @property
    def cursor(self) -> str:
        """The place behind this message, over all partitions: `client.tail(topic, cursor=...)` goes on there."""
        cursor: str = self.__dict__.get("cursor", "")
        return cursor


class TailGap(msgspec.Struct, rename="camel"):
    """Offsets that a tail does not give, and goes on behind.

    `reason` is `removed` (by retention or a purge), `damaged`, `cut` (by an unclean election: other messages stand from
    `next_offset` on), `partitionGone` (nothing more comes from it, and `next_offset` is None), or `topicReplaced`: the
    topic was deleted and made again, what follows is the new one from its beginning, and all else here is None."""

    reason: str
    partition: int | None = None
    from_offset: int | None = None
    next_offset: int | None = None
