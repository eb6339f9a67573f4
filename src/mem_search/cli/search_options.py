"""The search commands and their options, in one table for the fast path and the framework.

Plain classes and no heavy imports, because every search loads this. Values are passed on unchecked:
the worker checks them, its error names the parameter, and ``flag_of`` maps that to the option.
"""

from __future__ import annotations

import os

from mem_search.cli.output import screen
from mem_search.records import SEARCHED
from mem_search.text.search_fields import FIELDS, PARAMETERS


class Command:
    """``mem-search NAME`` requests ``route``; ``mixed`` commands find several kinds.

    ``sends`` are parameters that options may replace. The words of a ``dated`` command are a date
    instead of a question; ``words`` tells what they are. One that is no search has ``own`` options,
    and its words are the parameter ``asks``: a ``REF`` is a part of the route.
    """

    __slots__ = ("asks", "dated", "help", "mixed", "name", "own", "route", "sends", "words")

    def __init__(
        self,
        name: str,
        route: str,
        text: str,
        *,
        mixed: bool = False,
        sends: tuple[tuple[str, str], ...] = (),
        dated: bool = False,
        words: str = "What to look for.",
        own: tuple[Option, ...] = (),
        asks: str = "query",
    ) -> None:
        self.name = name
        self.route = route
        self.help = text
        self.mixed = mixed
        self.sends = sends
        self.dated = dated
        self.words = words
        self.own = own
        self.asks = asks

    def pairs(self, words: list[str], options: list[tuple[Option, str]]) -> list[tuple[str, str]]:
        """The pairs of the query string for what is typed behind the command."""
        if self.asks == REF:
            return [*((REF, word) for word in words), *_values(options)]
        if self.asks != "query":
            asked = [(self.asks, " ".join(words))] if words else []
            return [*asked, *_values(options)]
        if self.dated:
            day = " ".join(words) or "today"
            given = [("dateStart", day), ("dateEnd", day)]
            words = []
        else:
            given = [*self.sends]
        pairs = collect(words, options)
        named = {name for name, _ in pairs}
        return [*pairs, *(pair for pair in given if pair[0] not in named)]

    def takes(self, pairs: list[tuple[str, str]]) -> bool:
        """Whether there are as many words as it needs."""
        asked = sum(name == self.asks for name, _ in pairs)
        if self.asks == REF:
            return asked == 1 or (asked > 1 and self.name == "get")
        return self.asks == "query" or bool(asked) == bool(self.asks)

    @property
    def options(self) -> tuple[Option, ...]:
        """All options; ``--kind`` only where there are several kinds."""
        if self.asks != "query":
            return self.own
        return tuple(option for option in OPTIONS if self.mixed or option.param != "types")


REF = "{}"
"""Where the id of a record stands in a route."""
NOTHING = ""
"""What a command asks that takes no words."""


class Option:
    """``flag VALUE`` (or ``short VALUE``) becomes the query parameter ``param``.

    ``repeats``: it may be given several times. ``fixed``: it takes no value and sends this one.
    """

    __slots__ = ("fixed", "flag", "help", "metavar", "param", "repeats", "short")

    def __init__(
        self,
        flag: str,
        param: str,
        text: str,
        metavar: str = "TEXT",
        short: str = "",
        fixed: str = "",
        repeats: bool = False,
    ) -> None:
        self.flag = flag
        self.param = param
        self.help = text
        self.metavar = metavar
        self.short = short
        self.fixed = fixed
        self.repeats = repeats

    @property
    def name(self) -> str:
        """The Python name: ``no_start`` for ``--no-start``, ``from_`` for ``--from``."""
        return self.flag[2:].replace("-", "_") + "_" * (self.flag in ("--from", "--in", "--is"))


UNIFIED = "/api/search/unified"

MIXED = (
    Command("unified", UNIFIED, "The same as search --newest.", mixed=True),
    Command("search", "/api/search", "Search every kind, best match first.", mixed=True),
    Command(
        "day",
        UNIFIED,
        "List all that is from a day or another time, newest first.",
        mixed=True,
        dated=True,
        words="Today by default; 2026-11-20, yesterday, 'last week', 'Dec 24'.",
    ),
    Command(
        "recent",
        UNIFIED,
        "List the newest records.",
        mixed=True,
        sends=(("dateEnd", "now"),),
    ),
)


