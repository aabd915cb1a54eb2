"""What a leader checks of a produced batch before it looks at its own state."""

from acklog.wire.batch import (
    FLAG_CONTROL,
    FLAG_TRANSACTIONAL,
    BatchCorruptError,
    BatchHeader,
    Buffer,
    DedupKey,
    decode_keys,
    verify_unstamped,
)
from acklog.wire.batch_structure import check_structure
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.values import Topic
from storage.rpc.messages import ACKS_ALL, ANY_MAPPING, ProduceRequest

MAPPING_CHANGED_RETRY_MS = 100


def checked_header(request: ProduceRequest, topic: Topic) -> BatchHeader:
    """Raises ServerError INVALID_FIELD, UNSUPPORTED."""
    try:
        header = verify_unstamped(request.batch)
        check_structure(request.batch, header)
    except BatchCorruptError as error:
        raise ServerError(ProblemCode.INVALID_FIELD, f"The batch is damaged: {error}.", field="batch") from error
    if header.flags & (FLAG_CONTROL | FLAG_TRANSACTIONAL):
        raise ServerError(ProblemCode.UNSUPPORTED, "Transactions are not supported.", field="batch")
    replicas = topic.replication_factor
    if request.acks != ACKS_ALL and not 0 <= request.acks <= replicas:
        raise ServerError(
            ProblemCode.INVALID_FIELD,
            f"acks is {request.acks}; the topic has {replicas} replica(s), so it may be 0 to {replicas} or all.",
            field="acks",
        )
    return header


def checked_keys(batch: Buffer, header: BatchHeader) -> list[DedupKey]:
    """Raises ServerError INVALID_FIELD."""
    try:
        return decode_keys(batch, header)
    except ValueError as error:
        raise ServerError(
            ProblemCode.INVALID_FIELD, f"The batch's keys are damaged: {error}.", field="batch"
        ) from error


def check_mapping(request: ProduceRequest, topic: Topic) -> None:
    """A partition that was chosen by an earlier mapping takes no new keys: whoever knows the present one has looked for
    them here, and may have stored them elsewhere since (rule R28). Raises ServerError CONFLICT."""
    if request.mapping != ANY_MAPPING and request.mapping < topic.mapping:
        raise mapping_is_over(topic)


def mapping_is_over(topic: Topic) -> ServerError:
    detail = f"The partitions of {topic.name} have just been changed, and nothing was stored here: send it again."
    return ServerError(ProblemCode.CONFLICT, detail, retry_after_ms=MAPPING_CHANGED_RETRY_MS)
