"""Which requests begin a trace.

What may go a short way is drawn for before it has a scope, and what is drawn comes to the application, where all others
are drawn for. So that it is not drawn for a second time, what was drawn before is owed there: to whichever request of
the same operation comes next, as each is as good as another.
"""

from collections import Counter

from cluster.ports.tracing import Tracer


class Draws:
    """By operation, of which there are few."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._owed: Counter[str] = Counter()

    def is_short_drawn(self, operation: str) -> bool:
        """Whether what could go a short way is to go to the application, for a trace."""
        is_drawn = self._tracer.is_drawn()
        self._owed[operation] += is_drawn
        return is_drawn

    def is_drawn(self, operation: str) -> bool:
        """Whether what has come to the application begins a trace."""
        if self._owed[operation]:
            self._owed[operation] -= 1
            return True
        return self._tracer.is_drawn()
