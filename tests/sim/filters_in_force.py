"""Which filters a group may have had at a time, as far as its clients can tell.

A change takes effect between its question and its answer, and leaders hear of it some time after. One whose outcome is
unknown may do so at any time, or never.
"""

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from tests.sim.filters import NO_FILTER, wants
from tests.sim.history import FilterChanged, History, Outcome, Sent

NOTICED_MS = 20_000
"""Longer than any leader goes by what is over: who wants less of it says so."""


@dataclass(frozen=True, slots=True)
class _Span:
    text: str
    from_ms: float
    until_ms: float


class FiltersInForce:
    """A leader may go by a filter for `noticed_ms` after the group got another one."""

    def __init__(self, history: History, *, noticed_ms: float = NOTICED_MS) -> None:
        self._noticed_ms = noticed_ms
        changes: dict[str, list[FilterChanged]] = defaultdict(list)
        for changed in history.of(FilterChanged):
            if changed.outcome is not Outcome.FAILED:
                changes[changed.group].append(changed)
        self._spans = {group: list(self._spans_of(found)) for group, found in changes.items()}
        self._first: dict[str, Sent] = {}
        if self._spans:
            for sent in history.of(Sent):
                first = self._first.setdefault(sent.uid, sent)
                if sent.began_ms < first.began_ms:
                    self._first[sent.uid] = sent

    def of(self, group: str, *, after_ms: float, before_ms: float) -> list[str]:
        """Those that may have been in force within this time."""
        spans = self._spans.get(group)
        if spans is None:
            return [NO_FILTER]
        return [span.text for span in spans if span.from_ms <= before_ms and span.until_ms >= after_ms]

    def may_pass_over(self, group: str, uid: str, *, after_ms: float = -math.inf, before_ms: float = math.inf) -> bool:
        """Whether the group may have passed over the message then."""
        sent = self._first.get(uid) if group in self._spans else None
        if sent is None:
            return False
        texts = self.of(group, after_ms=max(after_ms, sent.began_ms), before_ms=before_ms)
        return not all(wants(text, sent) for text in texts)

    def sent(self, uid: str) -> Sent | None:
        """The message as it was sent first, where the history has a filter."""
        return self._first.get(uid)

    def _spans_of(self, changes: list[FilterChanged]) -> Iterator[_Span]:
        for at, changed in enumerate(changes):
            until_ms = math.inf
            if changed.outcome is Outcome.OK:
                later = [each.ended_ms for each in changes[at + 1 :] if each.outcome is Outcome.OK]
                until_ms = min(later, default=math.inf) + self._noticed_ms
            yield _Span(changed.filter, changed.began_ms, until_ms)
