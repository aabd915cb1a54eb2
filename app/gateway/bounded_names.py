"""Names that metrics have as labels: a bounded number of them."""

from collections.abc import Callable

OTHER = "other"


class BoundedNames:
    """The first `limit` names have a label of their own, as long as there is what they name; all others share
    `other`."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._names: dict[str, str] = {}
        self._missing: set[str] = set()

    def keep(self, exists: Callable[[str], bool]) -> set[str]:
        """To be called before each scrape: names that are gone give up their place, the second time that they are seen
        to be. So the last that is counted of them is scraped once, and a name that is about to be known stays. Returns
        those that are forgotten: what is counted under them is to be forgotten, too."""
        missing = {name for name in self._names if not exists(name)}
        gone = missing & self._missing
        for name in gone:
            del self._names[name]
        self._missing = missing - gone
        return gone

    def label(self, name: str) -> str:
        label = self._names.get(name)
        if label is None:
            label = name if len(self._names) < self._limit else OTHER
            if label is not OTHER:
                self._names[name] = label
        return label
