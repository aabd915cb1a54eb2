"""The characters that SQS takes: those of XML 1.0."""

import re

_NOT_ALLOWED = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ALLOWED = "#x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF"


def text_fault(text: str, where: str) -> str | None:
    """What is wrong with a text, or None."""
    if text.isascii() and text.isprintable():
        return None  # most are
    found = _NOT_ALLOWED.search(text)
    if found is None:
        return None
    what = f"Invalid binary character '#x{ord(found[0]):X}' was found in the {where}"
    return f"{what}, the set of allowed characters is {_ALLOWED}"


def size_of(text: str) -> int:
    """In bytes, also of text that is not allowed."""
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))


def is_sqs_text(text: str) -> bool:
    return text_fault(text, "") is None


def escaped_in_json(text: str) -> str:
    """JSON text that means the same and holds nothing else: what is not allowed is in strings only."""
    if text.isascii() and text.isprintable():
        return text
    return _NOT_ALLOWED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
