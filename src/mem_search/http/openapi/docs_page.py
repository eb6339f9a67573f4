"""The operations on one page: plain HTML made from the OpenAPI document, nothing from outside."""

from __future__ import annotations

from html import escape
from typing import Any

from mem_search.http.core.replies import html_page, style_policy

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #1f2328; background: #fff }
h2 { margin-top: 2.5rem; text-transform: capitalize }
details { border: 1px solid #d0d7de; border-radius: 6px; margin: .4rem 0; padding: .4rem .8rem }
summary { cursor: pointer }
code { font-family: ui-monospace, monospace }
.method { display: inline-block; width: 4.5rem; font-weight: 600 }
.note { color: #59636e }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 }
td { border-top: 1px solid #d0d7de; padding: .25rem .5rem; vertical-align: top }
@media (prefers-color-scheme: dark) {
  body { color: #e6edf3; background: #0d1117 }
  details, td { border-color: #3d444d }
  .note { color: #9198a1 }
}
"""
POLICY = style_policy(_STYLE)


def render(described: dict[str, Any]) -> str:
    """The page for an OpenAPI document."""
    groups: dict[str, list[str]] = {}
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            groups.setdefault(operation["tags"][0], []).append(
                _operation(method.upper(), path, operation)
            )
    info = described["info"]
    body = "".join(f"<h2>{escape(tag)}</h2>\n{''.join(items)}" for tag, items in groups.items())
    top = (
        f"<h1>mem-search API <small>{escape(info['version'])}</small></h1>\n"
        f"<p>{escape(info['description'])} Machines read"
        ' <a href="/openapi.json">/openapi.json</a>; agents read'
        ' <a href="/api/search/help">/api/search/help</a>.</p>\n'
    )
    return html_page("mem-search API", _STYLE, top + body)


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    notes = [
        *(["needs the token"] if "security" in operation else []),
        *(["deprecated"] if operation.get("deprecated") else []),
    ]
    noted = f' <span class="note">{", ".join(notes)}</span>' if notes else ""
    rows = "".join(_parameter(parameter) for parameter in operation.get("parameters", ()))
    body = "".join(
        f"<p>Body: <code>{escape(kind)}</code></p>"
        for kind in operation.get("requestBody", {}).get("content", ())
    )
    answers = " · ".join(escape(status) for status in operation["responses"])
    inside = (f"<table>{rows}</table>" if rows else "") + body or "<p>No parameters.</p>"
    inside += f'<p class="note">Answers {answers}</p>'
    return (
        f'<details><summary><span class="method">{method}</span><code>{escape(path)}</code>'
        f" {escape(operation['summary'])}{noted}</summary>{inside}</details>\n"
    )


def _parameter(parameter: dict[str, Any]) -> str:
    schema = parameter["schema"]
    default = schema.get("default")
    shown = f"default {default}" if default not in (None, "", []) else ""
    needed = "required" if parameter["required"] else shown
    choices = ", ".join(str(item) for item in schema.get("enum", ()))
    described = "; ".join(part for part in (parameter.get("description", ""), choices) if part)
    return (
        f"<tr><td><code>{escape(parameter['name'])}</code></td>"
        f'<td class="note">{escape(needed)}</td><td>{escape(described)}</td></tr>'
    )
