"""Ready-made requests."""

import json

from loadtests.http_connection import make_request

SINGLE_VARIANTS = 1000
BATCH_VARIANTS = 8
KEYS = 5000


def single_sends(queue: str) -> list[bytes]:
    """Single messages, about 200 bytes of JSON each, with different keys."""
    return [make_request("POST", "/messages", _single(queue, number)) for number in range(SINGLE_VARIANTS)]


def _single(queue: str, number: int) -> bytes:
    body = {"orderId": 100_000 + number, "customer": f"customer-{number % KEYS}", "total": "129.90", "currency": "EUR"}
    body["items"] = [{"sku": f"A-{number:05}", "count": 2}]
    return json.dumps({"queue": queue, "key": f"customer-{number % KEYS:05}", "body": body}).encode()


def batch_sends(queue: str, messages: int) -> list[bytes]:
    """Batches of messages with bodies of 100 bytes and different keys."""
    return [_batch(queue, messages, variant * messages) for variant in range(BATCH_VARIANTS)]


def _batch(queue: str, messages: int, first: int) -> bytes:
    texts = [
        json.dumps({"key": f"customer-{number % KEYS:05}", "body": f"{number:098}"})
        for number in range(first, first + messages)
    ]
    return make_request("POST", "/messages", f'{{"queue":"{queue}","messages":[{",".join(texts)}]}}'.encode())


def exchange(method: str, answer_bytes: int, request_bytes: int = 0) -> bytes:
    """The bare server's counterpart: the same number of bytes both ways."""
    return make_request(method, f"/exchange?bytes={answer_bytes}", b" " * request_bytes)
