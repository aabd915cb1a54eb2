"""A topic that is being restored: it is born so, and is whole from the end of the restore on, for good.

So nobody has to hear of it in time: whoever knows of the topic at all knows that it is not whole, or that it is.
"""

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.values import Topic

RESTORING_RETRY_MS = 5_000


def check_whole(topic: Topic, *, field: str | None = None) -> None:
    """Raises ServerError TOPIC_RESTORING."""
    if topic.is_restoring:
        raise being_restored(topic, field=field)


def check_restored_by(topic: Topic, restore_id: str) -> None:
    """Raises ServerError TOPIC_NOT_RESTORING."""
    if not topic.is_restoring or topic.restore_id != restore_id:
        what = "another restore fills it" if topic.is_restoring else "it is whole"
        detail = f"The restore {restore_id!r} does not fill the topic {topic.name!r}: {what}."
        raise ServerError(ProblemCode.TOPIC_NOT_RESTORING, detail, field="restoreId")


def being_restored(topic: Topic, *, field: str | None = None) -> ServerError:
    detail = f"The topic {topic.name!r} is being restored from a backup, and is not served before that is finished."
    return ServerError(ProblemCode.TOPIC_RESTORING, detail, field=field, retry_after_ms=RESTORING_RETRY_MS)
