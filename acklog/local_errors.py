"""Failures that no server answers with: none came, or nothing was asked. Users find them in `acklog.errors`."""

# The names are those of the codes, which end as their meaning wants it, not with "Error".
# ruff: noqa: N818

from collections.abc import Sequence

from acklog.acklog_error import AcklogError


class ConnectionFailed(AcklogError):
    """The server could not be reached, or the connection broke. What was sent may or may not have taken effect."""

    default_code = "CONNECTION_FAILED"
    default_retriable = True


class CannotConnect(ConnectionFailed):
    """No connection could be made: nothing was sent."""

    default_code = "CANNOT_CONNECT"


class TlsFailed(CannotConnect):
    """The server and we do not trust each other, or one of us speaks no TLS. Nothing was sent that anybody has acted
    on. It counts as passing: certificates are renewed while clients run."""

    default_code = "TLS_FAILED"


class DeadlineExceeded(AcklogError):
    """The deadline passed without an answer. What was sent may or may not have taken effect, unless `detail` says."""

    default_code = "DEADLINE_EXCEEDED"
    default_retriable = True


class BufferFull(DeadlineExceeded):
    """A producer's buffer had no room until the deadline. The message was not taken."""

    default_code = "BUFFER_FULL"


class UnexpectedAnswer(AcklogError):
    """The answer is not one of Acklog's: is the URL right, and what stands between?"""

    default_code = "UNEXPECTED_ANSWER"


class InvalidArgument(AcklogError, ValueError):
    """What the SDK was called with cannot be right. Nothing was sent."""

    default_code = "INVALID_ARGUMENT"


class ClientClosed(AcklogError):
    """The client, producer or consumer was closed, or was made before the process forked."""

    default_code = "CLIENT_CLOSED"


class DeliveryFailed(AcklogError):
    """`count` messages of a producer were not delivered, and nobody has taken their results. `failures` holds the first
    errors (100 at most)."""

    default_code = "DELIVERY_FAILED"

    def __init__(self, detail: str, *, count: int = 0, failures: Sequence[AcklogError] = ()) -> None:
        super().__init__(detail)
        self.count = count
        self.failures = list(failures)


class SomeFailed(AcklogError):
    """Several messages or receipts of one call failed. `failures` holds their errors, in order."""

    default_code = "SOME_FAILED"

    def __init__(self, detail: str, *, failures: Sequence[AcklogError] = ()) -> None:
        super().__init__(detail)
        self.failures = list(failures)


class DecryptionFailed(AcklogError):
    """An encrypted body cannot be read, and will not be: it was changed, was moved from another topic or message, or is
    no encrypted body."""

    default_code = "DECRYPTION_FAILED"


class UnknownKey(DecryptionFailed):
    """The key that an encrypted body needs is not among those that were given."""

    default_code = "UNKNOWN_KEY"


class MessageInClear(AcklogError):
    """The message is not encrypted, and such ones are refused."""

    default_code = "MESSAGE_IN_CLEAR"


class KeyUnavailable(AcklogError):
    """Who has the keys for encrypted bodies did not answer."""

    default_code = "KEY_UNAVAILABLE"
    default_retriable = True


class SettlementsLost(AcklogError):
    """Acks or nacks of a consumer could not be confirmed before it closed: the messages of `receipts` come again."""

    default_code = "SETTLEMENTS_LOST"

    def __init__(self, detail: str, *, receipts: Sequence[str] = ()) -> None:
        super().__init__(detail)
        self.receipts = list(receipts)
