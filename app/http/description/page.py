"""The pages of `/docs`: Swagger UI over the OpenAPI document, and for browsers without scripts, and for what an error's
code means, two that are plain. Links are relative, as a proxy may serve all of it under a prefix."""

from html import escape

from acklog.wire.problems import ProblemCode

HTML = "text/html; charset=utf-8"


def swagger_page(title: str) -> bytes:
    """HTML without any script or style of its own: the content security policy allows none."""
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="icon" href="data:,">'
        '<link rel="stylesheet" href="docs/assets/swagger-ui.css">'
        '<div id="documentation"></div>'
        '<noscript><p>Without JavaScript: <a href="docs/plain">every call</a>, '
        '<a href="docs/errors">every error</a>, <a href="openapi.json">openapi.json</a>.</p></noscript>'
        '<script src="docs/assets/swagger-ui-bundle.js"></script><script src="docs/assets/start.js"></script></html>\n'
    ).encode()


def errors_page(title: str) -> bytes:
    """Every code, each with an anchor of its name."""
    rows = "".join(
        f'<tr id="{code.name}"><td><code>{code.name}</code><td>{code.status}'
        f"<td>{'yes' if code.retriable else 'no'}<td>{escape(code.title)}"
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
    table = f"<table><tr><th>code<th>status<th>try again?<th>what happened{rows}</table>"
    return plain(f"{title}: errors", f'{text}{table}<p><a href="../docs">All calls</a></p>')


def plain(title: str, content: str) -> bytes:
    """A page below `/docs` that needs a stylesheet only. `content` is HTML."""
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="icon" href="data:,"><link rel="stylesheet" href="assets/page.css">'
        f"<h1>{escape(title)}</h1>{content}</html>\n"
    ).encode()
