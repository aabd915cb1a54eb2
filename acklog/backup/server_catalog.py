"""What there is on a server, as it says it: documents, so that settings that are new here are kept, too."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from acklog.backup.manifest import GroupEntry
from acklog.client import copy_calls
from acklog.client.call import segment

if TYPE_CHECKING:
    from acklog.client.copies import Copies

Document = dict[str, Any]
PAGE_LENGTH = 1000
_OF_RECURRING = ("cron", "timeZone", "everySeconds", "message", "missed", "graceSeconds", "paused", "startAt", "endAt")
"""Of a recurring schedule as it is shown, what it is made by."""


class ServerCatalog:
    """Every call raises AcklogError."""

    def __init__(self, copies: "Copies") -> None:
        self._copies = copies

    def topics(self) -> list[Document]:
        """All that the token may look at, by name."""
        return list(self._pages("/topics", "topics"))

    def topic(self, name: str) -> Document:
        """With each partition's state."""
        return self._copies.perform(copy_calls.document_at(f"/topics/{segment(name)}"))

    def groups(self) -> dict[str, GroupEntry]:
        """By name."""
        found = self._pages("/groups", "groups")
        return {each["name"]: GroupEntry(each["name"], each["mode"], each["settings"]) for each in found}

    def recurring(self, topic: str) -> dict[str, copy_calls.Fields]:
        """The recurring schedules of the topic, by name, as they are made."""
        path = f"/topics/{segment(topic)}/schedules"
        names = [each["schedule"] for each in self._pages(path, "schedules")]
        shown = {name: self._copies.perform(copy_calls.fields_at(f"{path}/{segment(name)}")) for name in names}
        return {
            name: {field: document[field] for field in _OF_RECURRING if field in document}
            for name, document in shown.items()
        }

    def scheduled(self, topic: str) -> Iterator[Document]:
        """The delayed messages of the topic, in the order of their times, without their bodies."""
        path, cursor = f"/topics/{segment(topic)}/scheduled", None
        while True:
            page = self._copies.perform(copy_calls.document_at(path, limit=PAGE_LENGTH, cursor=cursor))
            yield from page["scheduled"]
            cursor = page.get("next")
            if cursor is None:
                return

    def scheduled_message(self, topic: str, schedule_id: str) -> copy_calls.DelayedMessage:
        """Raises MessageNotFound."""
        return self._copies.perform(copy_calls.delayed_message(topic, schedule_id))

    def _pages(self, path: str, member: str) -> Iterator[Document]:
        after = None
        while True:
            page = self._copies.perform(copy_calls.document_at(path, limit=PAGE_LENGTH, after=after))
            yield from page[member]
            after = page.get("next")
            if after is None:
                return
