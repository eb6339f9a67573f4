"""The search commands and their options, once: the quick path and the framework read this.

Plain classes and no imports, because this is loaded before every search. Values are passed on
as they are written: the worker checks them, and its error names the parameter, from which
``flag_of`` finds the option again.
"""

from __future__ import annotations


class Command:
    """``mem-search NAME`` asks ``GET route``; ``mixed`` when it finds more than one kind."""

    __slots__ = ("help", "mixed", "name", "route")

    def __init__(self, name: str, route: str, text: str, *, mixed: bool = False) -> None:
        self.name = name
        self.route = route
        self.help = text
        self.mixed = mixed

    @property
    def options(self) -> tuple[Option, ...]:
        """What this command takes: a kind can be chosen only where there are several."""
        return tuple(option for option in OPTIONS if self.mixed or option.param != "types")


class Option:
    """``flag VALUE`` (or its ``short`` form) becomes the query parameter ``param``.

    ``repeats`` may be given several times; ``fixed`` takes no value and stands for this one.
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
        """As a Python name: ``--no-start`` is ``no_start``."""
        return self.flag[2:].replace("-", "_")


COMMANDS = (
    Command("unified", "/api/search/unified", "Search every kind, newest first.", mixed=True),
    Command("search", "/api/search", "Search every kind, best match first.", mixed=True),
    Command("observations", "/api/search/observations", "Search what agents did and found."),
    Command("sessions", "/api/search/sessions", "Search summaries of coding sessions."),
    Command("prompts", "/api/search/prompts", "Search what people asked for."),
    Command("notes", "/api/search/notes", "Search notes."),
    Command("websites", "/api/search/websites", "Search web pages."),
    Command("files", "/api/search/files", "Search files."),
    Command("conversations", "/api/search/conversations", "Search conversations."),
    Command("memories", "/api/search/memories", "Search memories."),
    Command("emails", "/api/search/emails", "Search e-mails."),
    Command("reports", "/api/search/reports", "Search research reports."),
)

EXPORTS = ("csv", "markdown", "bibtex", "ris", "csl-json", "apa", "mla", "chicago")
"""Formats that make a file of the results instead of a listing."""

FORMATS = ("index", "full", "json", *EXPORTS)

OPTIONS = (
    Option(
        "--format",
        "format",
        "How to print results: index if not given; the others from csv on are files.",
        "|".join(FORMATS),
    ),
    Option("--json", "format", "Same as --format json.", fixed="json"),
    Option("--project", "project", "Only this project."),
    Option("--kind", "types", "Only this kind of record; may be repeated.", "KIND", repeats=True),
    Option("--type", "type", "Only observations of this type, such as bugfix.", repeats=True),
    Option("--concept", "concepts", "Only with this concept.", repeats=True),
    Option("--file", "files", "Only what touched this file.", "PATH", repeats=True),
    Option("--tag", "tags", "Only with this tag.", repeats=True),
    Option("--session", "session", "Only this session, by its id."),
    Option("--source", "source", "Only from this source: claude-mem, git, ..."),
    Option("--branch", "branch", "Only from this branch."),
    Option("--worktree", "worktree", "Only from this linked worktree, by its name."),
    Option("--since", "dateStart", "Not before: 2026-11-20, 'last week', 1763596800.", "WHEN"),
    Option("--until", "dateEnd", "Not after; a day counts whole.", "WHEN"),
    Option("--order", "orderBy", "Order of the results.", "relevance|date_desc|date_asc"),
    Option("--limit", "limit", "How many results, 1 to 100; 20 if not given.", "N", "-n"),
    Option("--offset", "offset", "Skip so many results.", "N"),
    Option("--max-tokens", "max_tokens", "Longest answer, 50 to 100000 tokens.", "N"),
    Option("--no-fold", "fold", "List near-duplicates one by one.", fixed="false"),
    Option("--per-session", "per_session", "So many of a session before other sessions.", "N"),
    Option("--boost", "boosts", "recency or importance count, too; may be repeated.", repeats=True),
    Option("--mode", "mode", "How to search; the default is hybrid.", "hybrid|keyword|vector"),
    Option("--explain", "explain", "Say how every score came about.", fixed="true"),
)

NO_START = "--no-start"
NOTHING_FOUND = "No results found"
"""What every listing without a single match begins with."""


_ELSEWHERE = {
    "depth_before": "--before",
    "depth_after": "--after",
    "kinds": "--kind",
    "style": "--style",
}
"""Parameters that only commands other than the searches have options for."""


def flag_of(param: str) -> str:
    """The option behind a parameter that the worker names in an error; else ``param`` itself."""
    if param in _ELSEWHERE:
        return _ELSEWHERE[param]
    for option in OPTIONS:
        if option.param == param and not option.fixed:
            return option.flag
    return param


def exported(pairs: list[tuple[str, str]]) -> str:
    """The format of the file that is asked for; empty for a listing."""
    return next((value for name, value in pairs if name == "format" and value in EXPORTS), "")


def collect(words: list[str], given: list[tuple[Option, str]]) -> list[tuple[str, str]]:
    """The query string's pairs. An option that does not repeat counts by its last value.

    One without a value, such as ``--json``, counts more than another for the same parameter.
    """
    pairs = [("query", " ".join(words))] if words else []
    last: dict[str, str] = {}
    for option, value in sorted(given, key=lambda each: bool(each[0].fixed)):
        if option.repeats:
            pairs.append((option.param, value))
        else:
            last[option.param] = value
    if last.get("format") == "index":
        del last["format"]
    return [*pairs, *last.items()]
