"""Where the journal's files are."""

JOURNAL_DIRECTORY = "journal"
JOURNAL_SUFFIX = ".journal"


def journal_path(number: int) -> str:
    return f"{JOURNAL_DIRECTORY}/{number:08d}{JOURNAL_SUFFIX}"


def journal_number(name: str) -> int | None:
    """The number in a journal file's name, None for other files."""
    digits = name.removesuffix(JOURNAL_SUFFIX)
    return int(digits) if digits != name and digits.isascii() and digits.isdigit() else None
