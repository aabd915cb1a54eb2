"""The limits of redrive jobs on one node."""

from dataclasses import dataclass, field

from cluster.backoff import Backoff


@dataclass(frozen=True, slots=True)
class RedriveSettings:
    letters_at_once: int = 200
    """Letters of one note: so many are looked for at most after a runner died."""

    letter_bytes_at_once: int = 4 * 1024 * 1024
    """About how much of them; a single one may be larger."""

    read_bytes_at_once: int = 1024 * 1024
    """Of the dead letters, and of what is looked through for letters that were sent."""

    targets_at_once: int = 16
    """Topics that letters of one note go to."""

    ends_kept_ms: int = 5_000
    """How long it is not asked anew where the targets end: what is looked through after a death is so much longer."""

    messages_looked_at_once: int = 10_000
    """How far a runner looks for letters that are meant before it notes how far it is."""

    parts_at_once: int = 8
    """Partitions of dead letters that the node works at in the same moment; the others have their turn after them."""

    period_ms: int = 100
    """Of a job with a rate, so much is sent at once."""

    call_timeout_ms: int = 5_000
    """How long another partition's leader may take to be found and to answer."""

    commit_timeout_ms: int = 30_000
    """How long a runner waits for what another one had begun to append."""

    retry_ms: int = 100
    """Before a leader is asked again that could not be asked."""

    backoff: Backoff = field(default_factory=lambda: Backoff(first_ms=200, max_ms=10_000))
    """Before a partition is tried again after a failure."""
