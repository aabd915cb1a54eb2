"""A queue of SQS with the topic and the group that it is made of."""

from dataclasses import dataclass

from cluster.model.sqs_queue import SqsQueue
from cluster.model.values import Group, Topic

FIFO_SUFFIX = ".fifo"


@dataclass(frozen=True, slots=True)
class Queue:
    stored: SqsQueue
    topic: Topic
    group: Group

    @property
    def name(self) -> str:
        return self.stored.name

    @property
    def is_fifo(self) -> bool:
        return self.name.endswith(FIFO_SUFFIX)

    @property
    def is_deduplicated_by_content(self) -> bool:
        return self.stored.attributes.get("ContentBasedDeduplication") == "true"

    @property
    def is_deduplicated_by_message_group(self) -> bool:
        """Else by the whole queue."""
        return self.stored.attributes.get("DeduplicationScope") == "messageGroup"

    @property
    def wait_seconds(self) -> int:
        """How long a receive waits that does not say."""
        return int(self.stored.attributes.get("ReceiveMessageWaitTimeSeconds", "0"))

    @property
    def message_bytes_max(self) -> int:
        return int(self.stored.attributes.get("MaximumMessageSize", "1048576"))
