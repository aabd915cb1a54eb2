"""Dead letters: where they are, and where they came from.

Which letters are handled is the progress of a group of this command's own: a letter that was sent back, or purged, is
done in it. So the log stays as it is until retention, and nothing is handled twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from acklog.command.failures import UsageError, near_names
from acklog.command.log_ends import log_end, log_start, read_range
from acklog.command.undone import progress_of, undone_messages
from acklog.wire.limits import MAX_ATTEMPTS_MAX
from acklog.wire.names import in_namespace, namespace_of

if TYPE_CHECKING:
    from acklog import Client
    from acklog.catalog import GroupOffsets, PartitionState
    from acklog.messages import FailedAttempt, StoredMessage

_GROUP = "acklog-dlq"
HEADER_PREFIX = "acklog-dead-letter-"
SUFFIX = ".dlq"


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a letter came from, and why. Everything is "" for a message that is no letter."""

    topic: str = ""
    partition: str = ""
    offset: str = ""
    group: str = ""
    attempts: str = ""
    reasons: str = ""
    cause: str = ""

    @classmethod
    def of(cls, message: "StoredMessage") -> "Origin":
        return cls(**{name: message.headers.get(HEADER_PREFIX + name, "") for name in cls.__slots__})

    def place(self) -> str:
        return f"{self.topic} {self.partition}:{self.offset}" if self.topic else "unknown"

    @property
    def has_expired(self) -> bool:
        """Its time to live was over, however many attempts it had left."""
        return self.cause == "expired"

    def reason(self) -> str:
        """Why it is here, in a few words."""
        if not self.topic:
            return "not a dead letter"
        attempts = "1 attempt" if self.attempts == "1" else f"{self.attempts} attempts"
        if self.has_expired:
            return f"expired in group {self.group}, " + ("untried" if self.attempts == "0" else f"after {attempts}")
        said = self.said()
        return f"{attempts} of group {self.group} failed" + (f": {said[-1].reason}" if said else "")

    def said(self) -> "list[FailedAttempt]":
        """Why attempts failed, as far as consumers said so; the oldest first."""
        import msgspec

        from acklog.messages import FailedAttempt

        try:
            return msgspec.json.decode(self.reasons, type=list[FailedAttempt]) if self.reasons else []
        except msgspec.DecodeError:  # whoever may send there may have written it
            return []


@dataclass(frozen=True, slots=True)
class DeadLetterTopic:
    """`letters` are in the log, `unhandled` of them have been neither sent back nor purged."""

    name: str
    letters: int
    unhandled: int
    newest: "StoredMessage | None"


def reader_of(topic: str = "") -> str:
    """This command's own group, of the namespace that the letters are in."""
    return in_namespace(namespace_of(topic), _GROUP)


def dead_letter_topics(client: "Client") -> list[DeadLetterTopic]:
    """Every topic whose name ends in .dlq, or which a group has chosen for its dead letters."""
    chosen = _chosen_names(client)
    names = [topic.name for topic in client.topics.list() if topic.name.endswith(SUFFIX) or topic.name in chosen]
    return [describe(client, name) for name in names]


def require_dead_letter_topic(client: "Client", name: str) -> None:
    """Raises CommandError for a topic that holds no dead letters: nothing of it shall be retried or purged."""
    if name.endswith(SUFFIX):
        return
    names = _chosen_names(client)
    if name not in names:
        known = [topic.name for topic in client.topics.list() if topic.name.endswith(SUFFIX) or topic.name in names]
        raise UsageError(
            f"{name} is not a topic of dead letters",
            field="TOPIC",
            near=[each for each in known if each.startswith(f"{name}.")] or near_names(name, known),
            hint="See what there is: acklog dlq list.",
        )


def describe(client: "Client", name: str) -> DeadLetterTopic:
    """One dead-letter topic. Raises TopicNotFound."""
    states = client.topics.get(name).partition_states
    letters = sum(log_end(state) - log_start(state) for state in states)
    unhandled = unhandled_count(states, progress_of(client, reader_of(name), name))
    return DeadLetterTopic(name, letters, unhandled, _newest(client, name, states))


def unhandled_count(states: "Sequence[PartitionState]", progress: "GroupOffsets | None") -> int:
    """How many letters are neither sent back nor purged: what this command's group is behind."""
    lags = {} if progress is None else {each.partition: each.lag for each in progress.offsets}
    total = 0
    for state in states:
        lag = lags.get(state.partition)
        total += log_end(state) - log_start(state) if lag is None else lag
    return total


def unhandled_letters(client: "Client", name: str, count: int) -> "list[StoredMessage]":
    """Up to `count` of them, the oldest first."""
    undone = undone_messages(
        client,
        name,
        client.topics.get(name).partition_states,
        group=reader_of(name),
        progress=progress_of(client, reader_of(name), name),
        is_from_latest=False,
        messages_max=count,
    )
    return [each.message for each in undone]


def ensure_reader(client: "Client", topic: str) -> None:
    """The command's own group for these letters is there. Raises AcklogError."""
    client.groups.create(reader_of(topic), max_attempts=MAX_ATTEMPTS_MAX)


def purge(client: "Client", name: str, states: "Sequence[PartitionState]") -> None:
    """Let every letter that `states` count be handled. Those that came since are not touched. Raises AcklogError."""
    ensure_reader(client, name)
    for state in states:
        if log_end(state) > log_start(state):
            result = client.groups.seek(reader_of(name), name, to_offset=log_end(state), partition=state.partition)
            raise_first_problem(result.partitions)


def raise_first_problem(partitions: "Sequence[object]") -> None:
    """Raise the AcklogError of the first partition that could not be moved."""
    from acklog.errors import error_class

    for each in partitions:
        problem = getattr(each, "problem", None)
        if problem is not None:
            raise error_class(problem.code)(
                problem.detail, code=problem.code, field=problem.field, retriable=problem.retriable
            )


def _chosen_names(client: "Client") -> set[str | None]:
    """The topics that groups have chosen for their dead letters."""
    return {group.settings.dead_letter_topic for group in client.groups.list()}


def _newest(client: "Client", name: str, states: "Sequence[PartitionState]") -> "StoredMessage | None":
    newest: StoredMessage | None = None
    for state in states:
        end = log_end(state)
        start = max(log_start(state), end - 1)
        for message in read_range(client, name, state.partition, start=start, end=end, messages_max=1):
            if newest is None or message.append_time_ms > newest.append_time_ms:
                newest = message
    return newest
