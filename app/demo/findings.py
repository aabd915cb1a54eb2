"""What a check found: how much it looked at, and each violation that it saw."""

from dataclasses import dataclass, field

EXAMPLES_MAX = 5


@dataclass(slots=True)
class PromiseCheck:
    """`name` is the promise that was checked. Only the first few violations are kept as text, all are counted."""

    name: str
    examined: int = 0
    violations: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def is_ok(self) -> bool:
        """A check that looked at nothing has shown nothing."""
        return self.violations == 0 and self.examined > 0

    def violated(self, text: str, *, times: int = 1) -> None:
        self.violations += times
        if len(self.examples) < EXAMPLES_MAX:
            self.examples.append(text)

    def expect_equal(self, what: str, *, found: int, expected: int) -> None:
        """One violation where two numbers that must agree do not."""
        if found != expected:
            self.violated(f"{what}: {found:,} found, {expected:,} expected")
