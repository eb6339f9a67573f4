"""What people mean who type something else than a command: a question, or a near name.

The fast path loads this before the framework, so that a question needs no framework.
"""

from __future__ import annotations

from mem_search.records import ENTRY_POINTS, SEARCHED

SEARCH = "search"
"""The command for a question that follows no command."""

COMMANDS = (
    "unified", "search", "day", "recent", "cite", "suggest", "get", "preview", "timeline",
    "related", "open", "resume", "context", "forget", "delete", "purge", "add", "why", "sync",
    "unfollow", "import",
    "export", "install", "uninstall", "backup", "restore", "mirror", "stats",
    "ledger", "sources", "reembed", "compress", "analytics", "projects", "jobs",
    "websearch", "learn", "cites", "cited-by", "citation-report",
    "mcp", "quickstart", "help", "view", "doctor", "migrate", "index", "worker", "service", "token",
    "user", "archive", "graph", "research", "saved", "scope", "webhook", "share",
)  # fmt: skip
"""The commands of the framework, in its order and without those of kinds."""

MEANT = {
    **dict.fromkeys(["find", "query", "grep", "ask", "lookup"], "search"),
    **dict.fromkeys(["ls", "list", "history", "log", "latest", "newest"], "recent"),
    **dict.fromkeys(["show", "cat", "read"], "get"),
    **dict.fromkeys(["rm", "remove", "erase"], "forget"),
    **dict.fromkeys(["save", "remember", "ingest", "upload"], "add"),
    **dict.fromkeys(["update", "pull", "refresh", "reindex"], "sync"),
    **dict.fromkeys(["check", "diagnose", "config", "settings"], "doctor"),
    **{name: f"day {name}" for name in ("today", "yesterday")},
    **dict.fromkeys(["web", "ui", "gui", "browser", "dashboard", "viewer"], "view"),
    **dict.fromkeys(["setup", "integrate"], "install"),
    **dict.fromkeys(["start", "serve", "server", "daemon", "run"], "worker start"),
    **{name: f"worker {name}" for name in ("stop", "restart", "status", "logs")},
    **dict.fromkeys(["enable", "autostart"], "service install"),
    "disable": "service uninstall",
    **dict.fromkeys(["login", "auth-token"], "token create"),
    **dict.fromkeys(["citation", "citations", "bibtex"], "cite"),
    "commands": "--help",
    **dict.fromkeys(["man", "manual", "docs", "faq"], "help"),
    "version": "--version",
    **dict.fromkeys(["repos", "repositories"], "projects"),
    **dict.fromkeys(["calendar", "graphs"], "view"),
    "dump": "export",
    "info": "stats",
    **dict.fromkeys(["usage", "popular"], "analytics"),
    "tidy": "purge",
    **dict.fromkeys(["replicate", "twin", "machines", "devices"], "mirror"),
}
"""Words that other programs have for what a command of ours does."""


def is_question(argv: list[str]) -> bool:
    """Whether ``argv`` begins with no command and with none that is near."""
    word = argv[0]
    if asks_why(argv):
        return True
    if word.startswith("-") or word in COMMANDS or word in SEARCHED:
        return False
    known = kinds()
    return word not in known and not meant_by(argv, [*COMMANDS, *known])


def asks_why(argv: list[str]) -> bool:
    """Whether it is a question, as in ``why do we …``: the command ``why`` takes one path."""
    return argv[:1] == ["why"] and len(argv) > 2 and not any(a.startswith("-") for a in argv[1:3])


def meant_by(args: list[str], known: list[str]) -> str:
    """The command that ``args`` most likely mean, with what follows it; "" for a question."""
    from mem_search.text.spelling import edits_allowed, nearest

    word = args[0].lower()
    most = min(edits_allowed(word), len(word) // 4)
    if command := MEANT.get(word) or "".join(nearest(word, ((each, 1) for each in known), 1, most)):
        from shlex import join

        return " ".join(filter(None, (command, join(args[1:]))))
    return ""


def kinds() -> list[str]:
    """The plurals of all kinds, built-in ones first."""
    from importlib.metadata import entry_points  # takes as long as the interpreter

    third_party = entry_points(group=ENTRY_POINTS).names
    return [*SEARCHED, *sorted(third_party - SEARCHED.keys())]
