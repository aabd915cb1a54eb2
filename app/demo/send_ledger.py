"""What the producers sent and what the server answered; judged against the log as it stands at the end."""

from array import array

from app.demo.column import ABSENT, OffsetColumn
from app.demo.findings import PromiseCheck


class SendLedger:
    """Messages are known by their index in the input, from 0 on, without gaps."""

    def __init__(self) -> None:
        self._digests: array[int] = array("q")
        self._keys: list[str | None] = []
        self._names: dict[str, str] = {}
        self._index_at = OffsetColumn()
        self._is_stored = bytearray()
        self._answers = PromiseCheck("every send was acknowledged, each with an offset of its own")
        self.stored_count = 0
        self.checksum = 0  # the sum of all digests

    def __len__(self) -> int:
        return len(self._digests)

    def planned(self, index: int, key: str | None, digest: int) -> None:
        """A message is about to be sent."""
        if index != len(self._digests):
            raise ValueError(f"message {index} comes after {len(self._digests) - 1}")
        self._digests.append(digest)
        self._keys.append(None if key is None else self._names.setdefault(key, key))
        self._is_stored.append(0)
        self.checksum += digest

    def stored(self, index: int, partition: int, offset: int) -> None:
        """The server acknowledged the message: it is durable there."""
        other = self._index_at.get(partition, offset)
        if other != ABSENT:
            self._answers.violated(f"messages {other} and {index} were both acknowledged at {partition}/{offset}")
            return
        if self._is_stored[index]:
            self._answers.violated(f"message {index} was acknowledged a second time, at {partition}/{offset}")
            return
        self._is_stored[index] = 1
        self._index_at.put(partition, offset, index)
        self.stored_count += 1

    def digest_at(self, partition: int, offset: int) -> int:
        """Of the message that was acknowledged there; ABSENT if none was."""
        index = self._index_at.get(partition, offset)
        return ABSENT if index == ABSENT else self._digests[index]

    def index_at(self, partition: int, offset: int) -> int:
        """The message that was acknowledged there; ABSENT if none was."""
        return self._index_at.get(partition, offset)

    def key_of(self, index: int) -> str | None:
        return self._keys[index]

    def places(self) -> OffsetColumn:
        """The index of the message acknowledged at each place."""
        return self._index_at

    def check_answers(self) -> PromiseCheck:
        finding = self._answers
        finding.examined = len(self)
        finding.expect_equal("acknowledged messages", found=self.stored_count, expected=len(self))
        return finding