def search_of(plural: str) -> Command:
    """The command that searches one kind of record."""
    _, content = SEARCHED.get(plural, ("", plural))
    return Command(plural, f"/api/search/{plural}", f"Search {content}.")


def built_in(name: str) -> Command | None:
    """The search command ``name``, unless it belongs to a kind of a third party."""
    if name in SEARCHED:
        return search_of(name)
    return next((command for command in (*MIXED, *OPENING) if command.name == name), None)


EXPORTS = ("csv", "markdown", "bibtex", "ris", "csl-json", "apa", "mla", "chicago")
"""Formats that write the results as a file instead of a listing."""

FORMATS = ("index", "full", "json", "tsv", *EXPORTS)

FACETS = ("kind", "project", "type", "source", "tag", "author", "domain", "folder", "month", "day")

OPTIONS = (
    Option(
        "--format",
        "format",
        "How to print results; index by default. tsv is for pipes, from csv on they are files.",
        "|".join(FORMATS),
    ),
    Option("--json", "format", "Same as --format json.", fixed="json"),
    Option("--project", "project", "Only this project."),
    Option("--kind", "types", "Only this kind; may be repeated.", "KIND", repeats=True),
    Option("--type", "type", "Only observations of this type, such as bugfix.", repeats=True),
    Option("--concept", "concepts", "Only with this concept.", repeats=True),
    Option("--file", "files", "Only records that read or changed this file.", "PATH", repeats=True),
    Option("--tag", "tags", "Only with this tag.", repeats=True),
    Option("--session", "session", "Only this session, by its id."),
    Option("--source", "source", "Only from this source: claude-code, git, ..."),
    Option("--branch", "branch", "Only from this branch."),
    Option("--worktree", "worktree", "Only from this linked worktree, by its name."),
    *[
        Option(f"--{name.replace('_', '-')}", name, FIELDS[name], repeats=True)
        for name in PARAMETERS
    ],
    Option("--scope", "scope", "Only records in the scope with this name."),
    Option("--since", "dateStart", "Not before: 2026-11-20, 'last week', 1763596800.", "WHEN"),
    Option("--until", "dateEnd", "Not after; a date includes its whole day.", "WHEN"),
    Option("--order", "orderBy", "Order of the results.", "relevance|date_desc|date_asc"),
    Option("--newest", "orderBy", "Newest first: --order date_desc.", fixed="date_desc"),
    Option("--sort", "sort", "Instead of --order: fields, such as kind,-created_at.", "FIELDS"),
    Option(
        "--limit",
        "limit",
        "How many results, 1 to 100; by default 20, on a terminal a screen full.",
        "N",
        "-n",
    ),
    Option("--offset", "offset", "Skip this many results.", "N"),
    Option("--all", "include_weaker", "Also weaker matches: all that share a word.", fixed="true"),
    Option("--limit-per-kind", "limit_per_kind", "At most this many of each kind.", "N"),
    Option(
        "--facet",
        "facets",
        "Count what is found by this; may be repeated.",
        "|".join(FACETS),
        repeats=True,
    ),
    Option("--facet-limit", "facet_limit", "Most values of a facet; 10 by default.", "N"),
    Option(
        "--fields",
        "fields",
        "What a result of --json or --format csv has, such as title,created_at.",
        "NAMES",
    ),
    Option("--max-tokens", "max_tokens", "Longest answer, 50 to 100000 tokens.", "N"),
    Option("--no-fold", "fold", "List near-duplicates one by one.", fixed="false"),
    Option("--per-session", "per_session", "At most this many of a session before others.", "N"),
    Option(
        "--boost",
        "boosts",
        "recency, importance or opened count too; repeatable.",
        repeats=True,
    ),
    Option("--match", "match", "Every word has to be there: all; by default any.", "any|all"),
    Option("--scratchpad", "scratchpad", "Also notes in the folder scratchpad.", fixed="true"),
    Option("--mode", "mode", "How to search; hybrid by default.", "hybrid|keyword|vector"),
    Option(
        "--snippets",
        "snippets",
        "Show the text below each title; the default on a terminal.",
        fixed="true",
    ),
    Option("--no-snippets", "snippets", "Titles only, also on a terminal.", fixed="false"),
    Option(
        "--as-words",
        "as_words",
        "What is a word, and no filter: kind, person, fact, time, all; may be repeated.",
        repeats=True,
    ),
    Option("--explain", "explain", "Show how each score is made up.", fixed="true"),
)

