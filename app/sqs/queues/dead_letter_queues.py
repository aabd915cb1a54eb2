"""Which queues' messages go to which, and which may."""

from app.sqs.queue import FIFO_SUFFIX, Queue
from app.sqs.queues.attribute_rules import invalid_policy
from app.sqs.queues.queue_names import QueueNames
from app.sqs.queues.redrive_policy import RedriveAllowPolicy, redrive_allow_policy_of
from app.sqs.queues.standing_queue import standing_queue
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.metadata.metadata_view import MetadataView
from cluster.model.values import Exhausted


class DeadLetterQueues:
    def __init__(self, metadata: MetadataView, names: QueueNames) -> None:
        self._metadata = metadata
        self._names = names

    def sources_of(self, name: str) -> list[str]:
        """By name."""
        return [
            queue.name
            for stored in self._metadata.queues.all()
            if (queue := standing_queue(stored, self._metadata)) is not None
            and queue.group.settings.dead_letter_topic == name
            and queue.group.settings.on_exhausted is Exhausted.DEAD_LETTER
        ]

    def check_target(self, name: str, target: Queue, policy: str) -> None:
        """Whether the dead letters of the queue `name` may go there, as its `policy` says. Raises SqsError
        INVALID_PARAMETER_VALUE."""
        if target.name == name:
            raise invalid_policy("RedrivePolicy", policy, "A queue cannot be its own dead letter queue.")
        if target.is_fifo != name.endswith(FIFO_SUFFIX):
            kind = "a FIFO queue" if name.endswith(FIFO_SUFFIX) else "a standard queue"
            raise invalid_policy("RedrivePolicy", policy, f"Dead letter target must be the same type of queue: {kind}.")
        text = target.stored.attributes.get("RedriveAllowPolicy", "")
        allowed = redrive_allow_policy_of(text) if text else RedriveAllowPolicy()
        if not allowed.allows(self._names.arn_of(name)):
            raise invalid_policy("RedrivePolicy", policy, "Dead letter target does not permit this source queue.")

    def check_destination(self, source: Queue, destination: Queue) -> None:
        """Whether the source's messages can be moved there. Raises SqsError INVALID_PARAMETER_VALUE."""
        if destination.name == source.name:
            detail = "Source queue arn and destination queue arn cannot be the same."
            raise SqsError(SqsErrorCode.INVALID_PARAMETER_VALUE, detail)
        if destination.is_fifo != source.is_fifo:
            detail = "Source queue and destination queue must be of the same type."
            raise SqsError(SqsErrorCode.INVALID_PARAMETER_VALUE, detail)
