"""What a process hears that had a producer's name before another one opened it."""

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.values import NamedProducer


def fenced(registered: NamedProducer, epoch: int) -> ServerError:
    detail = (
        f"{registered.name!r} was opened again since, and is at epoch {registered.epoch}: epoch {epoch} sends nothing "
        "any more. What of it was not answered may have been stored before."
    )
    return ServerError(ProblemCode.PRODUCER_FENCED, detail, extra={"epoch": registered.epoch})