_JSON = Option("--json", "format", "Print JSON.", fixed="json")
_MAX_TOKENS = Option("--max-tokens", "max_tokens", "Longest answer, 50 to 100000.", "N")
OPENING = (
    Command(
        "get",
        f"/api/records/{REF}",
        "Print whole records: as text, or as JSON with one object a line.",
        own=(
            Option("--format", "format", "", "full|json"),
            _MAX_TOKENS,
            Option("--meta", "meta", "On a terminal all details, too.", fixed="true"),
            _JSON,
        ),
        asks=REF,
    ),
    Command(
        "preview", f"/api/records/{REF}", "Show a record as a terminal does, for fzf.", asks=REF
    ),
    Command(
        "timeline",
        "/api/timeline",
        "Show what happened before and after a record, a date, or the best result of a query.",
        own=(
            Option("--before", "depth_before", "Records before, 0 to 50.", "N"),
            Option("--after", "depth_after", "Records after, 0 to 50.", "N"),
            Option("--project", "project", "Only this project."),
            Option("--kind", "types", "Only this kind; may be repeated.", "KIND", repeats=True),
            Option("--format", "format", "", "index|full|json"),
            _MAX_TOKENS,
            _JSON,
        ),
        asks="around",
    ),
    Command(
        "related",
        f"/api/graph/{REF}",
        "Show what a record links to, mentions or follows, and what shares its files and issues.",
        own=(
            Option("--depth", "depth", "Steps in the graph, 1 to 5.", "N"),
            Option("--limit", "limit", "How many records.", "N", "-n"),
            Option("--relation", "relation", "Only this relation; may be repeated.", repeats=True),
            _JSON,
        ),
        asks=REF,
    ),
    Command("stats", "/api/stats", "Show what is stored.", own=(_JSON,), asks=NOTHING),
)
"""What is no search, and what people wait for as they do for one."""

NO_START = "--no-start"
NOTHING_FOUND = "No results found"
"""How every listing without results begins."""


_OTHER_FLAGS = {
    "depth_before": "--before",
    "depth_after": "--after",
    "kinds": "--kind",
    "depth": "--depth",
    "citationDepth": "--depth",
    "fields/0": "--field",
    "style": "--style",
}
"""Parameters whose options belong to commands other than the searches."""


def flag_of(param: str) -> str:
    """The option for a parameter that the worker names in an error, or ``param`` itself."""
    if param in _OTHER_FLAGS:
        return _OTHER_FLAGS[param]
    for option in OPTIONS:
        if option.param == param and not option.fixed:
            return option.flag
    return param


MIN_LIMIT = 4
MAX_LIMIT = 20
LEFT_LINES = 4
"""Of a screen: the command, the totals, the next prompt, and one for a note."""


def screen_full() -> int:
    """How many results of two lines fit on a person's terminal; 0 for a pipe or a file."""
    if not screen():
        return 0
    lines = os.get_terminal_size(1).lines or LEFT_LINES + 2 * MAX_LIMIT
    return max(MIN_LIMIT, min((lines - LEFT_LINES) // 2, MAX_LIMIT))


def exported(pairs: list[tuple[str, str]]) -> str:
    """The format if it is one of ``EXPORTS``; else empty."""
    return next((value for name, value in pairs if name == "format" and value in EXPORTS), "")


def collect(words: list[str], options: list[tuple[Option, str]]) -> list[tuple[str, str]]:
    """The pairs of the query string. Of an option that does not repeat the last value counts.

    An option without a value, such as ``--json``, overrides another for the same parameter.
    """
    asked = [("query", " ".join(words))] if words else []
    pairs = _values(options)
    given = dict(pairs)
    if given.get("format", "index") == "index":
        pairs = [pair for pair in pairs if pair[0] != "format"]
        if full := screen_full():
            pairs += [("snippets", "true")] if "snippets" not in given else []
            pairs += [("limit", str(full))] if "limit" not in given else []
    return [*asked, *pairs]


def _values(options: list[tuple[Option, str]]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    last: dict[str, str] = {}
    for option, value in sorted(options, key=lambda each: bool(each[0].fixed)):
        if option.repeats:
            pairs.append((option.param, value))
        else:
            last[option.param] = value
    return [*pairs, *last.items()]
