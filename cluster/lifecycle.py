"""The stages of whatever is opened, serves for a while and is closed, and which of them may follow which."""

from enum import Enum


class LifecycleError(Exception):
    """A stage was to follow one that it cannot follow: a programmer's error."""


class Lifecycle(Enum):
    """What an object does now. It goes on by `then`; none comes twice, and nothing follows CLOSED."""

    OPENING = "opening"
    SERVING = "serving"
    DRAINING = "draining"
    """Nothing new is taken; what was accepted is finished."""
    FAILED = "failed"
    """Nothing is served any more, and closing it is all that is left. What fails while it is being closed stays
    CLOSING: nobody is served by it in any case."""
    CLOSING = "closing"
    CLOSED = "closed"

    def then(self, stage: "Lifecycle") -> "Lifecycle":
        """`stage`. Raises LifecycleError unless it may follow this one."""
        if not self.may_become(stage):
            raise LifecycleError(f"{self.value} is not followed by {stage.value}")
        return stage

    def may_become(self, stage: "Lifecycle") -> bool:
        return self in _PREDECESSORS[stage]


_PREDECESSORS = {
    Lifecycle.OPENING: frozenset[Lifecycle](),
    Lifecycle.SERVING: frozenset({Lifecycle.OPENING}),
    Lifecycle.DRAINING: frozenset({Lifecycle.OPENING, Lifecycle.SERVING}),
    Lifecycle.FAILED: frozenset({Lifecycle.OPENING, Lifecycle.SERVING, Lifecycle.DRAINING}),
    Lifecycle.CLOSING: frozenset({Lifecycle.OPENING, Lifecycle.SERVING, Lifecycle.DRAINING, Lifecycle.FAILED}),
    Lifecycle.CLOSED: frozenset({Lifecycle.CLOSING}),
}
