"""Which sends begin a trace.

A single send is drawn for before it has a scope, and one that is drawn comes to the application, where all others are
drawn for. So that it is not drawn for a second time, what was drawn before is owed there: to whichever send comes next,
as each is as good as another.
"""

from cluster.ports.tracing import Tracer


class Draws:
    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer
        self._owed = 0

    def is_single_drawn(self) -> bool:
        """Whether a single send is to go to the application, for a trace."""
        is_drawn = self._tracer.is_drawn()
        self._owed += is_drawn
        return is_drawn

    def is_send_drawn(self) -> bool:
        """Whether a send that has come to the application begins a trace."""
        if self._owed:
            self._owed -= 1
            return True
        return self._tracer.is_drawn()
