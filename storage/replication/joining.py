"""Which followers join the ISR, of those that have all that it takes: the ones that were heard lately."""

from collections.abc import Iterable
from dataclasses import dataclass

from storage.replication.assignment import IsrMember, ReplicaIdentity
from storage.replication.follower_progress import FollowerProgress


@dataclass(frozen=True, slots=True)
class Joining:
    """`must_ask`: of some it is not known whether they are heard. `ask_from_ms` is when to ask once more whether those
    that were put out are."""

    identities: tuple[ReplicaIdentity, ...] = ()
    must_ask: bool = False
    ask_from_ms: int | None = None

    @property
    def members(self) -> tuple[IsrMember, ...]:
        return tuple(IsrMember(each.node_id, each.directory_id) for each in self.identities)


def joining(candidates: Iterable[FollowerProgress], *, contact_ms: int, now_ms: int) -> Joining:
    """`candidates` are those that have everything."""
    silent_since_ms = now_ms - contact_ms
    found: list[ReplicaIdentity] = []
    must_ask = False
    ask_from_ms: int | None = None
    for each in candidates:
        if each.was_heard_after(silent_since_ms):
            found.append(each.identity)
            continue
        must_ask = True
        if each.heard_ms > silent_since_ms:
            at_ms = each.put_out_ms + contact_ms
            ask_from_ms = at_ms if ask_from_ms is None else min(ask_from_ms, at_ms)
    return Joining(tuple(found), must_ask, ask_from_ms)
