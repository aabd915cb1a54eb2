"""How a node registers, and what it waits for."""

from dataclasses import dataclass

from cluster.life.held_lease import LeaseSettings


@dataclass(frozen=True, slots=True)
class RegistrationSettings(LeaseSettings):
    directory_conflict_wait_ms: int = 15_000
    """How long a registration of the same node id with another data directory is waited for to end, while the store
    answers. Longer than the time to live: what is there after that is kept alive by somebody."""

    announce_attempts_max: int = 5
    """Tries to tell that the node is about to stop, or how its disk is."""
