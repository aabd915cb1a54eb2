"""What a doctor says of groups: what is paused, whom nobody receives for, what waits for a decision, what was lost."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from acklog.command.checkup import Check, names_text, ok, warn
from acklog.command.group_pauses import paused_text
from acklog.command.lag_figures import TopicLag, lags_of
from acklog.command.quantities import count_text
from acklog.command.questions import Questions

if TYPE_CHECKING:
    from acklog import Client

GROUPS_LOOKED_AT_MAX = 500
SECOND_LOOK_S = 1.0


class GroupChecks:
    """`now_ms` is this machine's clock, `pause` waits so many seconds, `is_over`: there is no time left."""

    def __init__(
        self,
        client: "Client",
        *,
        now_ms: Callable[[], int],
        pause: Callable[[float], None],
        is_over: Callable[[], bool],
    ) -> None:
        self._client = client
        self._now_ms = now_ms
        self._pause = pause
        self._is_over = is_over

    def run(self) -> Iterator[Check]:
        """Raises AcklogError."""
        described = self._client.groups.list()
        groups = [group.name for group in described]
        paused = [f"{group.name}: {paused_text(group, self._now_ms())}" for group in described if group.paused]
        if paused:
            yield warn("paused", names_text(paused), "Let them go on: acklog groups resume GROUP.")
        questions: Questions[list[TopicLag]] = Questions("group", self._is_over)
        questions.ask(groups[:GROUPS_LOOKED_AT_MAX], self._lags_of)
        lags = [lag for found in questions.answers.values() for lag in found]
        if lags or not questions.silent:
            yield self._idle(lags, groups)
        yield from questions.checks("groups unknown")
        unknown = [
            f"{lag.group} in {lag.topic} ({count_text(lag.unknown, 'partition')})" for lag in lags if lag.unknown
        ]
        if unknown:
            advice = "See which nodes are away: acklog cluster status."
            yield warn("groups unknown", f"could not be asked: {names_text(unknown)}", advice)
        blocked = [f"{lag.group} in {lag.topic} ({lag.blocked:,})" for lag in lags if lag.blocked]
        if blocked:
            finding = f"messages that nobody is given before a person decides: {names_text(blocked)}"
            yield warn("blocked", finding, "See what they hold up: acklog keys list GROUP; then keys release or skip.")
        lost = [f"{lag.group} in {lag.topic} ({lag.lost:,})" for lag in lags if lag.lost]
        if lost:
            advice = "Let consumers be faster, or keep messages longer: acklog topics update TOPIC --retention 14d."
            yield warn("lost", f"retention removed messages that were not done: {names_text(lost)}", advice)

    def _idle(self, lags: Sequence[TopicLag], groups: Sequence[str]) -> Check:
        """Over two looks: where messages wait, somebody takes some or is done with some meanwhile."""
        before = {(lag.group, lag.topic): (lag.progress, lag.in_flight) for lag in lags if _could_go_on(lag)}
        stuck: list[TopicLag] = []
        if before:
            self._pause(SECOND_LOOK_S)
            again: Questions[list[TopicLag]] = Questions("group", self._is_over)
            again.ask(dict.fromkeys(group for group, _ in before), self._lags_of)
            looked = [lag for found in again.answers.values() for lag in found if _could_go_on(lag)]
            stuck = [lag for lag in looked if before.get((lag.group, lag.topic)) == (lag.progress, lag.in_flight)]
        if not stuck:
            return ok("groups", f"{count_text(len(groups), 'group')}, nothing waits without a consumer")
        idle = [f"{lag.group} in {lag.topic} ({lag.waiting:,})" for lag in stuck if not lag.in_flight]
        held = [
            f"{lag.group} in {lag.topic} ({lag.waiting:,}, beside {lag.in_flight:,} in flight)"
            for lag in stuck
            if lag.in_flight
        ]
        findings, advice = [], []
        if idle:
            findings.append(f"messages wait and nobody takes them: {names_text(idle)}")
            advice.append("Start consumers, or delete groups that are not needed: acklog groups delete GROUP.")
        if held:
            nobody = f"messages wait, and in {SECOND_LOOK_S:g} s nobody took or finished any"
            findings.append(f"{nobody}: {names_text(held)}")
            advice.append("What is in flight may be with consumers that are slow, and need help, or are gone.")
        return warn("groups", "; ".join(findings), " ".join(advice))

    def _lags_of(self, group: str) -> list[TopicLag] | None:
        from acklog.errors import GroupNotFound

        try:
            return lags_of(self._client.groups.offsets(group))
        except GroupNotFound:
            return None  # deleted meanwhile


def _could_go_on(lag: TopicLag) -> bool:
    """Something could be delivered. What waits behind a blocked message could not."""
    return lag.waiting > 0 and not lag.is_paused and not lag.blocked
