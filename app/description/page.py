"""`/docs`: the OpenAPI document as one page that needs nothing from anywhere else."""

import json
from html import escape
from typing import Any

_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1d2733}
h1{font-size:1.6rem}h2{margin-top:2.5rem;border-bottom:1px solid #d5dbe3}
code,pre{font:13px/1.45 ui-monospace,monospace;background:#f4f6f9;border-radius:4px}
code{padding:.1em .3em}pre{padding:.8em;overflow:auto;max-height:28rem}
summary{cursor:pointer;padding:.35em 0}table{border-collapse:collapse;width:100%}
td,th{text-align:left;padding:.25em .6em;border-bottom:1px solid #e6eaf0;vertical-align:top}
.method{display:inline-block;min-width:4.2em;font-weight:700}
"""


def documentation_page(document: dict[str, Any]) -> bytes:
    """HTML, without a script."""
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
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(info['title'])}</title><style>{_STYLE}</style>"
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1><p>{escape(info['description'])} "
        'The same as a document for machines: <a href="openapi.json">openapi.json</a>.</p>'
        f"{''.join(sections)}<h2>schemas</h2>{''.join(schemas)}</html>\n"
    ).encode()


def _operation(path: str, method: str, operation: dict[str, Any]) -> str:
    rows = [
        f"<tr><td><code>{escape(each['name'])}</code><td>{each['in']}"
        f"<td>{escape(each.get('description', ''))}<td><code>{escape(json.dumps(each['schema']))}</code>"
        for each in operation["parameters"]
    ]
    parameters = f"<table><tr><th>parameter<th>in<th>what<th>schema{''.join(rows)}</table>" if rows else ""
    body = "".join(
        f"<p>Body, <code>{escape(kind)}</code>: {_schema(content['schema'])}</p>"
        for kind, content in operation.get("requestBody", {}).get("content", {}).items()
    )
    answers = "".join(
        f"<tr><td><code>{status}</code><td>{escape(answer['description'])}<td>{_contents(answer)}"
        for status, answer in operation["responses"].items()
    )
    return (
        f'<details><summary><span class="method">{method.upper()}</span> <code>{escape(path)}</code> '
        f"{escape(operation['summary'])}</summary>{parameters}{body}"
        f"<table><tr><th>status<th>meaning<th>answer{answers}</table></details>"
    )


def _contents(answer: dict[str, Any]) -> str:
    return ", ".join(
        f"<code>{escape(kind)}</code> {_schema(content['schema'])}"
        for kind, content in answer.get("content", {}).items()
    )


def _schema(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return f"<code>{escape(schema['$ref'].rpartition('/')[2])}</code>"
    if "anyOf" in schema:
        return " or ".join(_schema(each) for each in schema["anyOf"])
    return ""


def _json(value: object) -> str:
    return f"<pre>{escape(json.dumps(value, indent=2))}</pre>"
