"""Words in completion where a shell and the framework divide them differently.

bash breaks words at ``:``, ``=`` and ``@`` and replaces the last piece alone: of ``note:12`` the
framework would see three words, and the shell would write ``note:note:12``. zsh and fish replace
the whole of ``--project=har``, of which the framework completes what follows the ``=``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from typing import Final

from mem_search.cli.fast_path import COMPLETING
from mem_search.cli.output import write

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
    found = re.search(r"(?:^|\s)(--[a-z-]+=)\S*$", os.environ.get("_TYPER_COMPLETE_ARGS", ""))
    return found[1] if found else ""
