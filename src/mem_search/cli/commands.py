"""The framework's groups and commands: one for each kind, and errors that name what was meant."""

from __future__ import annotations

from shlex import join
from typing import Any, Final

from typer.core import TyperGroup

from mem_search.cli.meant import SEARCH, asks_why, kinds, meant_by
from mem_search.cli.output import say
from mem_search.cli.search_options import MIXED
from mem_search.records import SEARCHED
from mem_search.text.spelling import nearest

COMPLETION = ("--install-completion", "--show-completion")
"""The framework's own options for the shell that runs the command."""

_WHOLE: Final = 10_000
"""Characters of a sentence in ``--help``: the framework would cut it at the end of the line."""


SECTIONS: Final = (
    ("Search", (
        "search", "day", "recent", *SEARCHED, "timeline", "related", "suggest", "view", "websearch",
        "unified",
    )),
    ("Open and cite", (
        "get", "open", "preview", "cite", "cites", "cited-by", "citation-report", "resume",
    )),
    ("Bring in", (
        "quickstart", "sync", "unfollow", "add", "why", "import", "migrate", "archive", "ledger",
        "sources",
    )),
    ("Agents", ("install", "uninstall", "mcp", "context", "compress")),
    ("Research", ("research", "saved", "scope", "share", "graph", "webhook")),
    ("Take away and keep", ("forget", "delete", "purge", "backup", "restore", "mirror", "export")),
    ("Look after", (
        "help", "stats", "analytics", "learn", "projects", "jobs", "doctor", "worker", "service",
        "index", "reembed", "token", "user",
    )),
)  # fmt: skip
"""What ``--help`` shows below one heading; kinds of third parties join the first."""

OVERVIEW: Final = """mem-search finds what you and your coding agents have seen.

  mem-search WORDS           search everything, best match first
  mem-search WORDS --newest  the same, newest first
  mem-search day yesterday   what is from a day, or "last week"
  mem-search get REF         print a record, such as note:3
  mem-search open REF        open its original
  mem-search timeline REF    what happened before and after it
  mem-search view            all of it in a browser

  mem-search quickstart      read what this machine has, and follow it
  mem-search add FOLDER      documents, notes, mail
  mem-search install         let your coding agents search
  mem-search stats           what is stored
  mem-search doctor          whether everything works
  mem-search help WORDS      look something up in the manual

mem-search --help lists every command, mem-search COMMAND --help its options.
"""
"""What ``mem-search`` says alone: the commands of every day, on one screen of 24 lines."""


class Group(TyperGroup):
    """A group of commands; an unknown one is told with the nearest, and with the search for it."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if self.get_command(ctx, args[0]) is None and not ctx.resilient_parsing:
            near = nearest(args[0].lower(), ((name, 1) for name in self.list_commands(ctx)), 1)
            path = ctx.command_path
            if near:
                told = f"did you mean: {path} {join([near[0], *args[1:]])}"
            else:
                told = f"choose one of {', '.join(self.list_commands(ctx))}"
            question = " ".join([*path.split()[1:], *args])
            ctx.fail(f"{path} has no command {args[0]!r}; {told}{_as_words(question)}")
        return super().resolve_command(ctx, args)


class Commands(TyperGroup):
    """The commands of the command line, with one for each installed kind of record.

    What begins with no command is a question, unless a command is near (``meant``). The names of
    kinds are enough: their classes, which import pydantic, stay unloaded.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        names = super().list_commands(ctx)
        place = names.index(MIXED[-1].name) + 1
        others = [name for name in kinds() if name not in names]
        return [*names[:place], *others, *names[place:]]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        known = super().get_command(ctx, cmd_name)
        if known is not None or cmd_name not in kinds():
            return known
        from mem_search.cli.search import command_of_kind

        return command_of_kind(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands below the headings of SECTIONS, each with its whole sentence."""
        left = dict.fromkeys(self.list_commands(ctx))
        placed = {name for _, names in SECTIONS for name in names}
        for heading, names in SECTIONS:
            more = [name for name in left if name not in placed] if heading == "Search" else []
            with formatter.section(heading):
                formatter.write_dl(
                    [
                        (name, self.get_command(ctx, name).get_short_help_str(limit=_WHOLE))
                        for name in (*names, *more)
                        if name in left
                    ]
                )

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            say(OVERVIEW)
            ctx.exit(2)  # as the framework does: nothing was asked
        if len(args) > 1 and args[0] in COMPLETION:
            # The framework would ignore the value, and write for another shell than it names.
            ctx.fail(
                f"{args[0]} takes no value: it is for the shell that runs it;"
                f" in {args[1]}, run: mem-search {args[0]}"
            )
        own = [flag for parameter in self.get_params(ctx) for flag in parameter.opts]
        if args and args[0].startswith("-") and args[0] not in own:
            args = [SEARCH, *args]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        word = args[0]
        if self.get_command(ctx, word) is not None and not asks_why(args):
            return super().resolve_command(ctx, args)
        if ctx.resilient_parsing:  # a shell completes what stands behind a question
            return SEARCH, self.get_command(ctx, SEARCH), args
        if not asks_why(args) and (meant := meant_by(args, self.list_commands(ctx))):
            told = _left_out(word) or f"did you mean: mem-search {meant}"
            ctx.fail(f"there is no command {word!r}; {told}" + _as_words(" ".join(args)))
        return SEARCH, self.get_command(ctx, SEARCH), args


def _left_out(word: str) -> str:
    """Why the kind that ``word`` would mean is left out, and what mends it; "" for any other."""
    if kinds() == [*SEARCHED]:
        return ""  # all kinds are ours: their classes stay unloaded
    import logging

    from mem_search.records.registry import installed_kinds

    logging.getLogger("mem_search.records").addHandler(logging.NullHandler())  # it is said here
    return str(installed_kinds().meant_by(word) or "")


def _as_words(question: str) -> str:
    return f"\nTo search for these words: mem-search search {join([question])}"
