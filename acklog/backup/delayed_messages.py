"""Messages that are to be seen later, in a backup.

They are listed before the logs are cut, so that one that becomes due in between is in either: and what was delivered
below the cut is left out again afterwards.

    content/<topic id>-<partition>/scheduled-<sha256>.json      a list of messages as the server shows them
"""

from collections import defaultdict

import msgspec

from acklog.backup.content_file import PartitionPlace, digest_of
from acklog.backup.server_catalog import ServerCatalog
from acklog.client.copy_calls import DelayedMessage
from acklog.errors import MessageNotFound

MESSAGES_PER_FILE = 1_000
CLOCKS_APART_MS = 60 * 60 * 1000
"""How far this machine's clock may be from the server's: what is due within that is asked for once more."""


class DelayedMessages:
    """Of one topic."""

    def __init__(self, catalog: ServerCatalog, topic: str) -> None:
        self._catalog = catalog
        self._topic = topic
        self._found: dict[str, DelayedMessage] = {}

    def look(self) -> None:
        """Before the cut."""
        for each in self._catalog.scheduled(self._topic):
            try:
                shown = self._catalog.scheduled_message(self._topic, each["scheduleId"])
            except MessageNotFound:
                continue  # it was delivered, long before the cut
            if shown.state == "scheduled":
                self._found[each["scheduleId"]] = shown

    def files(self, topic_id: str, ends: dict[int, int], *, cut_ms: int) -> dict[str, bytes]:
        """By name, what is not among the messages below the `ends`. What is due long after `cut_ms` cannot be."""
        by_partition: dict[int, list[DelayedMessage]] = defaultdict(list)
        for schedule_id, message in self._found.items():
            if message.deliver_at > cut_ms + CLOCKS_APART_MS or not self._is_below(schedule_id, ends):
                by_partition[message.partition].append(message)
        files: dict[str, bytes] = {}
        for partition, messages in sorted(by_partition.items()):
            for first in range(0, len(messages), MESSAGES_PER_FILE):
                content = msgspec.json.encode(messages[first : first + MESSAGES_PER_FILE])
                files[scheduled_name(PartitionPlace(topic_id, partition), content)] = content
        return files

    def _is_below(self, schedule_id: str, ends: dict[int, int]) -> bool:
        """Whether the messages have it already. One that is known no more may be there twice, rather than not."""
        try:
            shown = self._catalog.scheduled_message(self._topic, schedule_id)
        except MessageNotFound:
            return False
        if shown.state == "delivered":
            return 0 <= shown.offset < ends.get(shown.partition, 0)
        return shown.state == "cancelled"


def scheduled_name(place: PartitionPlace, content: bytes) -> str:
    return f"{place.folder}/scheduled-{digest_of(content)}.json"
