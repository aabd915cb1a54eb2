"""The data keys of a topic as far as this node knows them. They are in memory only, and nobody prints them."""

from acklog.wire.batch import BatchCorruptError
from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError
from cluster.model.data_keys import DATA_KEYS_MAX
from cluster.model.values import Encryption, Topic

KEYS_RETRY_MS = 200


class TopicKeys:
    """`learn` says what the topic's entry says; `put` gives a key that was unwrapped, `miss` says why one is not
    there, until it is."""

    def __init__(self) -> None:
        self._name = ""
        self._is_on = False
        self._wanted: tuple[int, ...] = ()
        self._keys: dict[int, bytes] = {}
        self._problems: dict[int, str] = {}
        self._asked_for: dict[int, None] = {}

    def __repr__(self) -> str:
        return f"TopicKeys({self._name!r}, {sorted(self._keys)})"

    def learn(self, topic: Topic) -> None:
        self._name = topic.name
        self._is_on = topic.config.encryption is Encryption.ON
        self._wanted = tuple(each.number for each in topic.data_keys)

    def put(self, number: int, key: bytes) -> None:
        self._keys[number] = key
        self._problems.pop(number, None)
        self._asked_for.pop(number, None)

    def miss(self, number: int, problem: str) -> None:
        """`problem` is told to whoever asks for what the key has encrypted."""
        self._problems[number] = problem

    def has(self, number: int) -> bool:
        return number in self._keys

    @property
    def asked_for(self) -> tuple[int, ...]:
        """Keys that somebody wanted in vain."""
        return tuple(self._asked_for)

    @property
    def is_on(self) -> bool:
        """Whether what is appended is to be encrypted."""
        return self._is_on

    @property
    def is_known(self) -> bool:
        """Whether there is a data key to encrypt by."""
        return bool(self._keys)

    @property
    def is_ready(self) -> bool:
        """The topic's newest data key is known, and it has one where it needs one: what is appended can be encrypted
        as it is to be. Earlier ones may be missing yet, for who reads what they have encrypted."""
        return self._wanted[-1] in self._keys if self._wanted else not self._is_on

    @property
    def newest(self) -> int:
        """The number of the data key for what is encrypted from now on. Raises ServerError UNAVAILABLE."""
        if not self._keys:
            raise self.missing()
        return max(self._keys)

    def key(self, number: int) -> bytes:
        """Raises ServerError UNAVAILABLE for one that is not known yet, and BatchCorruptError for one that no topic
        could have, or this one does not: who leads may have heard of a newer one before this node has, but of no
        other."""
        key = self._keys.get(number)
        if key is not None:
            return key
        if number not in self._wanted and not max(self._wanted, default=0) < number <= DATA_KEYS_MAX:
            raise BatchCorruptError(f"it names the data key {number}, which its topic does not have")
        self._asked_for[number] = None
        raise self.missing(number)

    def missing(self, number: int | None = None) -> ServerError:
        """`number` None: the one for what is encrypted from now on."""
        which = "a data key" if number is None else f"data key {number}"
        problem = self._problems.get(number or max(self._wanted, default=1))
        reason = f": {problem}" if problem else " yet."
        detail = f"This node does not know {which} of the encrypted topic {self._name}{reason}"
        return ServerError(ProblemCode.UNAVAILABLE, detail, retry_after_ms=KEYS_RETRY_MS)
