"""What a controller has done and how the cluster is: for metrics, logs and operators."""

from collections import Counter
from dataclasses import dataclass, field

from cluster.controller.steps import DecisionKind, Step


@dataclass(slots=True)
class ControllerFigures:
    """Counts since the process began. Labels are bounded: the kinds of decisions."""

    is_controller: bool = False
    terms: int = 0
    """How often this node was elected."""

    fenced: int = 0
    """How often a term ended because another controller's had begun, noticed by a write that failed."""

    plans: int = 0
    transactions: int = 0
    conflicts: int = 0
    """Transactions of which a guard failed: they were decided on something that had changed."""

    store_failures: int = 0
    """Transactions that failed, or whose outcome is unknown."""

    decisions: Counter[DecisionKind] = field(default_factory=Counter)
    """Those that took effect, by kind."""

    def count_done(self, steps: tuple[Step, ...]) -> None:
        self.decisions.update(decision.kind for step in steps for decision in step.decisions)
