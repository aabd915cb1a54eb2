"""Counts in prose."""


def counted(count: int, noun: str) -> str:
    """`1 letter`, `2,000 letters`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
