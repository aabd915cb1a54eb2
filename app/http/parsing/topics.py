"""What `PUT` and `PATCH /topics/{topic}` and the listings take."""

import msgspec

from acklog.wire import limits
from app.calls.topics import TopicFields
from app.http.parsing import query
from app.http.parsing.json_text import check_utf8, decode

LISTING_DEFAULT = 1000
LISTING_MAX = 10_000


_decoder = msgspec.json.Decoder(TopicFields)

_PAGE = (
    query.integer("limit", 1, LISTING_MAX, "entries at most", default=LISTING_DEFAULT),
    query.text("after", limits.NAME_LENGTH_MAX, "only names behind this one: `next` of the page before"),
)
LISTING_QUERY = query.QueryTable(_PAGE)
TOPICS_QUERY = query.QueryTable(
    (*_PAGE, query.switch("internal", "also Acklog's own topics (`__…`), with a token for every topic and group"))
)

UPDATE_QUERY = query.QueryTable(
    (
        query.switch(
            "allowDataLoss", "the change may delete messages: shorter retention and smaller files need this word"
        ),
    )
)


def parse_update(query_string: bytes) -> bool:
    """Whether the change may delete messages. Raises ServerError."""
    return UPDATE_QUERY.parse(query_string).value("allowDataLoss") is True


def parse_topic(body: bytes) -> TopicFields:
    """An empty body means a topic with every default. Raises ServerError."""
    if not body:
        return TopicFields()
    check_utf8(body)
    return decode(_decoder, body)


def parse_listing(query_string: bytes) -> tuple[int, str]:
    """(how many, after which name). Raises ServerError."""
    return _page(LISTING_QUERY.parse(query_string))


def parse_topics(query_string: bytes) -> tuple[int, str, bool]:
    """(how many, after which name, whether Acklog's own as well). Raises ServerError."""
    arguments = TOPICS_QUERY.parse(query_string)
    return *_page(arguments), arguments.switch("internal")


def _page(arguments: query.Arguments) -> tuple[int, str]:
    return arguments.integer("limit") or LISTING_DEFAULT, arguments.text("after") or ""
