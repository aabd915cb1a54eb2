"""Queries of receives that come again are parsed once."""

from app.http.parsing.receive import QUERIES_KEPT_MAX, parse_receive


def test_only_the_latest_are_kept() -> None:
    parse_receive.cache_clear()
    first = parse_receive(b"queue=a&max=1")
    assert parse_receive(b"queue=a&max=1") is first
    for number in range(QUERIES_KEPT_MAX - 1):
        parse_receive(f"queue=b{number}".encode())
    assert parse_receive.cache_info().currsize == QUERIES_KEPT_MAX
    assert parse_receive(b"queue=a&max=1") is first
    for number in range(QUERIES_KEPT_MAX):
        parse_receive(f"queue=c{number}".encode())
    assert parse_receive.cache_info().currsize == QUERIES_KEPT_MAX
    assert parse_receive(b"queue=a&max=1") is not first
