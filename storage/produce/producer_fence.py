"""What a leader takes of named producers: of each the last one that opened its name (rules R3, R16).

The names are in the coordination store, which gives out each epoch once, by compare-and-set. A leader knows them by its
copy, which is as new as its leadership: both come by one watch, in the order of their revisions. So whoever leads later
than a name was opened knows that it was, and those that led already are asked before the opening is answered.
"""

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.fenced_producer import fenced
from cluster.model.values import NamedProducer
from storage.rpc.producer_epoch import ProducerEpoch

UNHEARD_RETRY_MS = 100


def check_producer(claim: ProducerEpoch, topic_id: str, registered: NamedProducer | None) -> None:
    """Raises ServerError PRODUCER_FENCED; UNAVAILABLE for what may not have been heard of here yet."""
    if registered is None or registered.topic_id != topic_id or registered.epoch < claim.epoch:
        detail = f"This node has not heard of epoch {claim.epoch} of the producer {claim.producer_id}."
        raise ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=UNHEARD_RETRY_MS)
    if registered.epoch > claim.epoch:
        raise fenced(registered, claim.epoch)
