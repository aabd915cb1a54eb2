"""A leader's followers: one per replica but itself, heard in this epoch or not."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from storage.replication.assignment import IsrMember, ReplicaIdentity
from storage.replication.follower_progress import UNKNOWN, FollowerProgress

ALWAYS = 1 << 62
NEVER = -ALWAYS
NOT_HEARD = ""  # in the place of a directory id
_NO_INCARNATION = -1


class Followers:
    """`logs` is how many logs a partition has."""

    def __init__(self, *, logs: int) -> None:
        self.impaired: frozenset[int] = frozenset()  # nodes with disks that take nothing
        self._logs = logs
        self._by_node: dict[int, FollowerProgress] = {}

    def __len__(self) -> int:
        return len(self._by_node)

    def __iter__(self) -> Iterator[FollowerProgress]:
        return iter(self._by_node.values())

    def get(self, node_id: int) -> FollowerProgress | None:
        return self._by_node.get(node_id)

    def set_nodes(self, node_ids: Iterable[int], now_ms: int) -> None:
        """One that was not heard in this epoch counts as behind from now on, and for nothing else."""
        known = self._by_node
        self._by_node = {
            node_id: known.get(node_id)
            or FollowerProgress(ReplicaIdentity(node_id, _NO_INCARNATION, NOT_HEARD), logs=self._logs, now_ms=now_ms)
            for node_id in node_ids
        }

    def life(self, follower: ReplicaIdentity, now_ms: int) -> FollowerProgress:
        """A follower that began anew is a stranger: nothing that its earlier life said is counted (rule R8)."""
        known = self._by_node[follower.node_id]
        if known.identity == follower:
            return known
        progress = FollowerProgress(follower, logs=self._logs, now_ms=now_ms)
        if known.behind_since_ms is not None:
            progress.behind_since_ms = known.behind_since_ms
        self._by_node[follower.node_id] = progress
        return progress

    def members(self, isr: Iterable[IsrMember]) -> list[FollowerProgress]:
        """Those that are in `isr`."""
        return [self._by_node[member.node_id] for member in isr if member.node_id in self._by_node]

    def known_members(self, isr: Iterable[IsrMember], *, but: int) -> tuple[IsrMember, ...]:
        """Those of `isr` that are no strangers; the node `but` is the leader itself."""
        return tuple(member for member in isr if member.node_id == but or not self.is_stranger(member))

    def is_stranger(self, member: IsrMember) -> bool:
        """It is no replica any more, or its disk is another one, and what it held is gone."""
        progress = self._by_node.get(member.node_id)
        return progress is None or progress.identity.directory_id not in (NOT_HEARD, member.directory_id)

    def is_impaired(self, progress: FollowerProgress) -> bool:
        return progress.identity.node_id in self.impaired

    def of(self, member: IsrMember) -> FollowerProgress | None:
        """None where it was not heard with the disk that its place in the ISR was earned with."""
        progress = self._by_node.get(member.node_id)
        return progress if progress is not None and progress.identity.directory_id == member.directory_id else None

    def durable_on_any(self, count: int, log: int) -> int:
        """Up to where `count` of them hold the log durably; UNKNOWN where there are fewer."""
        ends = sorted((progress.matched[log] for progress in self), reverse=True)
        return ends[count - 1] if count <= len(ends) else UNKNOWN

    def leader_grew(self, ends: tuple[int, ...], now_ms: int) -> None:
        for progress in self:
            progress.leader_grew(ends, now_ms)

    def heard(self, at_ms: Mapping[int, int]) -> None:
        for node_id, heard_ms in at_ms.items():
            progress = self._by_node.get(node_id)
            if progress is not None:
                progress.heard_ms = max(progress.heard_ms, heard_ms)

    def note_put_out(self, members: Iterable[IsrMember], now_ms: int) -> None:
        """The controller has taken them out of the ISR."""
        for progress in self.members(members):
            progress.put_out_ms = now_ms

    def heard_by(self, count: int, isr: Iterable[IsrMember]) -> int:
        """When `count` members of `isr` were heard, the latest of them; NEVER if there are fewer."""
        if not count:
            return ALWAYS
        heard = sorted((progress.heard_ms for progress in self.members(isr)), reverse=True)
        return heard[count - 1] if count <= len(heard) else NEVER


def next_late_ms(members: Iterable[FollowerProgress], lag_ms: int, *, after_ms: int) -> int | None:
    """When the next one that is not late at `after_ms` will be, if it goes on like this."""
    from_ms = [each.late_from_ms(lag_ms) for each in members]
    return min((each for each in from_ms if each is not None and each > after_ms), default=None)


def without_silent(
    members: Collection[IsrMember],
    silent: Collection[FollowerProgress],
    vital: Collection[FollowerProgress],
    *,
    least: int,
) -> tuple[IsrMember, ...]:
    """The members but for the silent ones, where the leader and the `vital` ones are `least`. Else all: who waits for
    more than the silent ones gains nothing, and each of them may still be elected."""
    if not silent or len(vital) + 1 < least:
        return tuple(members)
    silent_nodes = {progress.identity.node_id for progress in silent}
    return tuple(member for member in members if member.node_id not in silent_nodes)


def without_late(
    members: Collection[IsrMember], late: Iterable[FollowerProgress], *, least: int
) -> tuple[IsrMember, ...]:
    """The members but for the late ones, as long as `least` are left. First goes the one that is behind for longest,
    and of several that are behind since the same append, the one that was not heard for longest: it may be dead.

    Below the minimum nothing is committed, so a smaller ISR would gain nothing; and whoever stays in it has all that is
    committed and may still be elected when the others are lost (what KIP-966 keeps a second list for).
    """
    by_lateness = sorted(late, key=lambda progress: (progress.behind_since_ms or 0, progress.heard_ms))
    leaving = [progress.identity.node_id for progress in by_lateness[: max(len(members) - least, 0)]]
    return tuple(member for member in members if member.node_id not in leaving)
