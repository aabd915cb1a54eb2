"""What is sent: bodies, and ready-made requests with them."""

import json
from collections.abc import Sequence

from loadtests.http_connection import make_request

SINGLE_VARIANTS = 1000
BATCH_VARIANTS = 8
KEYS = 5000


def single_bodies(queue: str) -> list[bytes]:
    """Single messages, about 200 bytes of JSON each, with different keys."""
    return [
        json.dumps({"queue": queue, "key": f"customer-{number % KEYS:05}", "body": _order(number)}).encode()
        for number in range(SINGLE_VARIANTS)
    ]


def keyless_bodies(queue: str) -> list[bytes]:
    """The same messages without keys."""
    return [json.dumps({"queue": queue, "body": _order(number)}).encode() for number in range(SINGLE_VARIANTS)]


def _order(number: int) -> dict[str, object]:
    return {
        "orderId": 100_000 + number,
        "customer": f"customer-{number % KEYS}",
        "total": "129.90",
        "currency": "EUR",
        "items": [{"sku": f"A-{number:05}", "count": 2}],
    }


def batch_bodies(queue: str, messages: int, *, body_bytes: int = 100) -> list[bytes]:
    """Batches of messages with bodies of `body_bytes` and different keys."""
    return [_batch(queue, messages, variant * messages, body_bytes - 2) for variant in range(BATCH_VARIANTS)]


def _batch(queue: str, messages: int, first: int, digits: int) -> bytes:
    texts = [
        json.dumps({"key": f"customer-{number % KEYS:05}", "body": f"{number:0{digits}}"})
        for number in range(first, first + messages)
    ]
    return f'{{"queue":"{queue}","messages":[{",".join(texts)}]}}'.encode()


def posts(bodies: Sequence[bytes], target: str = "/messages") -> list[bytes]:
    """A request for each body; the same bodies to another target are what a limit is measured with."""
    return [make_request("POST", target, body) for body in bodies]
