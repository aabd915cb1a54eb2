"""What is wrong with the text of a filter."""


class FilterError(ValueError):
    """`position` counts the characters in front of what is wrong; `expected` says what could stand there, or which
    limit is passed."""

    def __init__(self, position: int, expected: str, *, found: str = "") -> None:
        self.position = position
        self.expected = expected
        self.found = found
        super().__init__(f"at position {position}: expected {expected}" + (f", found {found}" if found else ""))
