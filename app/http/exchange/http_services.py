"""The services as HTTP's endpoints see them."""

from acklog.wire.limits import REQUEST_BODY_BYTES_MAX
from app.auth.callers import Callers, Enforced
from app.auth.namesakes import Namesakes
from app.auth.stored_tokens import StoredTokens
from app.auth.tried_rights import RightsOnTrial
from app.gateway.dependencies import Gateway
from app.http.exchange.bytes_in_flight import BytesInFlight
from app.http.exchange.request_body import SETTLEMENT_BYTES_MAX
from app.http.exchange.turns import Turns
from app.services.registry import Services


class HttpServices(Services):
    """All services of a gateway, with what only HTTP needs beside them: room for bodies that come in, and turns on the
    event loop for what takes long to parse and to write."""

    def __init__(self, gateway: Gateway) -> None:
        super().__init__(gateway)
        settings = gateway.settings
        enforcement = RightsOnTrial(self.metrics.count_let_through) if settings.rights_dry_run else Enforced()
        self.callers = Callers(
            gateway.tokens,
            StoredTokens(gateway.metadata),
            clock=gateway.clock,
            enforcement=enforcement,
            signed=gateway.signed,
        )
        self.namesakes = (
            None
            if gateway.tokens is None
            else Namesakes(gateway.tokens, gateway.metadata, self.metrics.token_names_shared.set)
        )
        share_percent = settings.request_bytes_share_percent
        self.bytes_in_flight = BytesInFlight(
            settings.request_bytes_in_flight_max,
            share_percent=share_percent,
            body_bytes_max=REQUEST_BODY_BYTES_MAX,
        )
        # However busy sends are, what is done can be said: it makes room.
        self.settlement_bytes = BytesInFlight(
            settings.settlement_bytes_in_flight_max,
            share_percent=share_percent,
            body_bytes_max=SETTLEMENT_BYTES_MAX,
        )
        self.turns = Turns()
        if gateway.colleagues is not None:
            gateway.colleagues.offer(self.exposition)

    async def exposition(self) -> bytes:
        """This process's metrics, as text."""
        self.metrics.waiting.set(self.waiting.count)
        self.metrics.body_bytes.set(self.bytes_in_flight.held_bytes + self.settlement_bytes.held_bytes)
        return await self.turns.take(self.metrics.exposition())
