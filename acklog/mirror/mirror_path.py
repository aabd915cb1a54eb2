"""The way of a copied message: the ids that it had, from where it was first written to where it was copied from.

Ids name topics by their ids, which no two clusters share. So a path says which topics, and thereby which clusters, a
message has been in, without anybody giving clusters names.
"""

from collections.abc import Mapping

from acklog.wire.identifiers import MessageId, parse_message_id

PATH_HEADER = "acklog-mirror-path"
HOPS_MAX = 16

MirrorPath = tuple[MessageId, ...]


def path_of(headers: Mapping[str, str]) -> MirrorPath:
    """Empty for a message that was first written where it is. What is no id counts as nothing: anybody may send such
    a header."""
    found = (parse_message_id(text) for text in headers.get(PATH_HEADER, "").split(" ")[: HOPS_MAX + 1])
    return tuple(each for each in found if each is not None)


def headers_with(headers: Mapping[str, str], message_id: str) -> dict[str, str]:
    """The headers of the copy of the message with this id."""
    before = headers.get(PATH_HEADER)
    return {**headers, PATH_HEADER: message_id if before is None else f"{before} {message_id}"}
