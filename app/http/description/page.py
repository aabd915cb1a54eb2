"""Pages below `/docs` that need no script: for browsers that run none, and what an error's code means. Links are
relative, as a proxy may serve all of it under a prefix."""

import re
from dataclasses import dataclass
from html import escape

from acklog.wire.problems import ProblemCode
from app.http.description.remedies import REMEDIES

HTML = "text/html; charset=utf-8"
_CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True, slots=True)
class PageFiles:
    """Addresses of what such a page loads, relative to it."""

    icon: str
    styles: tuple[str, ...]


def errors_page(title: str, files: PageFiles) -> bytes:
    """Every code, each with an anchor of its name."""
    rows = "".join(
        f'<tr id="{code.name}"><td><code>{code.name}</code><td>{code.status}'
        f"<td>{'yes' if code.retriable else 'no'}<td>{escape(code.title)}<td>{with_code(REMEDIES[code])}"
        for code in ProblemCode
    )
    text = (
        "<p>Every failure is a problem document (RFC 9457, <code>application/problem+json</code>). Programs go by its "
        "<code>code</code>, which never changes its meaning, and by <code>retriable</code>: the same request may "
        "succeed later, after the seconds that <code>Retry-After</code> says. <code>detail</code> is for people, "
        "<code>field</code> names what of the request is at fault. After <code>OUTCOME_UNKNOWN</code>, or a broken "
        "connection, a message may be stored or not: send it again with the same <code>Idempotency-Key</code> or "
        "<code>dedupId</code>, and it is stored once.</p>"
    )
    table = f"<table><tr><th>code<th>status<th>try again?<th>what happened<th>what to do{rows}</table>"
    return plain(f"{title}: errors", f'{text}{table}<p><a href="../docs">All calls</a></p>', files)


def with_code(text: str) -> str:
    """HTML of a text in which code stands between backquotes."""
    return _CODE.sub(r"<code>\1</code>", escape(text))


def plain(title: str, content: str, files: PageFiles) -> bytes:
    """`content` is HTML."""
    styles = "".join(f'<link rel="stylesheet" href="{escape(each)}">' for each in files.styles)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="icon" href="{escape(files.icon)}">{styles}'
        f"<main><h1>{escape(title)}</h1>{content}</main></html>\n"
    ).encode()
