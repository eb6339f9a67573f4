"""Mentions in a text: refs, issues, commits, files, URLs, wikilinks, symbols. Pure.

Callers that know the store decide whether a commit exists or a symbol is rare. The time is
linear: repetitions are possessive or bounded, and alternatives start only at a token.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from mem_search.model import Kind
from mem_search.patterns import pattern
from mem_search.text.page_names import page_name
from mem_search.text.urls import ENDS, without_trailing_marks

MentionKind = Literal["ref", "issue", "commit", "path", "url", "wikilink", "symbol"]

_EXTENSIONS: Final = (
    "py pyi ipynb js jsx mjs cjs ts tsx vue svelte rs go java kt kts scala c h cc cpp hpp cs rb php"
    " ex exs erl hs ml swift m mm lua pl r jl sh bash zsh fish ps1 sql md mdx rst txt adoc tex"
    " json jsonl yaml yml toml ini cfg conf lock xml html css scss sass less csv tsv proto graphql"
    " tf gradle cmake dockerfile ipynb log pdf docx"
).split()
_NAMED: Final = frozenset({"Makefile", "Dockerfile", "LICENSE", "README", "CHANGELOG", "Gemfile"})
_MENTION: Final = rf"""
    (?P<url>https?://[^\s<>"'`{{}}|\\^\[\]{ENDS}]++)
    | \[\[(?P<wikilink>[^\[\]\n]{{1,200}}+)\]\]
    | (?<=`)(?P<symbol>[A-Za-z_]\w*+(?:(?:\.|::)[A-Za-z_]\w*+)*+(?:\(\))?+)(?=`)
    # Most tokens are plain words; the second line rejects them at once.
    | (?<![\w/.@\#&~+-])
      (?=[\w@+~-]*+[\#/.:]|[0-9a-f]{{7}}|GH-)(?:
        (?P<issue>(?:[\w.-]++/[\w.-]++)?+\#[0-9]{{1,6}}|GH-[0-9]{{1,6}})(?![\w-])
        | (?P<commit>[0-9a-f]{{7,40}})(?![\w-])
        | (?P<ref>(?:local:)?(?:{{KINDS}}):[0-9]{{1,18}})(?!\w)
        | (?P<path>~?/?(?:[\w@+.-]++/)++[\w@+.-]++)
        | (?P<file>[\w+-]++(?:\.[\w+-]++)*\.(?:{"|".join(_EXTENSIONS)}))(?![\w/@+-])
    )
    """
_EXTENSION: Final = pattern(r"\w\.[A-Za-z][A-Za-z0-9]{0,7}\Z")
_HOST: Final = pattern(r"[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|dev|ai|edu|gov)\Z")
_FILE_SYMBOL: Final = pattern(rf"\w+(?:\.\w+)*\.(?:{'|'.join(_EXTENSIONS)})\Z")
_DISTINCTIVE: Final = pattern(r"\(\)\Z|\.|::|_|[a-z][A-Z]")
"""What makes a name in backticks a symbol: a call, a dot, an underscore or an inner capital."""
_MIN_SYMBOL_CHARS: Final = 4


@dataclass(frozen=True, slots=True)
class Mention:
    """``text[start:end]``; ``value`` is the same however the mention is written.

    An issue's value is ``12`` or ``owner/repo#12``, a commit's lowercase hexadecimal digits, a
    URL's page (``page_names``), a wikilink's folded title, a symbol's name without brackets.
    """

    kind: MentionKind
    value: str
    start: int
    end: int


def find(text: str, kinds: tuple[Kind, ...]) -> tuple[Mention, ...]:
    """Every mention in the order of the text; none overlap. Never raises, linear in time.

    ``kinds`` are those that a ref can name: ``port:8080`` is none.
    """
    return tuple(_mentions(text, _pattern(kinds)))


@cache
def _pattern(kinds: tuple[Kind, ...]) -> re.Pattern[str]:
    return re.compile(_MENTION.replace("{KINDS}", "|".join(kinds)), re.VERBOSE)


def folded_title(title: str) -> str:
    """A title as wikilinks compare it, without case, and with underscores as spaces."""
    return " ".join(title.replace("_", " ").split()).casefold()


def normal_path(path: str) -> str:
    """A path without a leading ``./``."""
    return path.removeprefix("./")


def _mentions(text: str, pattern: re.Pattern[str]) -> Iterator[Mention]:
    for match in pattern.finditer(text):
        group = match.lastgroup
        assert group is not None
        written, start = match[group], match.start(group)
        match group:
            case "url":
                written = without_trailing_marks(written)
                if value := page_name(written):
                    yield Mention("url", value, start, start + len(written))
            case "wikilink":
                title = written.partition("|")[0].partition("#")[0].rstrip("\\")
                if value := folded_title(title).removesuffix(".md"):
                    yield Mention("wikilink", value, start, match.end(group))
            case "symbol":
                if _FILE_SYMBOL.match(written):
                    yield Mention("path", written, start, match.end(group))
                elif len(written) >= _MIN_SYMBOL_CHARS and _DISTINCTIVE.search(written):
                    yield Mention("symbol", written.removesuffix("()"), start, match.end(group))
            case "issue":
                value = written.removeprefix("GH-").removeprefix("#")
                yield Mention("issue", value, start, match.end(group))
            case "commit":
                # Only digits or only letters are a number or a word such as "defaced".
                if not (written.isdecimal() or written.isalpha()):
                    yield Mention("commit", written, start, match.end(group))
            case "ref":
                yield Mention("ref", written.removeprefix("local:"), start, match.end(group))
            case "path":
                written = written.rstrip(".-+@")
                if _is_file(written):
                    yield Mention("path", normal_path(written), start, start + len(written))
            case _:
                yield Mention("path", written, start, match.end(group))


def _is_file(path: str) -> bool:
    """Whether a path names a file, unlike ``and/or``, ``1/2`` or a URL without its scheme."""
    head, _, name = path.rpartition("/")
    if name not in _NAMED and not _EXTENSION.search(name):
        return False
    return not _HOST.match(head.partition("/")[0])
