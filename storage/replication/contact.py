"""Whom of the ISR a leader does not hear any more while something waits for them, and what follows from it.

Fetches without news are not told to the machine of a partition. So whoever seems to be silent is asked for first; and
once more a moment later, because a leader that stood still itself finds all followers silent, and their fetches in its
sockets.
"""

from collections.abc import Iterable, Sequence

from storage.replication.assignment import Assignment
from storage.replication.follower_progress import UNKNOWN, FollowerProgress
from storage.replication.hand_over import LeadershipPatience
from storage.replication.leader_events import ForgetHandOvers, HandOver
from storage.replication.replication_settings import ReplicationSettings


class Contact:
    """Of one leader, from `now_ms` on. `silent` and `vital` are who the last look found silent, and who it found well:
    nobody, where it was not told who is heard, so that nothing is done on old news. `must_ask`: it needs to know."""

    def __init__(self, node_id: int, assignment: Assignment, settings: ReplicationSettings, now_ms: int) -> None:
        self.silent: list[FollowerProgress] = []
        self.vital: list[FollowerProgress] = []
        self.must_ask = False
        self._contact_ms = settings.contact_ms
        self._silence_ms = settings.silence_ms
        self._grace_ms = settings.silence_grace_ms
        self._patience = LeadershipPatience(node_id, assignment, settings, now_ms)

    def look_away(self) -> None:
        """Nothing can be done now."""
        self.silent = []
        self.vital = []
        self.must_ask = False

    def look(
        self,
        followers: Iterable[FollowerProgress],
        members: Sequence[FollowerProgress],
        *,
        is_waiting: bool,
        is_told: bool,
        floor: int,
        now_ms: int,
    ) -> list[HandOver | ForgetHandOvers]:
        """At the followers that are `members` of the ISR, which needs `floor`. `is_waiting`: something is not
        committed. `is_told`: `heard_ms` of all is as of now."""
        self.look_away()
        for each in members:
            stuck_ms = self._patience.stuck_from_ms(each)
            if stuck_ms is not None and stuck_ms <= now_ms and not is_told:
                self.must_ask = True
            if (is_waiting or is_told or each.is_doubted) and now_ms >= self._doubtful_from_ms(each):
                self._doubt(each, is_waiting=is_waiting, is_told=is_told, now_ms=now_ms)
        if is_told:
            well_since_ms = now_ms - self._silence_ms // 2
            self.silent = [each for each in members if each.is_silent]
            self.vital = [each for each in members if each.heard_ms >= well_since_ms]
        effects: list[HandOver | ForgetHandOvers] = []
        if self._patience.is_over(members, self.silent, needed=floor - 1, now_ms=now_ms):
            since_ms = now_ms - self._contact_ms
            heard = [each for each in followers if not each.is_doubted and each.was_heard_after(since_ms)]
            effects.append(HandOver(floor, tuple(each.identity.node_id for each in heard)))
        if self._patience.may_forget(now_ms):
            effects.append(ForgetHandOvers())
        return effects

    def _doubt(self, member: FollowerProgress, *, is_waiting: bool, is_told: bool, now_ms: int) -> None:
        is_first = not member.is_doubted
        if not is_first and now_ms < member.doubted_ms + self._grace_ms:
            return
        if not is_told:
            self.must_ask = True
        elif is_first:
            member.doubted_ms = now_ms
        else:
            member.silent_ms = now_ms
            member.doubted_ms = now_ms if is_waiting else UNKNOWN  # it is looked at again, if that matters

    def seen(self, assignment: Assignment, now_ms: int) -> None:
        """A new revision of the partition's key, in this leader's epoch."""
        self._patience.seen(assignment, now_ms)

    def isr_changed(self, isr_nodes: Iterable[int], now_ms: int) -> None:
        """By this leader."""
        self._patience.isr_changed(isr_nodes, now_ms)

    def next_deadline(self, members: Iterable[FollowerProgress], lag_ms: int, *, after_ms: int) -> int | None:
        """When the next look is due, if nobody says anything, also for who is late after `lag_ms` then; the last one
        was at `after_ms`."""
        deadline_ms = self._patience.next_deadline(after_ms=after_ms)
        grace_ms, silence_ms = self._grace_ms, self._silence_ms
        for each in members:  # asked for after every append, so nothing is called for who is well
            behind_ms, heard_ms = each.behind_since_ms, each.heard_ms
            if each.doubted_ms > heard_ms:
                at_ms = each.doubted_ms + grace_ms
            elif behind_ms is None:
                continue
            else:
                at_ms = heard_ms + silence_ms + min(each.slack_ms, silence_ms)
                if at_ms < behind_ms + grace_ms:
                    at_ms = behind_ms + grace_ms
            if behind_ms is not None:
                late_ms = behind_ms + lag_ms
                if after_ms < late_ms < at_ms:
                    at_ms = late_ms
                if heard_ms > behind_ms + silence_ms:
                    stuck_ms = self._patience.stuck_from_ms(each)
                    at_ms = stuck_ms if stuck_ms is not None and after_ms < stuck_ms < at_ms else at_ms
            if deadline_ms is None or at_ms < deadline_ms:
                deadline_ms = at_ms
        return deadline_ms

    def _doubtful_from_ms(self, member: FollowerProgress) -> int:
        from_ms = member.heard_ms + self._silence_ms + min(member.slack_ms, self._silence_ms)
        return from_ms if member.behind_since_ms is None else max(from_ms, member.behind_since_ms + self._grace_ms)
