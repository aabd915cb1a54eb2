"""Since when nodes live, or are away. Kept by the planner: a new controller begins anew, and so waits longer."""

from collections.abc import Iterable

from cluster.metadata.membership import Membership


class NodeTimes:
    """`observe` the membership whenever it may have changed; the times are those of the caller's monotonic clock."""

    def __init__(self) -> None:
        self._live_since_ms: dict[int, tuple[int, int]] = {}
        self._away_since_ms: dict[int, int] = {}
        self._is_new = True

    def observe(self, membership: Membership, holders: Iterable[int], now_ms: int) -> None:
        """`holders` are nodes that hold replicas, whether anybody has heard of them or not: only they are missed."""
        is_first, self._is_new = self._is_new, False
        live: dict[int, tuple[int, int]] = {}
        for member in membership.live():
            assert member.registration is not None
            incarnation = member.registration.incarnation
            known = self._live_since_ms.get(member.node_id)
            since_ms = known[1] if known is not None and known[0] == incarnation else now_ms
            # What lived before this controller began has lived for as long as matters.
            live[member.node_id] = (incarnation, _LONG_AGO_MS if is_first else since_ms)
        self._live_since_ms = live
        away = [node for node in sorted(dict.fromkeys(holders)) if node not in live]
        self._away_since_ms = {node: self._away_since_ms.get(node, now_ms) for node in away}

    def has_lived_ms(self, node_id: int, now_ms: int) -> int:
        known = self._live_since_ms.get(node_id)
        return -1 if known is None else now_ms - known[1]

    def lost(self, now_ms: int, *, delay_ms: int) -> list[int]:
        """Nodes that have been away for `delay_ms`."""
        return [node for node, since_ms in self._away_since_ms.items() if now_ms - since_ms >= delay_ms]

    def away(self) -> list[int]:
        return list(self._away_since_ms)

    def next_due_ms(self, now_ms: int, *, away_ms: int, lived_ms: Iterable[int]) -> int | None:
        """When the next node will have been away, or have lived, for one of these times."""
        moments = [since_ms + away_ms for since_ms in self._away_since_ms.values()]
        moments += [since_ms + lived for _, since_ms in self._live_since_ms.values() for lived in lived_ms]
        return min((moment for moment in moments if moment > now_ms), default=None)


_LONG_AGO_MS = -(10**15)
