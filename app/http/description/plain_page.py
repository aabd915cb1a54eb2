"""`/docs/plain`: the OpenAPI document as one page that needs no script."""

import json
import re
from html import escape
from typing import Any

from app.http.description.page import plain
from app.http.exchange.problems import CONTENT_TYPE as PROBLEM

_LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")


def plain_page(document: dict[str, Any]) -> bytes:
    """HTML."""
    info = document["info"]
    by_tag: dict[str, list[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            by_tag.setdefault(operation["tags"][0], []).append(_operation(path, method, operation))
    sections = [f"<h2>{escape(tag)}</h2>{''.join(parts)}" for tag, parts in by_tag.items()]
    schemas = [
        f"<details><summary><code>{escape(name)}</code></summary>{_json(schema)}</details>"
        for name, schema in document["components"]["schemas"].items()
    ]
    text = (
        f"<p>{_linked(info['description'])}</p>"
        '<p><a href="../docs">The same to try out</a>, in a browser with JavaScript.</p>'
    )
    return plain(f"{info['title']} {info['version']}", f"{text}{''.join(sections)}<h2>schemas</h2>{''.join(schemas)}")


def _operation(path: str, method: str, operation: dict[str, Any]) -> str:
    rows = [
        f"<tr><td><code>{escape(each['name'])}</code><td>{each['in']}"
        f"<td>{escape(each.get('description', ''))}<td><code>{escape(json.dumps(each['schema']))}</code>"
        for each in operation["parameters"]
    ]
    parameters = f"<table><tr><th>parameter<th>in<th>what<th>schema{''.join(rows)}</table>" if rows else ""
    body = "".join(
        f"<p>Body, <code>{escape(kind)}</code>: {_schema(content['schema'])}</p>{_examples(content)}"
        for kind, content in operation.get("requestBody", {}).get("content", {}).items()
    )
    answers = "".join(
        f"<tr><td><code>{status}</code><td>{_linked(answer['description'])}<td>{_contents(answer)}"
        for status, answer in operation["responses"].items()
    )
    return (
        f'<details><summary><span class="method">{method.upper()}</span> <code>{escape(path)}</code> '
        f"{escape(operation['summary'])}</summary>{parameters}{body}"
        f"<table><tr><th>status<th>meaning<th>answer{answers}</table></details>"
    )


def _contents(answer: dict[str, Any]) -> str:
    return ", ".join(
        f"<code>{escape(kind)}</code> {_schema(content['schema'])}{'' if kind == PROBLEM else _examples(content)}"
        for kind, content in answer.get("content", {}).items()
    )


def _examples(content: dict[str, Any]) -> str:
    return "".join(
        f"<details><summary>example: {escape(name)}</summary>{_shown(example['value'])}</details>"
        for name, example in content.get("examples", {}).items()
    )


def _shown(value: object) -> str:
    return f"<pre>{escape(value)}</pre>" if isinstance(value, str) else _json(value)


def _linked(text: str) -> str:
    """Its links are relative to `/`, this page is below."""
    return _LINK.sub(r'<a href="../\2">\1</a>', escape(text))


def _schema(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return f"<code>{escape(schema['$ref'].rpartition('/')[2])}</code>"
    if "anyOf" in schema:
        return " or ".join(_schema(each) for each in schema["anyOf"])
    return ""


def _json(value: object) -> str:
    return f"<pre>{escape(json.dumps(value, indent=2))}</pre>"
