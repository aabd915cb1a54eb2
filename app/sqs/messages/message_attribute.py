"""An attribute of a message: a type, and a value that is text or bytes."""

from dataclasses import dataclass

from app.sqs.messages.sqs_text import size_of


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageAttribute:
    """One of the two values: bytes where the type is Binary, text where it is String or Number. The type may have a
    label behind a full stop, which means nothing here."""

    data_type: str
    string_value: str | None = None
    binary_value: bytes | None = None

    @property
    def is_binary(self) -> bool:
        return self.data_type.partition(".")[0] == "Binary"

    @property
    def size_bytes(self) -> int:
        """Of the type and the value."""
        return size_of(self.data_type) + size_of(self.string_value or "") + len(self.binary_value or b"")
