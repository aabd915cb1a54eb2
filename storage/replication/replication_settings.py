"""What replication can be told. Sizes are in bytes, times in milliseconds."""

from dataclasses import dataclass

from cluster.model.values import TopicConfig

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ReplicationSettings:
    """Of one node. Every buffer, wait and retry of replication has its limit here."""

    fetch_wait_ms: int = 500
    """How long a leader keeps a fetch for which it has nothing; also how late a follower may hear of a high watermark
    that moved without new records."""

    fetch_gather_ms: int = 5
    """How long a follower that was given records waits for them to be durable, before it asks for news of its other
    partitions without anything to say of its own. A fetch costs both nodes as much as a dozen records; what comes
    meanwhile comes together with the next one."""

    fetch_answer_timeout_ms: int = 5_000
    """How long a follower waits for an answer, beyond `fetch_wait_ms`, before it begins a new session."""

    fetch_bytes_max: int = 8 * MIB
    """Batches in one answer; only an answer with a single, larger batch exceeds it."""

    partition_fetch_bytes_max: int = 1 * MIB
    """Batches of one log in one answer, so that a busy partition leaves room for the others."""

    fetches_in_flight_max: int = 2
    """Of one session: one that waits at the leader, and one that brings newer positions and ends that wait."""

    fetch_partitions_max: int = 2_000
    """Positions in one fetch; the others follow with the next one."""

    session_partitions_max: int = 20_000
    """Of one session; a leader refuses a fetch that goes beyond it."""

    live_lag_records_max: int = 10_000
    """A follower with more than this to fetch does so in the catch-up session, where it delays nobody."""

    catch_up_bytes_per_second: int = 64 * MIB
    """Per pair of nodes."""

    retry_ms: int = 200
    """Pause after an answer that says no, or after the coordination store did; changes of the ISR that fail one after
    the other wait up to 32 times as long."""

    repair_retry_ms: int = 1_000
    """How often a replica with a damaged log looks whether enough others are in sync to give up its place."""

    waiting_acks_max: int = 100_000
    """Appends of one partition that wait for replicas; beyond it appends are refused as OVERLOADED."""

    silence_ms: int = 2_000
    """How long a follower that lacks something may send no fetch; up to twice as long where it was slow of late. After
    that, and `silence_grace_ms`, it leaves the ISR where enough others are heard, long before it counts as late."""

    silence_grace_ms: int = 500
    """Between the first look that finds a follower silent, and the one that counts: a leader that stood still itself
    finds all of them silent, and their fetches waiting."""

    commit_stall_ms: int = 5_000
    """How long followers that lack something may fetch without getting anywhere, before the leader takes itself for the
    cause."""

    hand_over_retry_ms: int = 500
    """How often a leader that cannot commit tries to hand its leadership over."""

    hand_over_again_ms: int = 12_000
    """How long a leader that got back what it had handed over, as nobody else could commit either, keeps it before it
    hands it over again."""

    hand_over_calm_ms: int = 30_000
    """How long those that have handed a leadership over must have been in sync again before that is forgotten, and they
    are preferred as leaders again."""

    contact_ms: int = 3_000
    """How long after its last fetch a follower counts as heard. Who is not heard does not join the ISR; and without
    the coordination store a leader serves while it hears enough followers."""

    def __post_init__(self) -> None:
        if self.fetch_wait_ms >= self.contact_ms:
            raise ValueError("fetch_wait_ms must be below contact_ms, or an idle follower would seem to be gone")
        if self.fetch_wait_ms >= self.silence_ms:
            raise ValueError("fetch_wait_ms must be below silence_ms, or an idle follower would seem to be silent")
        if self.fetches_in_flight_max < 2:
            raise ValueError("fetches_in_flight_max must be at least 2, or new positions would wait for news")


@dataclass(frozen=True, slots=True)
class TopicReplication:
    """Of one topic. `max_replica_lag_ms`: a follower that lacks something for longer than this leaves the ISR."""

    min_insync_replicas: int = 1
    max_replica_lag_ms: int = 10_000

    @staticmethod
    def of(config: TopicConfig) -> "TopicReplication":
        return TopicReplication(config.min_insync_replicas, config.max_replica_lag_ms)

    def __post_init__(self) -> None:
        if self.min_insync_replicas < 1 or self.max_replica_lag_ms < 1:
            raise ValueError("min_insync_replicas and max_replica_lag_ms must be positive")
