"""Parameters of the query protocol as the tree that their names make up: `Attribute.1.Name` is three levels deep."""

from collections.abc import Mapping

from app.sqs.sqs_error import SqsError, SqsErrorCode

PARTS_MAX = 8
"""`SendMessageBatchRequestEntry.1.MessageAttribute.2.Value.StringListValue.3` is as deep as it gets; what is deeper
nobody knows."""
NAME_LENGTH_MAX = 256
_DIGITS_MAX = 9


class ParameterTree:
    """`text` is the value of the parameter of just this name; None where there is none."""

    __slots__ = ("children", "text")

    def __init__(self) -> None:
        self.text: str | None = None
        self.children: dict[str, ParameterTree] = {}

    def numbered(self, name: str) -> "list[ParameterTree]":
        """Parts by their numbers, of which some may be left out. `name` is the tree's own, for people. Raises SqsError
        SERIALIZATION."""
        by_number: dict[int, ParameterTree] = {}
        for number, child in self.children.items():
            if not (number.isascii() and number.isdigit() and len(number) <= _DIGITS_MAX and int(number) > 0):
                detail = f"The parameter {name} is followed by a number from 1 on, and not by {number[:100]!r}."
                raise SqsError(SqsErrorCode.SERIALIZATION, detail)
            by_number[int(number)] = child
        return [by_number[number] for number in sorted(by_number)]


def parameter_tree(fields: Mapping[str, str]) -> ParameterTree:
    """Names that are longer or deeper than any that is known are passed over."""
    root = ParameterTree()
    for name, text in fields.items():
        parts = name.split(".", PARTS_MAX) if len(name) <= NAME_LENGTH_MAX else []
        if not parts or len(parts) > PARTS_MAX:
            continue
        tree = root
        for part in parts:
            tree = tree.children.setdefault(part, ParameterTree())
        tree.text = text
    return root
