"""A rate over time as a line of text, with what happened marked in it. Without I/O."""

COLUMNS_MAX = 48
FIRST_COLUMN_S = 0.1
MARK = "╳"
_LEVELS = "▁▂▃▄▅▆▇█"


class Timeline:
    """Columns of equal time. When there are too many, two become one: memory and width are bounded."""

    def __init__(self) -> None:
        self.column_s = FIRST_COLUMN_S
        self._counts: list[int] = [0]
        self._marks: list[float] = []
        self.count = 0
        """Of the last `add`."""

    def add(self, at_s: float, count: int) -> None:
        """So much is done in all at this time; times and counts only grow."""
        column = int(at_s / self.column_s)
        while column >= COLUMNS_MAX:
            self._halve()
            column = int(at_s / self.column_s)
        self._counts += [0] * (column + 1 - len(self._counts))
        self._counts[column] += count - self.count
        self.count = count

    def mark(self, at_s: float) -> None:
        """Something happened at this time."""
        self._marks.append(at_s)

    @property
    def rates(self) -> list[float]:
        """Per second, column by column."""
        return [count / self.column_s for count in self._counts]

    def text(self) -> str:
        """A column is a character: the higher, the faster. MARK stands where something happened."""
        highest = max(self._counts)
        if highest <= 0:
            return ""
        top = len(_LEVELS) - 1
        columns = [_LEVELS[round(count / highest * top)] for count in self._counts]
        for at_s in self._marks:
            columns[min(int(at_s / self.column_s), len(columns) - 1)] = MARK
        return "".join(columns)

    def _halve(self) -> None:
        counts = self._counts + [0] * (len(self._counts) % 2)
        self._counts = [counts[index] + counts[index + 1] for index in range(0, len(counts), 2)]
        self.column_s *= 2
