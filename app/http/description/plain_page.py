"""`/docs/plain`: the OpenAPI document as one page that needs no script."""

import json
import re
from html import escape
from typing import Any

from app.http.description.page import PageFiles, plain, with_code
from app.http.exchange.problems import CONTENT_TYPE as PROBLEM

_LINK = re.compile(r"\[([^\]]+)\]\(([^)]+)\)")


def plain_page(document: dict[str, Any], files: PageFiles) -> bytes:
    """HTML."""
    info = document["info"]
    shared = document["components"]["responses"]
    operations = {
        operation["operationId"]: _operation(path, method, operation, shared)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    sections = [
        f"<h2>{escape(task['title'])}</h2><p>{with_code(task['description'])}</p>"
        f"{''.join(operations[each] for each in task['operations'])}"
        for task in document["x-tasks"]
    ]
    schemas = [
        f"<details><summary><code>{escape(name)}</code></summary>{_json(schema)}</details>"
        for name, schema in document["components"]["schemas"].items()
    ]
    text = (
        f"<p>{_linked(info['description'])}</p>"
        '<p><a href="../docs">The same to try out</a>, in a browser with JavaScript.</p>'
    )
    return plain(
        f"{info['title']} {info['version']}", f"{text}{''.join(sections)}<h2>Schemas</h2>{''.join(schemas)}", files
    )


def _operation(path: str, method: str, operation: dict[str, Any], shared: dict[str, Any]) -> str:
    """`shared` are the answers that references name."""
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
        for status, answer in _resolved(operation["responses"], shared).items()
    )
    return (
        f'<details><summary><span class="method">{method.upper()}</span> <code>{escape(path)}</code> '
        f"{escape(operation['summary'])}</summary><p>Rights: {escape(operation['x-rights'])}.</p>{parameters}{body}"
        f"<table><tr><th>status<th>meaning<th>answer{answers}</table></details>"
    )


def _resolved(answers: dict[str, Any], shared: dict[str, Any]) -> dict[str, Any]:
    return {
        status: shared[answer["$ref"].rpartition("/")[2]] if "$ref" in answer else answer
        for status, answer in answers.items()
    }


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
