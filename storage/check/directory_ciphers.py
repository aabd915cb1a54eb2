"""What decrypts the logs of a data directory that lies still: data keys from its catalogue, by a master key that was
given.

Without one everything is checked that its checksums say; what is in it is not looked at.
"""

from collections.abc import Iterable

from cluster.model.values import Topic
from cluster.ports.entropy import Entropy
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

    def learn(self, topics: Iterable[Topic]) -> None:
        """A data key that another master key has wrapped stays unknown, and its problem says so."""
        for topic in topics:
            topic_keys = self._of(topic.id)
            topic_keys.learn(topic)
            topic_keys.problem = "no master key was given."
            if self._master_key is not None:
                self._unwrap(topic, topic_keys, self._master_key)

    def _unwrap(self, topic: Topic, topic_keys: TopicKeys, master_key: LocalMasterKey) -> None:
        for each in topic.data_keys:
            try:
                topic_keys.put(each.number, master_key.unwrapped(each, bound=bound_to(topic.id, each.number)))
            except MasterKeyError as error:
                topic_keys.problem = f"{error}."

    def of(self, log: LogKey) -> BatchCipher:
        """Decrypting what it has no key for raises ServerError UNAVAILABLE."""
        return LogCipher(log, self._of(log.topic_id), self._entropy)

    def _of(self, topic_id: str) -> TopicKeys:
        return self._keys.setdefault(topic_id, TopicKeys())
