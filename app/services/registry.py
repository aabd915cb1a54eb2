"""The services of one gateway, put together once."""

from app.dependencies import Gateway
from app.metrics import Metrics
from app.parsing.request_body import BytesInFlight
from app.routing import PartitionLeaders
from app.services.catalog import Catalog
from app.services.receive import ReceiveService
from app.services.send import SendService
from app.services.settle import SettleService


class Services:
    """What the routers call. Each service stands alone: the same ones serve any other front end."""

    def __init__(self, gateway: Gateway) -> None:
        self.gateway = gateway
        self.settings = gateway.settings
        self.metrics = Metrics(names_max=gateway.settings.metric_names_max)
        self.bytes_in_flight = BytesInFlight(gateway.settings.request_bytes_in_flight_max)
        self.catalog = Catalog(gateway)
        self.leaders = PartitionLeaders(gateway.metadata, gateway.nodes, gateway.clock, gateway.entropy)
        self.send = SendService(gateway, self.catalog, self.leaders)
        self.settle = SettleService(gateway, self.catalog, self.leaders)
        self.receive = ReceiveService(gateway, self.catalog, self.leaders, self.settle)
