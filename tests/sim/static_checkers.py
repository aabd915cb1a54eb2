"""Invariants of static members of exclusive groups."""

from collections.abc import Iterator

from tests.sim.history import History, MemberGone, Outcome, StaticAsked
from tests.sim.options import OrderedGroup

GRACE_MS = 100


class StaticNamesAreOneProcesses:
    """Nobody joins under a static name while another process of it was heard within half of its session, and has not
    left, or left the name to the next one. By a coordinator's clock whose second may be `clock_drift` longer or
    shorter."""

    def __init__(self, groups: dict[str, OrderedGroup], *, clock_drift: float = 0.0) -> None:
        self._groups = groups
        self._second = 1 - 2 * clock_drift

    def check(self, history: History) -> list[str]:
        return list(self._found(history))

    def _found(self, history: History) -> Iterator[str]:
        asked = list(history.of(StaticAsked))
        all_gone = list(history.of(MemberGone))
        for joined in asked:
            if joined.what != "join" or joined.outcome is not Outcome.OK:
                continue
            silence_ms = self._groups[joined.group].session_timeout_ms / 2 * self._second - GRACE_MS
            others = [
                each
                for each in asked
                if (each.group, each.member) == (joined.group, joined.member)
                and each.instance != joined.instance
                and each.began_ms <= joined.ended_ms
            ]
            if any(each.what == "step out" and each.ended_ms >= joined.began_ms - silence_ms for each in others):
                continue
            gone = [each for each in all_gone if (each.group, each.member) == (joined.group, joined.member)]
            for other in others:
                is_heard = other.outcome is Outcome.OK and other.ended_ms < joined.began_ms
                if any(other.began_ms <= each.began_ms <= joined.ended_ms for each in gone):
                    continue
                if is_heard and other.what != "step out" and joined.ended_ms - other.began_ms < silence_ms:
                    yield (
                        f"{joined.instance} joined {joined.group} at {joined.began_ms} as {joined.member}, when "
                        f"{other.instance} had been heard at {other.began_ms}"
                    )
