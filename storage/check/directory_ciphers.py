"""What decrypts the logs of a data directory that lies still: data keys from its catalogue, by a master key that was
given.

Without one everything is checked that its checksums say; what is in it is not looked at.
"""

from collections.abc import Iterable

from cluster.model.values import DataKey, Topic
from cluster.ports.entropy import Entropy
from storage.check.findings import FindingKind
from storage.encryption.data_key_check import checked
from storage.encryption.local_master_key import LocalMasterKey
from storage.encryption.log_cipher import LogCipher
from storage.encryption.master_key import MasterKeyError, bound_to
from storage.encryption.topic_keys import TopicKeys
from storage.log.batch_cipher import BatchCipher
from storage.log.keys import LogKey


class DirectoryCiphers:
    """`learn` the topics before a log is asked for."""

    def __init__(self, master_key: LocalMasterKey | None, entropy: Entropy) -> None:
        self._master_key = master_key
        self._entropy = entropy
        self._keys: dict[str, TopicKeys] = {}
        self._are_elsewhere = False

    def keys_are_elsewhere(self) -> None:
        """The directory is a node's: nothing in it says which data keys there are."""
        self._are_elsewhere = True

    def unread(self, detail: str) -> tuple[FindingKind, str]:
        """What is found of something that could not be decrypted for want of a key."""
        if self._are_elsewhere:
            return FindingKind.KEYS_ELSEWHERE, "verified by its checksums only"
        return FindingKind.ENCRYPTED, detail

    def learn(self, topics: Iterable[Topic]) -> None:
        """A data key that another master key has wrapped stays unknown, and its problem says so."""
        for topic in topics:
            topic_keys = self._of(topic.id)
            topic_keys.learn(topic)
            for each in topic.data_keys:
                try:
                    topic_keys.put(each.number, self._unwrapped(topic, each))
                except MasterKeyError as error:
                    topic_keys.miss(each.number, f"{error}.")

    def _unwrapped(self, topic: Topic, data_key: DataKey) -> bytes:
        """Raises MasterKeyError."""
        if self._master_key is None:
            raise MasterKeyError("no master key was given")
        plain = self._master_key.unwrapped(data_key, bound=bound_to(topic.id, data_key.number))
        return checked(plain, data_key, topic_id=topic.id)

    def of(self, log: LogKey) -> BatchCipher:
        """Decrypting what it has no key for raises ServerError UNAVAILABLE."""
        return LogCipher(log, self._of(log.topic_id), self._entropy)

    def _of(self, topic_id: str) -> TopicKeys:
        return self._keys.setdefault(topic_id, TopicKeys())
