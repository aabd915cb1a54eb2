"""What a leader knows of one follower: only what was said to this leader, in this epoch, by this life of it."""

from collections.abc import Sequence

from storage.replication.assignment import ReplicaIdentity

UNKNOWN = -1

SLOWEST_KEPT_MS = 60_000
"""For how long a fetch that was slow to come makes its follower's later silences less surprising."""


class FollowerProgress:
    """`matched` has, per log, up to where the follower durably holds what the leader holds; UNKNOWN until it has
    fetched from a place where the two logs agree. `put_out_ms` is when the controller took it out of the ISR, most
    often because it is gone: what was heard before tells nothing of whether it lives. `moved_ms` is when it last had
    more than before, `doubted_ms` when its silence was last found too long, and `silent_ms` when that was confirmed;
    a fetch since then refutes both. `slack_ms` is how long it took of late to come for something new, at most: a busy
    machine is not a silent one."""

    __slots__ = (
        "_ends_at_last_fetch",
        "_last_fetch_ms",
        "_slowest_at_ms",
        "behind_since_ms",
        "doubted_ms",
        "heard_ms",
        "identity",
        "matched",
        "moved_ms",
        "put_out_ms",
        "silent_ms",
        "slack_ms",
    )

    def __init__(self, identity: ReplicaIdentity, *, logs: int, now_ms: int) -> None:
        self.identity = identity
        self.matched = [UNKNOWN] * logs
        self.behind_since_ms: int | None = now_ms
        self.heard_ms = now_ms
        self.moved_ms = now_ms
        self.put_out_ms = UNKNOWN
        self.doubted_ms = UNKNOWN
        self.silent_ms = UNKNOWN
        self.slack_ms = 0
        self._slowest_at_ms = now_ms
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
            if offset > self.matched[log]:  # a delayed fetch must not take anything back
                self.matched[log] = offset
                self.moved_ms = now_ms
        if self.behind_since_ms is not None:
            self._note_pace(now_ms - max(self.heard_ms, self.behind_since_ms), now_ms)
        if self._reached(ends):
            self.behind_since_ms = None
        elif self._ends_at_last_fetch is not None and self._reached(self._ends_at_last_fetch):
            self.behind_since_ms = self._last_fetch_ms
        elif self.behind_since_ms is None:
            self.behind_since_ms = now_ms
        self._ends_at_last_fetch = ends
        self._last_fetch_ms = now_ms
        self.heard_ms = max(self.heard_ms, now_ms)

    def _note_pace(self, took_ms: int, now_ms: int) -> None:
        if took_ms >= self.slack_ms or now_ms - self._slowest_at_ms > SLOWEST_KEPT_MS:
            self.slack_ms, self._slowest_at_ms = took_ms, now_ms

    @property
    def is_doubted(self) -> bool:
        return self.doubted_ms > self.heard_ms

    @property
    def is_silent(self) -> bool:
        return self.silent_ms > self.heard_ms

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
