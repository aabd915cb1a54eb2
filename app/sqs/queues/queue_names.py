"""What a queue is called: its name, its URL and its ARN, each from each other one."""

import re
from urllib.parse import urlsplit

from app.sqs.queue import FIFO_SUFFIX
from app.sqs.sqs_error import SqsError, SqsErrorCode
from cluster.model.sqs_queue import is_queue_name

URL_LENGTH_MAX = 2_048
ARN_LENGTH_MAX = 256
_ARN = re.compile(r"arn:aws:sqs:(?P<region>[^:]+):(?P<account>[^:]+):(?P<name>[^:]+)")
_PATH = re.compile(r"(?:.*/)?(?P<account>[^/]+)/(?P<name>[^/]+)/?")


class QueueNames:
    """Of one account in one region, as the settings say. `public_url` is where clients find the server, whatever
    address a call came in by; "" is that address."""

    def __init__(self, *, account: str, region: str, public_url: str = "") -> None:
        self.account = account
        self._region = region
        self._public_url = public_url.rstrip("/")

    def url_of(self, name: str, request_base_url: str) -> str:
        return f"{self._public_url or request_base_url.rstrip('/')}/{self.account}/{name}"

    def name_of_url(self, url: str) -> str:
        """Whatever the host: a gateway may be found by several. Raises SqsError INVALID_ADDRESS,
        QUEUE_DOES_NOT_EXIST."""
        found = _PATH.fullmatch(_path_of(url)) if len(url) <= URL_LENGTH_MAX else None
        if found is None:
            raise SqsError(SqsErrorCode.INVALID_ADDRESS, "The address is not that of a queue.")
        self.require_owner(found["account"])
        if not is_queue_name(found["name"]):
            raise no_queue()
        return found["name"]

    def require_owner(self, account: str) -> None:
        """Raises SqsError QUEUE_DOES_NOT_EXIST for another account's."""
        if account != self.account:
            raise no_queue()

    def arn_of(self, name: str) -> str:
        return f"arn:aws:sqs:{self._region}:{self.account}:{name}"

    def name_of_arn(self, arn: str) -> str | None:
        """None for what is no ARN of a queue, or is another account's or region's."""
        found = _ARN.fullmatch(arn) if len(arn) <= ARN_LENGTH_MAX else None
        if found is None or (found["region"], found["account"]) != (self._region, self.account):
            return None
        return found["name"] if is_queue_name(found["name"]) else None

    def is_arn(self, text: str) -> bool:
        """Whether it has the form of a queue's, whoever's it is."""
        return len(text) <= ARN_LENGTH_MAX and _ARN.fullmatch(text) is not None


def check_new_name(name: str, *, is_fifo: bool) -> None:
    """Of a queue that is to be made. Raises SqsError INVALID_PARAMETER_VALUE."""
    if is_fifo and not (is_queue_name(name) and name.endswith(FIFO_SUFFIX)):
        detail = (
            "The name of a FIFO queue can only include alphanumeric characters, hyphens, or underscores, "
            "must end with .fifo suffix and be 1 to 80 in length."
        )
        raise SqsError(SqsErrorCode.INVALID_PARAMETER_VALUE, detail)
    if not is_fifo and (not is_queue_name(name) or name.endswith(FIFO_SUFFIX)):
        detail = "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in length"
        raise SqsError(SqsErrorCode.INVALID_PARAMETER_VALUE, detail)


def no_queue() -> SqsError:
    return SqsError(SqsErrorCode.QUEUE_DOES_NOT_EXIST, "The specified queue does not exist.")


def _path_of(url: str) -> str:
    """ "" for what is no URL."""
    try:
        return urlsplit(url).path
    except ValueError:
        return ""
