"""The generated blocks of documents: find them in a text, and produce their content.

They are tables of things that the code knows by name. Pure text, no files: see ``main``.
"""

from __future__ import annotations

import json
import re
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Final

import agent_pages
import typer
from checkout import ROOT

from mem_search import sources
from mem_search.agents.known import AGENTS
from mem_search.cli.app import app
from mem_search.cli.search_options import MIXED, OPTIONS
from mem_search.contracts import Source
from mem_search.http.openapi import written
from mem_search.http.routes import ROUTES
from mem_search.mcp.server import TOOLS
from mem_search.mcp.tool import input_schema
from mem_search.metadata import MODELS
from mem_search.metadata.types import DocumentMetadata
from mem_search.records import SEARCHED
from mem_search.records.base import BaseKind, Metadata
from mem_search.records.registry import installed_kinds
from mem_search.search.stages import STAGES
from mem_search.text.search_fields import DOCUMENT_FIELDS, FIELDS, PARAMETERS

_BLOCK = re.compile(r"(<!-- generated: ([\w-]+) -->\n).*?(<!-- /generated -->)", re.DOTALL)
_OPENING = re.compile(r"<!-- generated\b")
_QUERY_FIELDS: Final = frozenset(FIELDS) - {"folder", "domain", "scope"}
"""Fields of the query language that a universal search has under their own names."""


def has_blocks(text: str) -> bool:
    """Whether ``text`` has generated blocks."""
    return _OPENING.search(text) is not None


def filled(text: str, blocks: Mapping[str, Callable[[], str]]) -> str:
    """``text`` with the content of every block generated again.

    Raises ValueError for a block that is not closed or has an unknown name.
    """
    if len(_BLOCK.findall(text)) != len(_OPENING.findall(text)):
        raise ValueError("a generated block is not closed, or has no name")

    def fill(block: re.Match[str]) -> str:
        if block[2] not in blocks:
            raise ValueError(f"no block is called {block[2]!r}; choose one of {', '.join(blocks)}")
        return f"{block[1]}{blocks[block[2]]().rstrip()}\n{block[3]}"

    return _BLOCK.sub(fill, text)


def commands() -> str:
    """Every command of the command line with its arguments and options, one a line."""
    searches = {command.name for command in MIXED} | set(SEARCHED)
    rows = []
    for path, command in _leaves(typer.main.get_command(app)):
        takes = "[WORDS…] [search options]" if path[0] in searches else _takes(command)
        said = str(command.help).split("\n\n")[0]
        rows.append(f"- `{' '.join((*path, takes)).rstrip()}`: {said}")
    return "\n".join(rows)


def search_options() -> str:
    """The options of every search command that are no field of the query language."""
    rows = []
    for option in OPTIONS:
        if option.param in PARAMETERS:
            continue
        flags = f"{option.flag}, {option.short}" if option.short else option.flag
        value = "" if option.fixed or option.metavar == "TEXT" else f" {option.metavar}"
        rows.append((f"`{flags}{value}`", option.help))
    return _table(("option", ""), rows)


def search_parameters() -> str:
    """The parameters of the searches by GET, from their description in OpenAPI."""
    described = json.loads(written(ROUTES))["paths"]["/api/search"]["get"]["parameters"]
    return _table(
        ("parameter", ""),
        [
            (f"`{each['name']}`", _with_bounds(each["description"], each["schema"]))
            for each in described
            if each["name"] not in PARAMETERS
        ],
    )


def universal_fields() -> str:
    """The fields of a universal search, from their description in OpenAPI."""
    schemas = json.loads(written(ROUTES))["components"]["schemas"]
    properties = schemas["UniversalSearchRequest"]["properties"]
    own = {name: said for name, said in properties.items() if name not in _QUERY_FIELDS}
    rows = [
        (f"`{name}`", _default(said), _with_bounds(said["description"], said))
        for name, said in own.items()
    ]
    fields = " ".join(f"`{name}`" for name in properties if name in _QUERY_FIELDS)
    said = "each a [field](../query-language.md#fields), as a text or a list of alternatives"
    return _table(("field", "default", ""), [*rows, (fields, "", said)])


