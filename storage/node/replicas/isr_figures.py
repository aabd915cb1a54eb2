"""How often a node, as leader, has changed who is in sync, since its start."""

from dataclasses import dataclass


@dataclass(slots=True)
class IsrFigures:
    """`expanded`: a replica came in; `shrunk`: one was left out; `not_done`: the coordination store was not reached, or
    refused, or nobody knows."""

    expanded: int = 0
    shrunk: int = 0
    not_done: int = 0

    def changed(self, *, members_before: int, members: int) -> None:
        if members > members_before:
            self.expanded += 1
        elif members < members_before:
            self.shrunk += 1
