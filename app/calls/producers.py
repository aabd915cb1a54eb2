"""What is asked of named producers, and how one is shown."""

from typing import Annotated

import msgspec
from msgspec import Meta

from acklog.wire import limits


class OpenFields(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    """The body of `PUT /topics/{topic}/producers/{producer}`; none is as good as an empty one."""

    instance_id: Annotated[
        str,
        Meta(
            max_length=limits.CONSUMER_NAME_LENGTH_MAX,
            description=(
                "names the process that opens: the same one again, with nobody in between, gets the same epoch "
                "(default: every call is another one)"
            ),
        ),
    ] = ""


class ProducerView(msgspec.Struct, rename="camel"):
    """What the producer's sends carry: all but the sequence."""

    topic: str
    producer: str
    producer_id: str
    epoch: int
