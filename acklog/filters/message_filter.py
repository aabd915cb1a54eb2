"""A filter as it is used: which messages match, and which batches cannot hold one that does."""

from collections.abc import Iterable

from acklog.filters.comparisons import TagIn, values_of
from acklog.filters.expression import Expression, all_of
from acklog.filters.parser import parse_expression


class MessageFilter:
    """`text` is canonical: filters that are spelled differently and say the same word for word have one text, and
    filters are equal as their texts are. `matches(message)` looks at tags, key and headers."""

    __slots__ = ("expression", "matches", "text")

    def __init__(self, expression: Expression) -> None:
        self.expression = expression
        self.text = expression.text
        self.matches = expression.predicate()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MessageFilter) and self.text == other.text

    def __repr__(self) -> str:
        return f"MessageFilter({self.text!r})"

    def may_match(self, tag_bits: int) -> bool:
        """False is proof that no message of a batch with these tag bits matches."""
        return self.expression.may_be_true(tag_bits)


def parse_filter(text: str) -> MessageFilter:
    """Raises FilterError."""
    return MessageFilter(parse_expression(text))


def filter_by_tags(tags: Iterable[str]) -> MessageFilter:
    """Messages with at least one of these tags, of which there is one."""
    return MessageFilter(TagIn(values_of(tags)))


def both(first: MessageFilter, second: MessageFilter) -> MessageFilter:
    return MessageFilter(all_of((first.expression, second.expression)))
