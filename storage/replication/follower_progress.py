"""What a leader knows of one follower: only what was said to this leader, in this epoch, by this life of it."""

from collections.abc import Sequence

from storage.replication.assignment import ReplicaIdentity

UNKNOWN = -1


class FollowerProgress:
    """`matched` has, per log, up to where the follower durably holds what the leader holds; UNKNOWN until it has
    fetched from a place where the two logs agree. `put_out_ms` is when the controller took it out of the ISR, most
    often because it is gone: what was heard before tells nothing of whether it lives."""

    __slots__ = (
        "_ends_at_last_fetch",
        "_last_fetch_ms",
        "behind_since_ms",
        "heard_ms",
        "identity",
        "matched",
        "put_out_ms",
    )

    def __init__(self, identity: ReplicaIdentity, *, logs: int, now_ms: int) -> None:
        self.identity = identity
        self.matched = [UNKNOWN] * logs
        self.behind_since_ms: int | None = now_ms
        self.heard_ms = now_ms
        self.put_out_ms = UNKNOWN
        self._last_fetch_ms = now_ms
        self._ends_at_last_fetch: tuple[int, ...] | None = None

    def was_heard_after(self, at_ms: int) -> bool:
        return self.heard_ms > max(at_ms, self.put_out_ms)

    def fetched(self, matched: Sequence[int], *, ends: tuple[int, ...], now_ms: int) -> None:
        """It fetched; `matched` is UNKNOWN where the logs part, `ends` are the leader's.

        A follower lacks something since the last time that it had all that there was at the fetch before, so that one
        which keeps up with a steady stream never seems to fall behind. (As Kafka's followers, KIP-16.)
        """
        for log, offset in enumerate(matched):
            self.matched[log] = max(self.matched[log], offset)  # a delayed fetch must not take anything back
        if self._reached(ends):
            self.behind_since_ms = None
        elif self._ends_at_last_fetch is not None and self._reached(self._ends_at_last_fetch):
            self.behind_since_ms = self._last_fetch_ms
        elif self.behind_since_ms is None:
            self.behind_since_ms = now_ms
        self._ends_at_last_fetch = ends
        self._last_fetch_ms = now_ms
        self.heard_ms = max(self.heard_ms, now_ms)

    def leader_grew(self, ends: tuple[int, ...], now_ms: int) -> None:
        if self.behind_since_ms is None and not self._reached(ends):
            self.behind_since_ms = now_ms

    def late_from_ms(self, lag_ms: int) -> int | None:
        """When it will have lacked something for `lag_ms`; None while it lacks nothing."""
        return None if self.behind_since_ms is None else self.behind_since_ms + lag_ms

    def is_late(self, lag_ms: int, now_ms: int) -> bool:
        from_ms = self.late_from_ms(lag_ms)
        return from_ms is not None and from_ms <= now_ms

    def is_at(self, ends: Sequence[int]) -> bool:
        """It holds everything below `ends`."""
        return self._reached(ends)

    def _reached(self, ends: Sequence[int]) -> bool:
        return all(matched >= end for matched, end in zip(self.matched, ends, strict=True))