def routes() -> str:
    """Every route with its parameters and the fields of its body, from OpenAPI, by subject."""
    described = json.loads(written(ROUTES))
    subjects: dict[str, list[str]] = {}
    for path, methods in described["paths"].items():
        for method, said in methods.items():
            token = "**T** " * ("security" in said)
            asked = f"{method.upper()} {path}{_asked(said)}{_sent(said, described)}"
            row = f"- {token}`{asked}`: {said['summary']}"
            subjects.setdefault(said["tags"][0], []).append(row)
    titled = (f"## {name.title()}\n\n" + "\n".join(rows) for name, rows in subjects.items())
    return "\n\n".join(titled)


_MAX_NAMED: Final = 12
"""Parameters or fields; a route with more is a search, and they have a list of their own."""


def _asked(said: Mapping[str, Any]) -> str:
    names = [each["name"] for each in said.get("parameters", ()) if each["in"] == "query"]
    return f"?{'&'.join(names if len(names) <= _MAX_NAMED else '…')}" if names else ""


def _sent(said: Mapping[str, Any], described: Mapping[str, Any]) -> str:
    content = said.get("requestBody", {}).get("content", {})
    schema = next((each["schema"] for each in content.values()), {})
    if "$ref" in schema:
        schema = described["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    names = list(schema.get("properties", ()))
    if len(names) > _MAX_NAMED:
        names = [*schema.get("required", ()), "…"]
    return f" {{{' '.join(names)}}}" if names else ""


def _default(said: Mapping[str, Any]) -> str:
    default = said.get("default")
    return "" if default in (None, "", []) else f"`{str(default).lower()}`"


def _with_bounds(text: str, schema: Mapping[str, Any]) -> str:
    """``How many at most (1 to 100, default 20)``."""
    bounded = next((each for each in (schema, *schema.get("anyOf", ())) if "maximum" in each), {})
    bounds = [f"{bounded.get('minimum', 0)} to {bounded['maximum']}"] if bounded else []
    choice = next((each for each in (schema, *schema.get("anyOf", ())) if "enum" in each), {})
    bounds += [" ".join(f"`{word}`" for word in choice["enum"])] if choice else []
    return f"{text} ({', '.join(bounds)})" if bounds else text


def stages() -> str:
    """The stages of the ranking in their order."""
    return _table(
        ("stage", "what it does"),
        [(f"`{stage.name}`{' (always)' * stage.required}", stage.summary) for stage in STAGES],
    )


def decisions() -> str:
    """Every decision with its title."""
    files = sorted((ROOT / "docs" / "adr").glob("[0-9]*.md"))
    titles = ((file, file.read_text("utf-8").partition("\n")[0]) for file in files)
    return "\n".join(f"- [{title[2:6]}]({file.name}) {title[7:]}" for file, title in titles)


def layers() -> str:
    """The layers that import-linter checks, the highest first."""
    configured = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = configured["tool"]["importlinter"]["contracts"]
    rows = next(each["layers"] for each in contracts if each["type"] == "layers")
    names = [
        row.replace("mem_search.", "").replace(" : ", "\N{NO-BREAK SPACE}|\N{NO-BREAK SPACE}")
        for row in rows
    ]
    wrapped = textwrap.wrap(" → ".join(names), 114, subsequent_indent="  ", break_long_words=False)
    return "\n".join(f"    {line}" for line in wrapped).replace("\N{NO-BREAK SPACE}", " ")


def kinds() -> str:
    """Every kind of record: its route and command, its label, and its own metadata."""
    rows = []
    for kind in installed_kinds():
        assert isinstance(kind, BaseKind)
        own = [
            field.alias or name
            for name, field in kind.model.model_fields.items()
            if name not in Metadata.model_fields
        ]
        said = ", ".join(f"`{name}`" for name in own)
        rows.append((f"`{kind.name}`", f"`{kind.plural}`", f"{kind.sign} {kind.label}", said))
    return _table(("kind", "route, command", "listed as", "its own metadata"), rows)


def common_metadata() -> str:
    """The metadata that a record of any kind can have."""
    return ", ".join(f"`{name}`" for name in Metadata.model_fields)


def document_types() -> str:
    """Every type of document with its own fields, after the fields that all have."""
    common = DocumentMetadata.model_fields
    rows = [("(every type)", "", ", ".join(f"`{name}`" for name in common))]
    for model in MODELS:
        own = [name for name in model.model_fields if name not in common]
        also = ", ".join(f"`{name}`" for name in model.also)
        rows.append((f"`{model.type_name}`", also, ", ".join(f"`{name}`" for name in own)))
    return _table(("type", "also", "fields"), rows)


def document_fields() -> str:
    """Every field of documents in the query language."""
    rows = [
        (f"`{name}:`" + (f" `{name}>`" if sort in ("number", "date") else ""), sort, said)
        for name, (sort, _, said) in DOCUMENT_FIELDS.items()
    ]
    return _table(("field", "values", ""), rows)


def all_sources() -> str:
    """Every source: what it reads and whether the worker follows it."""
    return _table(
        ("source", "reads", "followed"),
        [
            (f"`{source.name}`", _reads(source), "yes" if source.follows else "no")
            for source in sources.built_in()
        ],
    )


def mcp_tools() -> str:
    """Every MCP tool with its arguments; required ones come without a default."""
    rows = []
    for tool in TOOLS:
        schema = input_schema(tool.arguments)
        taken = [
            f"**`{name}`**" if name in schema.get("required", ()) else _with_default(name, said)
            for name, said in schema["properties"].items()
        ]
        answered = ", ".join(f"`{name}`" for name in tool.reply.__dataclass_fields__)
        rows.append((f"`{tool.name}`", tool.description, ", ".join(taken), answered))
    return _table(("tool", "", "arguments", "answers"), rows)


BLOCKS: Final[dict[str, Callable[[], str]]] = {
    "commands": commands,
    "search-options": search_options,
    "search-parameters": search_parameters,
    "universal-fields": universal_fields,
    "routes": routes,
    "decisions": decisions,
    "layers": layers,
    "kinds": kinds,
    "stages": stages,
    "common-metadata": common_metadata,
    "document-types": document_types,
    "document-fields": document_fields,
    "sources": all_sources,
    "mcp-tools": mcp_tools,
    "agents": agent_pages.table,
    **{f"agent-{agent.name}": partial(agent_pages.facts, agent) for agent in AGENTS},
}


def _with_default(name: str, said: Mapping[str, Any]) -> str:
    default = said.get("default")
    return f"`{name}`" if default is None else f"`{name}` ({str(default).lower()})"


def _reads(source: Source) -> str:
    """From the first line of its class or package: ``The source ``git``: what it reads.``"""
    package = ".".join(type(source).__module__.split(".")[:3])
    said = (type(source).__doc__ or "").split("\n\n")[0]
    if not said.startswith("The source `"):
        said = (sys.modules[package].__doc__ or "").split("\n\n")[0]
    return " ".join(said.partition(": ")[2].split()).rstrip(".").replace("``", "`")


def _leaves(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if not hasattr(command, "list_commands"):
        yield path, command
        return
    context = typer.Context(command)
    for name in command.list_commands(context):
        yield from _leaves(command.get_command(context, name), (*path, name))


def _takes(command: Any) -> str:
    """``REF… [--yes --json]``: arguments by name, then options by their longest spelling."""
    words, options = [], []
    for each in command.params:
        if getattr(each, "hidden", False):
            continue
        if each.param_type_name == "argument":
            word = each.name.upper() + ("…" if each.nargs == -1 else "")
            words.append(word if each.required else f"[{word}]")
        else:
            options.append(max(each.opts, key=len))
    return " ".join((*words, *([f"[{' '.join(options)}]"] if options else ())))


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    cells = ((cell.replace("|", r"\|") for cell in line) for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)
