"""Single sends of a server that traces some: those that begin a trace are left to the application."""

from app.auth.client_certificate import ClientCertificate
from app.http.exchange.bytes_in_flight import Hold
from app.http.exchange.caller_refusal import CallerRefusal
from app.http.exchange.http_services import HttpServices
from app.http.protocol.draws import Draws
from app.http.protocol.single_sends import SingleSends


class TracedSingleSends(SingleSends):
    """Who sends a `traceparent` asks for more than a single send anyway."""

    def __init__(self, services: HttpServices, draws: Draws) -> None:
        super().__init__(services)
        self._draws = draws

    def takes(self, headers: dict[bytes, bytes], certificate: ClientCertificate | None) -> Hold | CallerRefusal | None:
        taken = super().takes(headers, certificate)
        if not isinstance(taken, Hold) or not self._draws.is_single_drawn():
            return taken
        taken.release()
        return None
