"""What a replica does about logs of its own that are damaged (rule R12): it gives up its place, and begins them anew.

A damaged log is never cut or patched where it stands: what is below the damage may be all that is left of something
committed. So the replica first gives up the leadership, if it has that, and its place in the ISR, where enough others
are in it, in a transaction that takes the next leader epoch. Only when it is out, and in an epoch that knows nothing of
its log yet, it drops the log and fetches all of it from the leader.

Why the epoch: whoever leads in it knows nothing of where this replica was, and every fetch of before is fenced. Within
the old epoch the leader could count an old position, of a log that is gone by now, and let the replica join with it.
"""

from storage.replication.assignment import NO_EPOCH, Assignment, ReplicaIdentity


class Repair:
    """`damaged` are the logs that wait for it, or are in the middle of it."""

    def __init__(self, me: ReplicaIdentity, *, retry_ms: int) -> None:
        self.damaged: set[int] = set()
        self._me = me
        self._retry_ms = retry_ms
        self._told_in_epoch = NO_EPOCH  # the last one in which somebody may have counted what is damaged
        self._ask_at_ms: int | None = None

    def found(self, log: int, *, leader_epoch: int) -> bool:
        """False where it is known already."""
        if log in self.damaged:
            return False
        self.damaged.add(log)
        self._told_in_epoch = max(self._told_in_epoch, leader_epoch)
        return True

    def first_seen(self, assignment: Assignment) -> None:
        """An earlier life of this node may have told its positions in this epoch."""
        self._told_in_epoch = max(self._told_in_epoch, assignment.leader_epoch)

    def may_begin(self, assignment: Assignment) -> bool:
        """Whether nobody counts with what is damaged, now or later: not in the ISR, in an epoch that knows nothing."""
        is_member = any(member.node_id == self._me.node_id for member in assignment.isr)
        return bool(self.damaged) and not is_member and assignment.leader_epoch > self._told_in_epoch

    def done(self, log: int) -> None:
        self.damaged.discard(log)
        if not self.damaged:
            self._ask_at_ms = None

    # --- asking for an epoch to begin in -----------------------------------------------------------------------------

    def ask(self, now_ms: int) -> None:
        """It is asked now, and again until a role begins in which it may begin, or all is repaired."""
        self._ask_at_ms = now_ms + self._retry_ms

    def stop_asking(self) -> None:
        self._ask_at_ms = None

    def is_to_be_asked(self, now_ms: int) -> bool:
        return self._ask_at_ms is not None and self._ask_at_ms <= now_ms

    def next_deadline(self) -> int | None:
        return self._ask_at_ms
