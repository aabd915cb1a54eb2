"""What a doctor says of topics: those of which something cannot be served, and what to do about it."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from acklog.command.checkup import Check, fail, names_text, ok
from acklog.command.log_ends import GONE
from acklog.command.quantities import count_text
from acklog.command.questions import Questions

if TYPE_CHECKING:
    from acklog import Client
    from acklog.catalog import PartitionState, Topic, TopicDescription

TOPICS_LOOKED_AT_MAX = 500
NO_LEADER = "no leader"
_ADVICE = {
    "RECORDS_CORRUPT": "See the server's log. With the server stopped, acklog fsck DIRECTORY says what is damaged.",
    "STORAGE_FAILED": "See the log of the server that leads it: its disk failed.",
    "FORBIDDEN": "The token may not look at all of it: give one that may, with --token.",
}
_AWAY = "See which nodes are away, or busy: acklog cluster status."
"""For what passes: the leader does not answer, or there is none now."""


class TopicChecks:
    """`served`: those whose partitions all answer, of the topics that were looked at."""

    def __init__(self, client: "Client", topics: "Sequence[Topic]", *, is_over: Callable[[], bool]) -> None:
        self._client = client
        self._topics = topics
        self._questions: Questions[TopicDescription] = Questions("topic", is_over)
        self.served: list[Topic] = []

    def run(self) -> Iterator[Check]:
        """Raises AcklogError."""
        looked_at = {topic.name: topic for topic in self._topics[:TOPICS_LOOKED_AT_MAX]}
        self._questions.ask(looked_at, self._describe)
        answers = self._questions.answers
        partitions, troubles, codes = 0, list[str](), dict[str, None]()
        for name, topic in answers.items():
            partitions += len(topic.partition_states)
            found = [(state, code) for state in topic.partition_states if (code := _trouble(state))]
            troubles += [f"{name} {state.partition} ({code})" for state, code in found]
            codes.update(dict.fromkeys(code for _, code in found))
            if not found:
                self.served.append(looked_at[name])
        finding = f"{count_text(len(answers), 'topic')} with {count_text(partitions, 'partition')}"
        if len(looked_at) < len(self._topics):
            finding += f" looked at, of {len(self._topics):,} topics"
        if troubles:
            advice = " ".join(dict.fromkeys(_ADVICE.get(code, _AWAY) for code in codes))
            yield fail("topics", f"cannot be served: {names_text(troubles)}", advice)
        elif answers or not looked_at:
            yield ok("topics", f"{finding}, all served")
        yield from self._questions.checks("topics unknown")

    def _describe(self, name: str) -> "TopicDescription | None":
        from acklog.errors import TopicNotFound

        try:
            return self._client.topics.get(name)
        except TopicNotFound:
            return None  # deleted meanwhile


def _trouble(state: "PartitionState") -> str:
    """A problem's code, or that there is no leader; "" where all is well."""
    if state.problem is not None:
        return state.problem.code
    return NO_LEADER if state.leader is None and state.life != GONE else ""
