"""Readers that say in which leader epoch they have read."""

from acklog.wire.problems import ProblemCode
from app.services.catalog import Catalog
from cluster.errors import ServerError


async def check_epoch_has_been(catalog: Catalog, topic_id: str, partition: int, epoch: int, *, field: str) -> None:
    """The leader is of an earlier epoch than the reader was answered in. If there has been no such epoch, none is
    waited for: what was read is of another log (rules R4, R14). Raises ServerError LOG_DIVERGED."""
    place = topic_id, partition
    latest = (await catalog.later_epochs({place: epoch})).get(place)
    if isinstance(latest, int):
        raise ServerError(
            ProblemCode.LOG_DIVERGED,
            f"The partition has had leader epochs up to {latest}: what was read in the leader epoch {epoch} is of "
            "another log, and nothing of it is known to be in this one.",
            field=field,
            extra={"divergedAt": 0, "leaderEpoch": latest},
        )
