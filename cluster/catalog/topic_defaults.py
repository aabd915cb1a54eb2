"""What a topic gets that says nothing of its replicas, and what it may ask for. Pure.

Two copies of three must be in sync before a write counts: a cluster of three loses nothing and goes on serving when any
one machine is gone (rule R6).
"""

from collections.abc import Iterable

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.metadata.membership import Membership
from cluster.model.values import CleanupPolicy, RetentionMode, TopicConfig

REPLICATION_FACTOR_DEFAULT = 3
MIN_INSYNC_REPLICAS_DEFAULT = 2
REPLICATION_FACTOR_FOR_MIN_INSYNC = 3
"""With fewer replicas, any one machine that is gone would stop every write."""


def counted_nodes(membership: Membership, holders: Iterable[int]) -> int:
    """Nodes that a topic may count on: those that are registered, and those that are away and still hold replicas
    (`holders`), so that a topic made during a restart is like any other. Drained ones are about to go."""
    present = [member.node_id for member in membership.live()]
    return sum(not membership.get(node).is_draining for node in dict.fromkeys((*present, *holders)))


def default_replication_factor(nodes: int) -> int:
    """Three where there are three nodes, else one on each."""
    return max(1, min(REPLICATION_FACTOR_DEFAULT, nodes))


def default_min_insync_replicas(replication_factor: int) -> int:
    return MIN_INSYNC_REPLICAS_DEFAULT if replication_factor >= REPLICATION_FACTOR_FOR_MIN_INSYNC else 1


def check_replication_factor(replication_factor: int, nodes: int) -> None:
    """Raises ServerError INVALID_FIELD."""
    if replication_factor > max(1, nodes):
        detail = f"is {replication_factor}, there are {nodes} node(s) to hold replicas: start more, or ask for less"
        raise ServerError(ProblemCode.INVALID_FIELD, detail, field="replicationFactor")


def check_min_insync_replicas(min_insync_replicas: int, replication_factor: int) -> None:
    """Raises ServerError INVALID_FIELD."""
    if min_insync_replicas > replication_factor:
        detail = f"is {min_insync_replicas}, the topic has {replication_factor} replica(s): it may be at most that"
        raise ServerError(ProblemCode.INVALID_FIELD, detail, field="config.minInsyncReplicas")


def check_cleanup(config: TopicConfig) -> None:
    """Raises ServerError INVALID_FIELD where the last message of each key would not stay for good."""
    if config.cleanup_policy is CleanupPolicy.COMPACT and config.retention is RetentionMode.UNTIL_ACKED:
        detail = "compact keeps what every group has done; with untilAcked it is compact,delete"
        raise ServerError(ProblemCode.INVALID_FIELD, detail, field="config.cleanupPolicy")
