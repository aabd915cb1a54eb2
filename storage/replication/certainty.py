"""Whether a leader still knows what it says: another one may lead by now, and have committed more (rules R25, R35).

Who follows this leader is no other one. Who does not cannot be one without the minimum of replicas in sync, which those
who follow this one do not give it.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from storage.replication.followers import NEVER, Followers
from storage.replication.isr import InSyncReplicas


class Certainty(NamedTuple):
    """Of one leader, the node `leader`, by what it knows now; `minimum` is that of its topic."""

    leader: int
    isr: InSyncReplicas
    followers: Followers
    minimum: int

    def is_sure(self, since_ms: int, *, is_registered: bool) -> bool:
        """Whether at `since_ms` nobody else led it and had anything committed: by the clock, a pause leaves no events.
        Enough of the ISR fetched since then, and who did not cannot be a leader with its minimum, or would have been
        elected under the eyes of a node that `is_registered`."""
        heard_ms = {each.identity.node_id: each.heard_ms for each in self.followers}
        return self._is_alone(self._others(heard_ms, since_ms), is_registered=is_registered)

    def is_confirmed(self, since_ms: int, followed_ms: Mapping[int, int]) -> bool:
        """As `is_sure`, for what is said once and for all: by when its followers surely followed it. What was heard of
        them since may have been long on its way; and so may be what the store says of a leadership that was moved,
        which happens to registered nodes as well."""
        return self._is_alone(self._others(followed_ms, since_ms), is_registered=False)

    def _others(self, at_ms: Mapping[int, int], since_ms: int) -> set[int]:
        """The followers of which nothing is known since then."""
        nodes = (each.identity.node_id for each in self.followers)
        return {node_id for node_id in nodes if at_ms.get(node_id, NEVER) < since_ms}

    def _is_alone(self, silent: Collection[int], *, is_registered: bool) -> bool:
        following = [each for each in self.followers.members(self.isr.committed) if each.identity.node_id not in silent]
        is_enough = len(following) + 1 >= self.minimum
        return is_enough and (is_registered or not self._may_lead(silent))

    def _may_lead(self, silent: Collection[int]) -> bool:
        """Whether somebody else of the ISR may, with the minimum of replicas in sync: all of them `silent`."""
        others = {member.node_id for member in self.isr.maximal if member.node_id != self.leader}
        known = {each.identity.node_id for each in self.followers}
        electable = others.intersection(silent) | others - known
        return bool(electable) and len(electable.union(silent)) >= self.minimum
