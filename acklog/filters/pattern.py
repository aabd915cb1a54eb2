"""What stands behind `like`: a text in which each % stands for any run of characters, also for none."""

from dataclasses import dataclass

from acklog.filters.filter_error import FilterError
from acklog.filters.tokens import quoted


@dataclass(frozen=True, slots=True)
class Pattern:
    """`parts` are what is between the % signs; the first begins the value and the last ends it. One part: no %."""

    parts: tuple[str, ...]

    def matches(self, value: str) -> bool:
        """Looks at each part once, from left to right: no pattern makes it try again from the start."""
        first, last = self.parts[0], self.parts[-1]
        if len(self.parts) == 1:
            return value == first
        if len(value) < len(first) + len(last) or not value.startswith(first) or not value.endswith(last):
            return False
        at, end = len(first), len(value) - len(last)
        for part in self.parts[1:-1]:
            at = value.find(part, at, end)
            if at < 0:
                return False
            at += len(part)
        return True

    @property
    def text(self) -> str:
        return "%".join(quoted(part)[1:-1].replace("%", "\\%") for part in self.parts).join('""')


def parse_pattern(value: str, position: int) -> Pattern:
    """Of what is between the quotes; a backslash stands before a quote, a % that is meant, or another one. Raises
    FilterError."""
    parts: list[str] = []
    part: list[str] = []
    at = 0
    while at < len(value):
        if value[at] == "%":
            if not parts or part:  # %% is as %
                parts.append("".join(part))
            part = []
        else:
            if value[at] == "\\":
                at += 1
                if value[at] not in "\"'\\%":
                    expected = "a quote, a % or a backslash behind a backslash"
                    raise FilterError(position + at, expected, found=repr(value[at]))
            part.append(value[at])
        at += 1
    return Pattern((*parts, "".join(part)))
