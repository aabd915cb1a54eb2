"""Nodes that have not heard yet of what this gateway knows."""

from collections.abc import Awaitable, Sequence
from typing import TypeVar

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.metadata.metadata_view import MetadataView

_Answer = TypeVar("_Answer")

RETRY_AFTER_MS = 1_000


async def answer_of_node(
    call: Awaitable[_Answer], metadata: MetadataView, *, group_id: str, topic_ids: Sequence[str] | None = ()
) -> _Answer:
    """What the call to a node returns. A node waits a moment for news of a group or topic that it does not know; where
    that is too short, as without the coordination store, it is not the client who is wrong. `topic_ids` None: the
    node alone knows which topics it is about.

    Raises ServerError: UNAVAILABLE instead of GROUP_NOT_FOUND and TOPIC_NOT_FOUND for what this gateway knows.
    """
    try:
        return await call
    except ServerError as error:
        if error.code is ProblemCode.GROUP_NOT_FOUND:
            is_known = metadata.group_by_id(group_id) is not None
        else:
            is_of_topics = error.code is ProblemCode.TOPIC_NOT_FOUND and topic_ids is not None
            is_known = is_of_topics and all(map(metadata.topic_by_id, topic_ids or ()))
        if not is_known:
            raise
        detail = f"a storage node has not heard of it yet ({error.detail})"
        raise ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=RETRY_AFTER_MS) from None
