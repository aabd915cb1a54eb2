"""Sends what is nearly HTTP, and receipts of leaders that there have not been, on many connections at once."""

import asyncio
import json

CONNECTIONS = 20
PAUSE_SECONDS = 0.02

_FORGED = [f"r-{number:013d}-0-0-{number:013d}-0-999999999-1" for number in range(50)]
_BODY = json.dumps({"receipts": _FORGED}).encode()
REQUESTS = [
    b"GET /messages?queue=odd HTTP/1.1\r\n\r\n",
    b"GET /messages?queue=odd HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
    b"GET /messages?queue=odd\r\n\r\n",
    b"GET /messages?queue=odd HTTP/2.0\r\nHost: localhost\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"GET /messages?queue=odd HTTP/1.1\r\nHost: rebound.example\r\n\r\n",
    b"POST /messages HTTP/1.1\r\nHost: localhost\r\nOrigin: https://elsewhere.example\r\nContent-Length: 25\r\n\r\n"
    b'{"queue":"odd","body": 1}',
    b"GET /messages?queue=odd HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: cross-site\r\n\r\n",
]
FORGERY = b"POST /ack HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b" % (
    len(_BODY),
    _BODY,
)


async def attack(host: str, port: int) -> None:
    await asyncio.gather(*[_ask(host, port, first) for first in range(CONNECTIONS)])


async def _ask(host: str, port: int, first: int) -> None:
    number = first
    while True:
        number += 1
        reader, writer = await asyncio.open_connection(host, port)
        request = FORGERY if number % 4 == 0 else REQUESTS[number % len(REQUESTS)]
        writer.write(request)
        answer = await reader.read()
        writer.close()
        status = int(answer.split(b" ", 2)[1])
        assert status in {207, 400, 403, 404, 421}, answer
        await asyncio.sleep(PAUSE_SECONDS)
