"""What a doctor says of topics that are encrypted: keys that are missing, and master keys that are about to be."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from acklog.command.checkup import Check, fail, names_text, ok, skipped, warn
from acklog.command.quantities import count_text
from acklog.command.server_metrics import ServerMetrics

if TYPE_CHECKING:
    from acklog import Client
    from acklog.catalog import Topic
    from acklog.encryption import EncryptionState

_NAME = "encryption"
_AUDIT_TOPIC = "__audit"
_GIVE = "Give each of these nodes that master key again (--master-key-file), or it does not start."
_MISSING = "See the log of the nodes that lead it (data_key_missing): the master key's program may fail."
_CHANGED = (
    "Somebody has changed files. The log says where (batch_not_decrypted); take these from a backup or a replica."
)
_WAIT = "Keep the master key before on every node until all data keys are wrapped anew: acklog encryption status."


def encryption_checks(client: "Client", topics: "Sequence[Topic]", metrics: ServerMetrics | None) -> Iterator[Check]:
    """`metrics` None: they cannot be read. Raises AcklogError."""
    from acklog.errors import Forbidden, TopicNotFound

    if metrics is not None:
        yield from _of_the_server(metrics)
    encrypted = [topic.name for topic in topics if topic.config.encryption == "on"]
    states: list[EncryptionState] = []
    for name in encrypted:
        try:
            states.append(client.encryption.status(name))
        except TopicNotFound:
            continue  # deleted meanwhile
        except Forbidden:
            yield skipped(_NAME, "the token may not look at it")
            return
    audit_log = audit_log_keys(client)
    if audit_log is not None:
        states.append(audit_log)
    if states:
        yield _check(states)


def _of_the_server(metrics: ServerMetrics) -> Iterator[Check]:
    """By the figures of the one that was asked; nothing of a gateway, which has no keys."""
    lacking = int(metrics.value("acklog_data_keys_missing") or 0)
    if lacking:
        yield warn("data keys", f"{count_text(lacking, 'data key')} not unwrapped yet", _MISSING)
    unreadable = int(metrics.value("acklog_undecryptable_batches") or 0)
    if unreadable:
        yield fail(
            "encrypted batches", f"{count_text(unreadable, 'batch', plural='batches')} cannot be decrypted", _CHANGED
        )


def audit_log_keys(client: "Client") -> "EncryptionState | None":
    """Those of the audit log, which is in no list of topics; None where it has none, or the token may not look at it.
    Raises AcklogError."""
    from acklog.errors import Forbidden, InvalidName, TopicNotFound

    try:
        state = client.encryption.status(_AUDIT_TOPIC)
    except (Forbidden, InvalidName, TopicNotFound):  # earlier gateways take it for no name
        return None
    return state if state.data_keys_wanted else None


def _check(states: "Sequence[EncryptionState]") -> Check:
    """By the worst that any of them has."""
    lacking = sorted({str(node) for state in states for node in state.lacking_nodes})
    if lacking:
        return fail(_NAME, f"without the master key of some topic: node {names_text(lacking)}", _GIVE)
    missing = [state.topic for state in states if not state.is_rotated]
    if missing:
        return warn(_NAME, f"a data key is not made yet: {names_text(missing)}", _MISSING)
    earlier = [state.topic for state in states if state.earlier_keys]
    if earlier:
        return warn(_NAME, f"wrapped by the master key before: {names_text(earlier)}", _WAIT)
    return ok(_NAME, f"{count_text(len(states), 'encrypted topic')}, every node has their master key")
