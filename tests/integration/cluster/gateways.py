"""The gateways of a cluster as one server: what a load balancer in front of them is."""

import contextlib
import http.client
import json
from collections.abc import Sequence
from itertools import cycle
from urllib.parse import urlsplit

from tests.support.server_process import Answer
from tests.support.waiting import wait_until

PATIENCE_S = 60
NOT_NOW = frozenset({429, 500, 503, 504})


class Gateways:
    """Requests take turns over all of them, whether they are there or not."""

    def __init__(self, urls: Sequence[str]) -> None:
        self._turns = cycle(urls)

    @property
    def base_url(self) -> str:
        return next(self._turns)

    def request(self, method: str, target: str, document: object = None) -> Answer:
        """One that may be repeated: asked until somebody answers with something else than that it is not possible now.
        Not for the event loop."""

        def answer() -> Answer | None:
            try:
                found = ask(self.base_url, method, target, document)
            except (OSError, http.client.HTTPException):
                return None
            return None if found.status in NOT_NOW else found

        return wait_until(answer, seconds=PATIENCE_S, what=f"an answer to {method} {target}")


def ask(url: str, method: str, target: str, document: object = None) -> Answer:
    """One request on a connection of its own."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=30)
    with contextlib.closing(connection):
        content = None if document is None else json.dumps(document)
        connection.request(method, target, body=content, headers={"Content-Type": "application/json"})
        found = connection.getresponse()
        return Answer(found.status, {name.lower(): value for name, value in found.getheaders()}, found.read())
