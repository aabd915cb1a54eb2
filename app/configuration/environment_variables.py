"""Which variables of the environment are meant for this process, and what is said of those that are not.

Variables appear that nobody has set: Kubernetes adds some for every Service, and for one named `acklog` they begin as
the settings do. What is not known is told, with the name that was probably meant, and does not keep a server from
starting.
"""

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from typing import NamedTuple

PREFIX = "ACKLOG_"
CLIENTS = frozenset(
    {"ACKLOG_URL", "ACKLOG_TOKEN", "ACKLOG_PROFILE", "ACKLOG_FLIGHTS", "ACKLOG_ETCD_PROGRAM", "ACKLOG_COMMIT"}
    | {"ACKLOG_CA_FILE", "ACKLOG_CERTIFICATE_FILE", "ACKLOG_KEY_FILE"}
)
"""What the SDK and the command's other programs read, and what an image says of itself."""

_SERVICE_LINK = re.compile(
    r"ACKLOG(_[A-Z0-9_]+)?_"
    r"(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_[0-9]+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)"
)
_SERVICE_URL = re.compile(r"(tcp|udp|sctp)://\S+:[0-9]+")


class UnknownVariable(NamedTuple):
    """`near` is the setting that was probably meant, or "" where none is like it."""

    name: str
    near: str


def is_foreign(name: str, value: str) -> bool:
    """Whether somebody else has set it, for somebody else: Kubernetes for a Service (`ACKLOG_PORT=tcp://10.0.0.1:80`),
    or a user for the clients of Acklog."""
    is_link = name.endswith("_PORT") and _SERVICE_URL.fullmatch(value) is not None
    return is_link or name in CLIENTS or _SERVICE_LINK.fullmatch(name) is not None


def unknown_variables(environment: Mapping[str, str], known: Collection[str]) -> list[UnknownVariable]:
    """Those with Acklog's prefix that are neither known nor foreign, by name."""
    found = []
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known and not is_foreign(name, environment[name]):
            near = get_close_matches(name, sorted(known), n=1, cutoff=0.75)
            found.append(UnknownVariable(name, near[0] if near else ""))
    return found
