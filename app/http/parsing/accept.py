"""Which content type an answer gets, and which coding (RFC 9110, section 12.5)."""

import re

from acklog.wire.problems import ProblemCode
from cluster.errors import ServerError

HTML = "text/html"
RANGES_MAX = 50
_QUALITY = re.compile(r"\s*q\s*=\s*(0(\.[0-9]{0,3})?|1(\.0{0,3})?)\s*", re.IGNORECASE)


def chosen_type(accept: str | None, offered: tuple[str, ...]) -> str:
    """The offered type that the client likes best; the first one where it does not care.

    Raises ServerError NOT_ACCEPTABLE.
    """
    if accept is None or accept in ("", "*/*", offered[0]):
        return offered[0]
    ranges = [_parse(part) for part in accept.split(",")[:RANGES_MAX]]
    best, best_quality = "", 0.0
    for candidate in offered:
        quality = _quality_of(candidate, ranges)
        if quality > best_quality:
            best, best_quality = candidate, quality
    if not best:
        raise ServerError(ProblemCode.NOT_ACCEPTABLE, f"this call answers in {', '.join(offered)}", field="Accept")
    return best


def is_for_people(accept: str | None) -> bool:
    """Whether HTML is asked for by its name, as browsers do: what takes anything is a program."""
    return any(name == HTML and quality > 0 for name, quality in map(_parse, (accept or "").split(",")[:RANGES_MAX]))


def takes_coding(accept_encoding: str | None, coding: str) -> bool:
    """Whether an answer may be compressed by it; not where nothing is said."""
    wanted = dict(map(_parse, (accept_encoding or "").split(",")[:RANGES_MAX]))
    return wanted.get(coding, wanted.get("*", 0.0)) > 0


def _parse(part: str) -> tuple[str, float]:
    name, *parameters = part.split(";")
    quality = 1.0
    for parameter in parameters:
        match = _QUALITY.fullmatch(parameter)
        if match is not None:
            quality = float(match[1])
    return name.strip().lower(), quality


def _quality_of(candidate: str, ranges: list[tuple[str, float]]) -> float:
    """That of the most specific range which matches."""
    main_type = candidate.partition("/")[0]
    for wanted in (candidate, f"{main_type}/*", "*/*"):
        for name, quality in ranges:
            if name == wanted:
                return quality
    return 0.0
