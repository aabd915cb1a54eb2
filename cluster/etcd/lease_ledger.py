"""Until when each lease is surely alive, as its holder must see it (rule R16). Sans-IO.

etcd starts a lease's time anew when the request reaches it, so counting from before the request was sent, and stopping
a margin earlier, ends here before it can end there: also after the process or etcd stood still for a while. A lease
that was declared lost stays lost, even where etcd, after a change of its leader, would let it live on.
"""

from cluster.ports.coordination import CoordinationUnavailableError, LeaseLostError


class LeaseLedger:
    """Times are those of the monotonic clock. `leases_max` bounds the living, and the lost that are remembered."""

    def __init__(self, *, margin_ms: int, leases_max: int) -> None:
        self._margin_ms = margin_ms
        self._leases_max = leases_max
        self._valid_until_ms: dict[int, int] = {}
        self._lost: dict[int, None] = {}

    def check_room(self, now_ms: int) -> None:
        """Raises CoordinationUnavailableError where no further lease can be kept account of."""
        if len(self._valid_until_ms) >= self._leases_max:
            for lease_id in [each for each, until_ms in self._valid_until_ms.items() if until_ms <= now_ms]:
                self.lost(lease_id)
        if len(self._valid_until_ms) >= self._leases_max:
            raise CoordinationUnavailableError(f"there are {self._leases_max} leases already")

    def renewed(self, lease_id: int, *, asked_at_ms: int, ttl_ms: int, now_ms: int) -> None:
        """etcd has granted it, or kept it alive, at some time since `asked_at_ms`.

        Raises LeaseLostError when the answer came so late that the lease was declared lost meanwhile.
        """
        self.left_ms(lease_id, now_ms)
        valid_until_ms = asked_at_ms + ttl_ms - min(self._margin_ms, ttl_ms // 2)
        self._valid_until_ms[lease_id] = max(valid_until_ms, self._valid_until_ms.get(lease_id, 0))
        self.left_ms(lease_id, now_ms)

    def left_ms(self, lease_id: int, now_ms: int) -> int | None:
        """How long the lease is surely alive; None for one that was never renewed here.

        Raises LeaseLostError once that time has passed.
        """
        if lease_id not in self._lost:
            valid_until_ms = self._valid_until_ms.get(lease_id)
            if valid_until_ms is None:
                return None
            if valid_until_ms > now_ms:
                return valid_until_ms - now_ms
            self.lost(lease_id)
        raise LeaseLostError(f"lease {lease_id} has ended, or may have")

    def lost(self, lease_id: int) -> None:
        """It has ended, or is declared to have."""
        self._valid_until_ms.pop(lease_id, None)
        self._lost[lease_id] = None
        while len(self._lost) > self._leases_max:
            del self._lost[next(iter(self._lost))]
