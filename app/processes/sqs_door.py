"""SQS at a gateway's port, put together from its rooms."""

from collections.abc import Sequence

from app.configuration.server_settings import Settings
from app.http.exchange.http_services import HttpServices
from app.http.protocol.front_doors import MakeFrontDoor
from app.http.protocol.short_way import ShortWays
from app.sqs.calls.sqs_services import SqsServices
from app.sqs.messages.message_service import MessageService
from app.sqs.protocol.failures import sqs_error_of
from app.sqs.protocol.front_door import SqsFrontDoor
from app.sqs.protocol.short_queue_calls import ROOT, ShortQueueCalls
from app.sqs.protocol.single_queue_sends import QueueSends, SingleQueueSends
from app.sqs.queues.queue_names import QueueNames
from app.sqs.queues.queue_service import QueueService
from app.sqs.signature.sqs_callers import SqsCallers


def sqs_doors(settings: Settings) -> Sequence[MakeFrontDoor]:
    """None where the settings want none."""
    if settings.no_sqs:
        return ()
    names = QueueNames(account=settings.sqs_account, region=settings.sqs_region, public_url=settings.public_url)

    def make(http: HttpServices) -> SqsFrontDoor:
        messages = MessageService(http, translate=sqs_error_of, arn_of=names.arn_of)
        queues = QueueService(http, names)
        claims = SqsCallers(http.callers, http.gateway.clock)
        # Where requests are traced, all go through the door, which makes the spans.
        is_short = http.gateway.tracer is None
        services = SqsServices(queues, names, messages)
        single_sends = SingleQueueSends(http, QueueSends(queues, names, messages))
        short_ways: ShortWays = (
            {(b"POST", ROOT): ShortQueueCalls(http, services, claims, single_sends)} if is_short else {}
        )
        return SqsFrontDoor(http, services, claims, short_ways)

    return (make,)
