"""``help``: what a command does, or what the documents say about some words.

The documents are indexed in memory by each call: they are small, they are those of this version,
and none of them becomes a record of the person.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from mem_search.agents.base import plugin_folder
from mem_search.cli.commands import OVERVIEW
from mem_search.cli.output import say
from mem_search.patterns import pattern

_FIRST: Final = ("faq.md", "guide.md", "cookbook.md", "getting-started.md", "operations.md")
"""Pages that are written for tasks: their sections come before equally good ones of others."""
_FOLDERS: Final = ("", "agents", "reference")
"""Below ``docs``; the others are for developers."""
_RANKED: Final = "select rowid, bm25(page, 8.0, 1.0) from page where page match ?"
"""A word in the headings counts eight times as much as one in the text."""
_TASKS_FIRST: Final = 1.6
"""What the score of a section of ``_FIRST`` is multiplied by."""
_MAX_LINES: Final = 14
"""Of the best section: with the others it fits on a screen of 24 lines."""
_OTHERS: Final = 4

_HEADING: Final = pattern(r"^(#{1,4}) +(.+)$")
_LINK: Final = pattern(r"!?\[([^\]]*)\]\([^)]*\)")
_COMMENT: Final = pattern(r"<[^>\n]+>")
_WORD: Final = pattern(r"\w+")
_BEGINS: Final = pattern(r"\s*(?:[-*|>]|\d+\.)\s?")


@dataclass(frozen=True, slots=True)
class Section:
    """What stands below a heading of a page, and the headings above it."""

    page: str
    headings: tuple[str, ...]
    text: str


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command("help")(help_with)


def help_with(
    ctx: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[COMMAND|WORDS]", help="A command, or what to look for."),
    ] = None,
) -> None:
    """Look something up in the manual of mem-search, or show the options of a command."""
    if not words:
        say(OVERVIEW)
        return
    if shown := _help_of(ctx, words):
        say(f"{shown}\n")
        return
    matches = look_up(" ".join(words), list(sections()))
    if not matches:
        say(f"Nothing in the manual has these words. Every page: {_folder() / 'README.md'}\n")
        raise typer.Exit(1)
    best, *others = matches
    say("\n".join((_named(best), *_shortened(best), *map(_named, others))) + "\n")
    say(f"The pages are in {_folder()}.\n")


def _help_of(ctx: typer.Context, words: list[str]) -> str:
    """The help of the command that the words name; "" where they name none."""
    context: Any = ctx.find_root()
    for word in words:
        command = context.command
        known = command.list_commands(context) if hasattr(command, "list_commands") else ()
        if word not in known:
            return ""
        context = type(ctx)(command.get_command(context, word), parent=context, info_name=word)
    return str(context.command.get_help(context))


def look_up(question: str, pages: list[Section]) -> list[Section]:
    """The best sections for the words of ``question``: with all of them, then with any."""
    from mem_search.text.words import STOP_WORDS  # heavier than the rest

    words = [each for each in _WORD.findall(question.lower()) if each not in STOP_WORDS]
    quoted = [f'"{word}"' for word in words or _WORD.findall(question)]
    with closing(sqlite3.connect(":memory:")) as store:
        store.execute(
            "create virtual table page using fts5(heading, body, tokenize='porter unicode61')"
        )
        store.executemany(
            "insert into page(rowid, heading, body) values(?, ?, ?)",
            ((at, " ".join(each.headings), each.text) for at, each in enumerate(pages)),
        )
        ranked: dict[int, None] = {}
        for joined in (" AND ".join(quoted), " OR ".join(quoted)):
            rows = store.execute(_RANKED, [joined]).fetchall()
            rows.sort(key=lambda row: row[1] * _weight(pages[row[0]]))
            ranked |= dict.fromkeys(at for at, _ in rows)
    return [pages[at] for at in ranked][: 1 + _OTHERS]


def _weight(section: Section) -> float:
    return _TASKS_FIRST if section.page in _FIRST else 1.0


def sections() -> Iterator[Section]:
    """Every section of the documents that people read."""
    folder = _folder()
    for name in _FOLDERS:
        for file in sorted((folder / name).glob("*.md")):
            yield from _sections_of(file.relative_to(folder).as_posix(), file.read_text("utf-8"))


def _folder() -> Path:
    return plugin_folder().parent / "docs"


def _sections_of(page: str, text: str) -> Iterator[Section]:
    headings: list[str] = []
    lines: list[str] = []
    is_code = False
    for line in text.splitlines():
        is_code ^= line.lstrip().startswith("```")
        if not is_code and (match := _HEADING.match(line)):
            if any(map(str.strip, lines)):
                yield Section(page, tuple(headings), "\n".join(lines))
            headings[len(match[1]) - 1 :] = [match[2]]
            lines = []
        else:
            lines.append(line)
    if any(map(str.strip, lines)):
        yield Section(page, tuple(headings), "\n".join(lines))


def _named(section: Section) -> str:
    return f"{' › '.join(section.headings)}  ({section.page})"


def _shortened(section: Section) -> Iterator[str]:
    """The text as a terminal shows it: paragraphs in one line, links as their words."""
    lines: list[str] = []
    is_code = False
    for line in _COMMENT.sub("", _LINK.sub(r"\1", section.text)).strip().splitlines():
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif is_code or not line.strip() or not lines or not lines[-1] or _BEGINS.match(line):
            lines.append(line.rstrip())
        else:
            lines[-1] += f" {line.strip()}"
    shown = [f"  {line}" if line else "" for line in lines]
    yield from shown[:_MAX_LINES]
    if len(shown) > _MAX_LINES:
        yield "  …"
    yield ""
