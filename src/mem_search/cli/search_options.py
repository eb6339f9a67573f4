"""The search commands and their options, in one table for the fast path and the framework.

Plain classes and no heavy imports, because every search loads this. Values are passed on unchecked:
the worker checks them, its error names the parameter, and ``flag_of`` maps that to the option.
"""

from __future__ import annotations

import os

from mem_search.records import SEARCHED
from mem_search.text.search_fields import FIELDS, PARAMETERS


class Command:
    """``mem-search NAME`` requests ``route``; ``mixed`` commands find several kinds.

    ``sends`` are parameters that options may replace. The words of a ``dated`` command are a date
    instead of a question; ``words`` tells what they are.
    """

    __slots__ = ("dated", "help", "mixed", "name", "route", "sends", "words")

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
    ) -> None:
        self.name = name
        self.route = route
        self.help = text
        self.mixed = mixed
        self.sends = sends
        self.dated = dated
        self.words = words

    def pairs(self, words: list[str], options: list[tuple[Option, str]]) -> list[tuple[str, str]]:
        """The pairs of the query string for what is typed behind the command."""
        if self.dated:
            day = " ".join(words) or "today"
            given = [("dateStart", day), ("dateEnd", day)]
            words = []
        else:
            given = [*self.sends]
        pairs = collect(words, options)
        named = {name for name, _ in pairs}
        return [*pairs, *(pair for pair in given if pair[0] not in named)]

    @property
    def options(self) -> tuple[Option, ...]:
        """All options; ``--kind`` only where there are several kinds."""
        return tuple(option for option in OPTIONS if self.mixed or option.param != "types")


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
    Command("unified", UNIFIED, "Search every kind, newest first.", mixed=True),
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
    return next((command for command in MIXED if command.name == name), None)


EXPORTS = ("csv", "markdown", "bibtex", "ris", "csl-json", "apa", "mla", "chicago")
"""Formats that write the results as a file instead of a listing."""

FORMATS = ("index", "full", "json", *EXPORTS)

FACETS = ("kind", "project", "type", "source", "tag", "author", "domain", "folder", "month", "day")

OPTIONS = (
    Option(
        "--format",
        "format",
        "How to print results; index by default. From csv on, formats are files.",
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
    Option("--sort", "sort", "Instead of --order: fields, such as kind,-created_at.", "FIELDS"),
    Option("--limit", "limit", "How many results, 1 to 100; 20 by default.", "N", "-n"),
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
    Option("--boost", "boosts", "Count recency or importance too; may be repeated.", repeats=True),
    Option("--mode", "mode", "How to search; hybrid by default.", "hybrid|keyword|vector"),
    Option(
        "--snippets",
        "snippets",
        "Show why each was found; the default on a terminal of 100 columns and more.",
        fixed="true",
    ),
    Option("--no-snippets", "snippets", "Titles only, also on a wide terminal.", fixed="false"),
    Option(
        "--as-words",
        "as_words",
        "What is a word, and no filter: kind, person, fact, time, all; may be repeated.",
        repeats=True,
    ),
    Option("--explain", "explain", "Show how each score is made up.", fixed="true"),
)

WIDE = 100
"""Columns of a terminal."""
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


def is_wide() -> bool:
    """Whether standard output is a terminal with room for a line of text under each title."""
    try:
        return os.get_terminal_size(1).columns >= WIDE
    except OSError:  # a pipe or a file
        return False


def exported(pairs: list[tuple[str, str]]) -> str:
    """The format if it is one of ``EXPORTS``; else empty."""
    return next((value for name, value in pairs if name == "format" and value in EXPORTS), "")


def collect(words: list[str], options: list[tuple[Option, str]]) -> list[tuple[str, str]]:
    """The pairs of the query string. Of an option that does not repeat the last value counts.

    An option without a value, such as ``--json``, overrides another for the same parameter.
    """
    pairs = [("query", " ".join(words))] if words else []
    last: dict[str, str] = {}
    for option, value in sorted(options, key=lambda each: bool(each[0].fixed)):
        if option.repeats:
            pairs.append((option.param, value))
        else:
            last[option.param] = value
    if last.get("format", "index") == "index":
        last.pop("format", None)
        if "snippets" not in last and is_wide():
            last["snippets"] = "true"
    return [*pairs, *last.items()]
