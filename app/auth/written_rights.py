"""What a written right comes to, for a token's topics and groups."""

from app.auth.right import EVERY, Effect, Right
from cluster.model.right_entry import RightEntry


class RightEntryError(ValueError):
    """It says nothing that can be decided by. `field` names what does not, of a token's description."""

    def __init__(self, reason: str, *, field: str) -> None:
        super().__init__(reason)
        self.field = field


def right_of(entry: RightEntry, source: str, *, topics: tuple[str, ...], groups: tuple[str, ...]) -> Right:
    """Of a token for these topics and groups. Raises RightEntryError."""
    if (entry.allow is None) == (entry.deny is None):
        raise RightEntryError(f"{source} needs either allow or deny", field=source)
    is_for_cluster = bool(entry.cluster)
    if entry.topics is None and entry.groups is None and entry.cluster is None:
        is_for_cluster = topics == EVERY and groups == EVERY
    elif not (entry.topics or entry.groups or is_for_cluster):
        raise RightEntryError(f'{source} is for nothing: name topics, groups, or "cluster": true', field=source)
    else:
        topics, groups = entry.topics or (), entry.groups or ()
    return Right(
        effect=Effect.DENY if entry.allow is None else Effect.ALLOW,
        actions=tuple(dict.fromkeys(entry.allow or entry.deny or ())),
        topics=topics,
        groups=groups,
        is_for_cluster=is_for_cluster,
        source=source,
    )
