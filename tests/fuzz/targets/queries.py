"""Query strings of every call that takes one."""

from collections.abc import Callable

from app.http.parsing.audit import parse_audit
from app.http.parsing.blocked import parse_blocked_listing
from app.http.parsing.cluster import parse_cluster_limit
from app.http.parsing.copies import parse_append
from app.http.parsing.events import parse_events
from app.http.parsing.groups import parse_demand, parse_offsets
from app.http.parsing.members import parse_leave
from app.http.parsing.namespaces import parse_namespace_page
from app.http.parsing.query import NO_PARAMETERS
from app.http.parsing.receive import parse_receive
from app.http.parsing.records import parse_records
from app.http.parsing.scheduled import parse_scheduled_page
from app.http.parsing.send import SEND_QUERY
from app.http.parsing.tail import parse_tail
from app.http.parsing.tokens import parse_question, parse_token_page
from app.http.parsing.topics import parse_listing, parse_topics, parse_update
from cluster.errors import ServerError
from tests.fuzz.fuzz_target import FuzzTarget

_PARSERS: tuple[Callable[[bytes], object], ...] = (
    parse_append,
    parse_audit,
    parse_blocked_listing,
    parse_cluster_limit,
    parse_demand,
    parse_leave,
    parse_listing,
    parse_namespace_page,
    parse_offsets,
    parse_question,
    parse_receive,
    parse_scheduled_page,
    parse_token_page,
    parse_topics,
    parse_update,
    SEND_QUERY.parse,
    NO_PARAMETERS.parse,
    lambda query: parse_records("orders", "0", query),
    lambda query: parse_events(query, None),
    lambda query: parse_tail("orders", query, None),
    lambda event_id: parse_tail("orders", b"", event_id.decode("latin-1")),  # a header
)
_SEEDS = (
    b"",
    b"limit=10&after=a%2Fb",
    b"limit=10&topic=orders&queue=orders&topic=invoices",
    b"queue=orders&group=mail&max=10&maxBytes=1000&waitSeconds=0.5&visibilitySeconds=30&autoAck=true&mode=shared",
    b"queue=orders&consumer=w%C3%A9&memberEpoch=3&tags=a,b&filter=key+%3D+%22k%22",
    b"offset=earliest&maxBytes=10&readFrom=nearest&tags=a",
    b"offset=17&epoch=3&until=20&waitSeconds=20",
    b"time=1700000000000",
    b"action=send&topic=orders",
    b"from=2027-03-01T08%3A30%3A00%2B01%3A00&to=1800000000000&cursor=1700000000000.3.17&limit=1",
    b"allowDataLoss=true",
    b"internal=true",
    b"instanceId=a&comesBack=false",
    b"targetLag=10&targetSeconds=1.5",
    b"key=k&headers=x%3Ay&tags=a&partition=3&timestamp=1&contentType=image/png&dedupId=d&delaySeconds=1&acks=all",
    b"since=1700000000000&until=1800000000000&who=shop&operation=deleteTopic&result=refused&max=10&after=3",
    b"kinds=topics,groups&topics=orders&groups=mail,bills&cursor=8eeba7412f9c168c-4",
    b"from=earliest&offset=3:17&offset=0:0&partition=3&partition=0&tags=a&maxBodyBytes=10&maxPerSecond=5",
    b"cursor=kq1ianNtZ3FnbjBqZ3ZlkZMAAQE",
    b"kq1ianNtZ3FnbjBqZ3ZlkZMAAQE",
    b"max=%D9%A3&max=1&%zz=1&&&a",
)


def _read(data: bytes) -> None:
    """A query is one call's: most others refuse it, each with a problem."""
    refusal: ServerError | None = None
    taken = 0
    for parse in _PARSERS:
        try:
            parse(data)
            taken += 1
        except ServerError as error:
            assert error.code.status == 400
            assert len(error.detail) < 2_000
            refusal = error
    if not taken and refusal is not None:
        raise refusal


TARGET = FuzzTarget(_read, (ServerError,), lambda: _SEEDS)
