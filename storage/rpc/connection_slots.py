"""Who may be connected: so many strangers, gateways and nodes, none of whom can keep the others out."""

from typing import Protocol

from cluster.tls.peer_identity import PeerKind
from storage.rpc.rpc_settings import RpcServerSettings


class Occupant(Protocol):
    def idle_since_ms(self) -> float | None:
        """Since when nothing was asked; None while something is being served."""
        ...

    def make_room(self) -> None:
        """Hang up."""
        ...


class ConnectionSlots:
    """A connection is a stranger until it has introduced itself."""

    def __init__(self, settings: RpcServerSettings) -> None:
        self._settings = settings
        self._limits = {
            PeerKind.STRANGER: settings.strangers_max,
            PeerKind.GATEWAY: settings.gateway_connections_max,
            PeerKind.NODE: settings.node_connections_max,
        }
        self._occupants: dict[PeerKind, dict[Occupant, None]] = {kind: {} for kind in PeerKind}

    def begin(self, occupant: Occupant) -> None:
        """As a stranger. The oldest makes room: whoever means it introduces itself at once."""
        strangers = self._occupants[PeerKind.STRANGER]
        strangers[occupant] = None
        if len(strangers) > self._limits[PeerKind.STRANGER]:
            oldest = next(iter(strangers))
            self.end(oldest)
            oldest.make_room()

    def introduce(self, occupant: Occupant, kind: PeerKind, *, now_ms: float) -> bool:
        """Whether there is room for it as one of this kind."""
        occupants = self._occupants[kind]
        if len(occupants) >= self._limits[kind]:
            idle = self._longest_idle(occupants, now_ms)
            if idle is None:
                return False
            self.end(idle)
            idle.make_room()
        self.end(occupant)
        occupants[occupant] = None
        return True

    def end(self, occupant: Occupant) -> None:
        for occupants in self._occupants.values():
            occupants.pop(occupant, None)

    def _longest_idle(self, occupants: dict[Occupant, None], now_ms: float) -> Occupant | None:
        found, since_ms = None, now_ms - self._settings.idle_ms
        for each in occupants:
            idle_since_ms = each.idle_since_ms()
            if idle_since_ms is not None and idle_since_ms <= since_ms:
                found, since_ms = each, idle_since_ms
        return found
