"""The options by which a topic is compacted."""

from typing import TYPE_CHECKING, Annotated

import typer

from acklog.command.failures import UsageError
from acklog.command.quantities import UNLIMITED, limit_text, parse_duration_ms, size_text

if TYPE_CHECKING:
    from acklog.catalog import TopicChanges, TopicConfig

_THE_LAST = "unlimited: the last of each key"
CLEANUP_POLICIES = ("delete", "compact", "compact,delete")

CleanupPolicyOption = Annotated[
    str | None,
    typer.Option(
        "--cleanup-policy", metavar="POLICY", help="delete; compact: keep the last of each key; or compact,delete."
    ),
]
MinCompactionLagOption = Annotated[
    str | None,
    typer.Option("--min-compaction-lag", metavar="DURATION", help="How long every message is there at least."),
]
MaxCompactionLagOption = Annotated[
    str | None,
    typer.Option("--max-compaction-lag", metavar="DURATION", help="After how long it is compacted, or unlimited."),
]
TombstoneRetentionOption = Annotated[
    str | None,
    typer.Option("--tombstone-retention", metavar="DURATION", help="How long tombstones stay once they were met."),
]


def add_compaction(
    changes: "TopicChanges", policy: str | None, min_lag: str | None, max_lag: str | None, tombstones: str | None
) -> None:
    """What the options name. Raises UsageError."""
    if policy is not None:
        if policy not in CLEANUP_POLICIES:
            hint = f"It may be {' or '.join(CLEANUP_POLICIES)}."
            raise UsageError(f"{policy!r} is no policy", field="--cleanup-policy", hint=hint)
        changes["cleanup_policy"] = policy
    if min_lag is not None:
        changes["min_compaction_lag_ms"] = parse_duration_ms(min_lag, field="--min-compaction-lag")
    if max_lag is not None:
        changes["max_compaction_lag_ms"] = parse_duration_ms(
            max_lag, field="--max-compaction-lag", may_be_unlimited=True
        )
    if tombstones is not None:
        changes["tombstone_retention_ms"] = parse_duration_ms(tombstones, field="--tombstone-retention")


def kept_for_text(config: "TopicConfig") -> str:
    """Retention removes nothing of a topic that is compacted and nothing else."""
    return _THE_LAST if config.cleanup_policy == "compact" else limit_text(config.retention_ms)


def kept_up_to_text(config: "TopicConfig") -> str:
    """As `kept_for_text`, of sizes."""
    return size_text(UNLIMITED if config.cleanup_policy == "compact" else config.retention_bytes)


def compaction_rows(config: "TopicConfig") -> list[tuple[str, str]]:
    """What is shown of a topic that is compacted."""
    if config.cleanup_policy == "delete":
        return []
    return [
        ("cleanup", config.cleanup_policy),
        (
            "compacted after",
            f"{limit_text(config.min_compaction_lag_ms)} to {limit_text(config.max_compaction_lag_ms)}",
        ),
        ("tombstones stay", limit_text(config.tombstone_retention_ms)),
    ]
