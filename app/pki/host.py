"""A host in a certificate: a DNS name or an IP address, in the one spelling that certificates are compared by."""

import ipaddress
import re

from app.pki.pki_error import PkiError

HOSTS_MAX = 100
NAME_LENGTH_MAX = 253
LOOPBACK = ("localhost", "127.0.0.1", "::1")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")  # names in Docker's networks have underscores
_HINT = "Write a DNS name or an IP address alone: queue.example.org, *.nodes.example.org, 10.0.0.7, ::1."


def checked_hosts(given: list[str]) -> tuple[str, ...]:
    """Each once, in their order. Raises PkiError."""
    hosts = tuple(dict.fromkeys(checked_host(each) for each in given))
    if len(hosts) > HOSTS_MAX:
        raise PkiError(f"{len(hosts)} hosts are more than {HOSTS_MAX}", field="--host")
    return hosts


def checked_host(text: str) -> str:
    """Lower case, and addresses in their short form. Raises PkiError for what no client would look for."""
    if is_address(text):
        return str(ipaddress.ip_address(text))
    if "://" in text or "/" in text:
        raise _refused(text, "has more than a host")
    if "[" in text or re.fullmatch(r"[^:]+:\d+", text):
        raise _refused(text, "has a port or brackets, which certificates do not")
    if not text.isascii():
        raise _refused(text, "is not ASCII: names of other letters are written as xn--…")
    name = text.lower()
    labels = name.removeprefix("*.").split(".")
    if len(name) > NAME_LENGTH_MAX or not all(_LABEL.fullmatch(label) for label in labels):
        raise _refused(text, "is no host")
    if labels[-1].isdigit():
        raise _refused(text, "is no address, and names do not end with a number")
    if name.startswith("*.") and len(labels) < 2:
        raise _refused(text, "would stand for too much: behind '*.' two parts are needed")
    return name


def is_address(text: str) -> bool:
    """Whether it is an IP address, which certificates hold apart from names."""
    try:
        return not getattr(ipaddress.ip_address(text), "scope_id", None)
    except ValueError:
        return False


def _refused(text: str, why: str) -> PkiError:
    return PkiError(f"{text!r} {why}", field="--host", hint=_HINT)
