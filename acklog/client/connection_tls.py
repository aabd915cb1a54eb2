"""What new connections to a server are made with, by what a client was given."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from acklog.client.tls_files import ClientTlsFiles, given_or_found_files
from acklog.errors import InvalidArgument

if TYPE_CHECKING:
    from ssl import SSLContext


def context_maker(
    url: str,
    given: ClientTlsFiles,
    tls: "SSLContext | None",
    *,
    variable: Callable[[str], str],
    now_ms: Callable[[], float],
) -> "Callable[[], SSLContext] | None":
    """What makes new connections to that URL, as they are opened: a context that was given, or the files as they are
    then. None for the system's authorities. Raises InvalidArgument."""
    if tls is not None:
        for name in given.given():
            raise InvalidArgument("is in the place of tls: give one of them", field=name)
        return lambda: tls
    files = given_or_found_files(url, given, variable)
    if files is None:
        return None
    from acklog.client.renewed_tls import RenewedTls  # with ssl, which who calls by http does without

    return RenewedTls(files, now_ms=now_ms).context
