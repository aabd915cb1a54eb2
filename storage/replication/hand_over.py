"""When a leader that cannot commit hands its leadership over (rule R36), and when that is forgotten.

Below the minimum of in-sync replicas the ISR does not shrink, so a leader that too few followers come to would keep a
partition from everybody for as long as it is registered. Who can reach whom it cannot know: it makes room for another
member, which does the same if it fares no better. Who gets a leadership back that way was no worse than the others, and
keeps it for longer.
"""

from collections.abc import Iterable, Sequence

from storage.replication.assignment import Assignment
from storage.replication.follower_progress import FollowerProgress
from storage.replication.replication_settings import ReplicationSettings


class LeadershipPatience:
    """Of one leader, from `now_ms` on."""

    def __init__(self, node_id: int, assignment: Assignment, settings: ReplicationSettings, now_ms: int) -> None:
        self._node_id = node_id
        self._settings = settings
        self._next_try_ms = now_ms
        if node_id in assignment.given_up_by:
            self._next_try_ms += settings.hand_over_again_ms
        self._given_up_by: frozenset[int] = frozenset()
        self._replicas: frozenset[int] = frozenset()
        self._forget_at_ms: int | None = None
        self._is_wanted = False
        self.seen(assignment, now_ms)

    def seen(self, assignment: Assignment, now_ms: int) -> None:
        """A new revision of the partition's key, in this leader's epoch."""
        self._given_up_by, self._replicas = frozenset(assignment.given_up_by), frozenset(assignment.replicas)
        self.isr_changed((member.node_id for member in assignment.isr), now_ms)

    def isr_changed(self, isr_nodes: Iterable[int], now_ms: int) -> None:
        """Who has given the leadership up and holds no replica any more need not come back."""
        is_whole = self._given_up_by.intersection(self._replicas) <= set(isr_nodes)
        is_calm = bool(self._given_up_by) and is_whole
        self._forget_at_ms = now_ms + self._settings.hand_over_calm_ms if is_calm else None

    def is_over(
        self, members: Sequence[FollowerProgress], silent: Sequence[FollowerProgress], *, needed: int, now_ms: int
    ) -> bool:
        """Whether so few of the ISR's other `members` come along that `needed` of them are not to be had."""
        useful = [each for each in members if each not in silent and not self._is_stuck(each, now_ms)]
        self._is_wanted = len(useful) < needed <= len(members)
        if not self._is_wanted or now_ms < self._next_try_ms:
            return False
        self._next_try_ms = now_ms + self._settings.hand_over_retry_ms
        return True

    def may_forget(self, now_ms: int) -> bool:
        """Whether those that have handed the leadership over have been back in sync for long."""
        if self._forget_at_ms is None or now_ms < self._forget_at_ms:
            return False
        self._forget_at_ms = now_ms + self._settings.hand_over_calm_ms  # in case that it cannot be written now
        return True

    def next_deadline(self, *, after_ms: int) -> int | None:
        """When something is due that no follower has to do with; `after_ms` is when was looked last."""
        if not self._is_wanted or self._next_try_ms <= after_ms:
            return self._forget_at_ms
        return self._next_try_ms if self._forget_at_ms is None else min(self._next_try_ms, self._forget_at_ms)

    def stuck_from_ms(self, follower: FollowerProgress) -> int | None:
        """When a follower that fetches counts as getting nowhere; None while it lacks nothing."""
        if follower.behind_since_ms is None:
            return None
        return max(follower.moved_ms, follower.behind_since_ms) + self._settings.commit_stall_ms

    def _is_stuck(self, follower: FollowerProgress, now_ms: int) -> bool:
        """It fetches all the time: one that is silent is judged as such."""
        from_ms = self.stuck_from_ms(follower)
        return from_ms is not None and from_ms <= min(now_ms, follower.heard_ms + self._settings.silence_ms)
