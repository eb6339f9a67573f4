"""What the shell completes behind an option or a command: values that the store has.

A worker that runs is asked; none is started, and an error completes nothing, because the person
is in the middle of typing.

A shell and the framework divide words differently. bash breaks them at ``:``, ``=`` and ``@`` and
replaces the last piece alone: of ``note:12`` the framework would see three words, and the shell
would write ``note:note:12``. zsh and fish replace the whole of ``--project=har``, of which the
framework completes what follows the ``=``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from typing import Any, Final

from mem_search.cli.client import Pairs, open_client
from mem_search.cli.fast_path import COMPLETING
from mem_search.cli.output import write
from mem_search.cli.search_options import UNIFIED, Option
from mem_search.errors import MemSearchError
from mem_search.patterns import pattern
from mem_search.records import SEARCHED

Values = Callable[[str], Sequence[tuple[str, str]]]
"""From what is typed so far to (value, help) pairs."""

MAX_COMPLETIONS: Final = 50
_NEWEST: Final = 20

_PLAIN: Final = pattern(r"[\w.,/@:+=%-]+")
_NOT_PLAIN: Final = pattern(r"[^\w.,/ -]+")

_FACETS: Final = {"project": "project", "type": "type", "source": "source", "tags": "tag"}
"""Parameter of a search → the facet that has its values."""


def values_of(option: Option) -> Values | None:
    """How the values of a search's option are completed; None where anything may follow."""
    if option.param in _FACETS:
        return facet(_FACETS[option.param])
    if option.param == "types":
        return kinds
    if option.param == "scope":
        return scopes
    if "|" in option.metavar:
        return one_of(option.metavar.split("|"))
    return None


def facet(name: str) -> Values:
    """Complete the values of a facet, the most frequent first."""

    def complete(incomplete: str) -> Sequence[tuple[str, str]]:
        pairs = [
            ("facets", name),
            ("facet_limit", str(MAX_COMPLETIONS)),
            ("limit", "1"),
            ("dateEnd", "now"),
        ]
        answer = _asked(UNIFIED, [*pairs, ("format", "json")])
        rows = answer.get("facets", {}).get(name, {}).get("values", [])
        return _beginning(incomplete, ((each["value"], f"{each['count']} found") for each in rows))

    return complete


def one_of(words: Sequence[str]) -> Values:
    """Complete one of ``words``."""

    def complete(incomplete: str) -> Sequence[tuple[str, str]]:
        return _beginning(incomplete, ((word, "") for word in words))

    return complete


def kinds(incomplete: str) -> Sequence[tuple[str, str]]:
    """Complete a kind of record."""
    return _beginning(incomplete, ((plural, text) for plural, (_, text) in SEARCHED.items()))


def refs(incomplete: str) -> Sequence[tuple[str, str]]:
    """Complete the ref of one of the newest records."""
    pairs = [("dateEnd", "now"), ("limit", str(_NEWEST)), ("format", "json")]
    results = _asked(UNIFIED, pairs).get("results", [])
    return _beginning(incomplete, ((each["ref"], each["title"]) for each in results))


def saved_searches(incomplete: str) -> Sequence[tuple[str, str]]:
    """Complete the name of a saved search."""
    rows = _asked("/api/v1/saved-searches").get("saved_searches", [])
    return _beginning(incomplete, ((each["name"], "") for each in rows))


def scopes(incomplete: str) -> Sequence[tuple[str, str]]:
    """Complete the name of a scope."""
    rows = _asked("/api/v1/scopes").get("scopes", [])
    return _beginning(incomplete, ((each["name"], "") for each in rows))


def jobs(incomplete: str) -> Sequence[tuple[str, str]]:
    """Complete the id of a job."""
    rows = _asked("/api/jobs").get("jobs", [])
    return _beginning(incomplete, ((each["id"], each["state"]) for each in rows))


def _asked(path: str, pairs: Pairs = ()) -> dict[str, Any]:
    try:
        return dict(open_client(may_start=False).json("GET", path, pairs))
    except MemSearchError:
        return {}


def _beginning(incomplete: str, values: Iterable[tuple[str, str]]) -> Sequence[tuple[str, str]]:
    """Those that begin so; a value that a shell would not take as it is, is left out.

    Shells evaluate what a completion prints, and the values are stored text.
    """
    return [
        (value, " ".join(_NOT_PLAIN.sub(" ", text).split())[:60])
        for value, text in values
        if _PLAIN.fullmatch(value) and value.casefold().startswith(incomplete.casefold())
    ]


_BREAKS: Final = frozenset(":=@")
"""What of ``COMP_WORDBREAKS`` stands in refs, values and options, and needs no quotes."""


@contextmanager
def whole_words() -> Iterator[None]:
    """What the block completes fits the words of the shell that asks; else nothing changes."""
    shells = {"complete_bash": _bash, "complete_zsh": _zsh, "complete_fish": _fish}
    shell = shells.get(os.environ.get(COMPLETING, ""))
    if shell is None:
        yield
        return
    mend, said = shell(), StringIO()
    try:
        with redirect_stdout(said):
            yield
    finally:
        write(mend(said.getvalue()))


def joined(words: Sequence[str]) -> tuple[list[str], str]:
    """``words`` without the breaks of bash, and what bash keeps of the last one.

    A break between blanks is joined, too, because bash gives the same words for it.
    """
    whole: list[str] = []
    kept, after_break = "", False
    for place, word in enumerate(words):
        is_break = bool(word) and _BREAKS.issuperset(word)
        if word and place > 1 and (is_break or after_break):
            kept = whole[-1] + word if is_break else whole[-1]
            whole[-1] += word
        else:
            kept = ""
            whole.append(word)
        after_break = is_break
    return whole, kept


def _bash() -> Callable[[str], str]:
    words = os.environ.get("COMP_WORDS", "").split("\n")
    last = os.environ.get("COMP_CWORD", "")
    whole, kept = joined(words[: int(last) + 1] if last.isdecimal() else words)
    os.environ["COMP_WORDS"] = "\n".join(whole)
    os.environ["COMP_CWORD"] = str(len(whole) - 1)
    kept = kept.partition("=")[2] if kept.startswith("--") else kept
    return lambda said: "\n".join(line.removeprefix(kept) for line in said.split("\n"))


def _zsh() -> Callable[[str], str]:
    # Each value stands in quotes, at the start of a line or of the list.
    option = _option()
    return lambda said: re.sub(r'(?m)(^|\(\()"', rf'\g<1>"{option}', said)


def _fish() -> Callable[[str], str]:
    option = _option()
    return lambda said: re.sub(r"(?m)^(?=.)", option, said)


def _option() -> str:
    """``--project=`` where its value is completed, else nothing."""
    match = re.search(r"(?:^|\s)(--[a-z-]+=)\S*$", os.environ.get("_TYPER_COMPLETE_ARGS", ""))
    return match[1] if match else ""
