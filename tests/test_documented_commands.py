"""Every command that a document shows in a fenced block works, and the stories show real output."""

from __future__ import annotations

import os
import re
import sys
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from mem_search.cli.app import app

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts" / "documentation"))

from checkout import documents  # noqa: E402
from examples import ELSEWHERE, Example, Shell, compared, examples, story_day, without_waiting  # noqa: E402
from person import bring_more, move_in  # noqa: E402
from story import STORIES, told  # noqa: E402

FENCE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)

OWN_TEST = "docs/citations.md"
"""``tests/cli/test_citations_document.py`` compares its output, with records of its own."""

NO = ("No results found", "nothing new", "the index has changed")
"""Answers with exit code 1 that are right: a question may have no answer among the files of the
story, and a replay differs where the index has grown meanwhile.
"""

FIRST = (
    "cd ~/shop && mem-search quickstart --yes",
    "mem-search add ~/Downloads/export.zip",
    "mem-search import jsonl ~/notes.jsonl",
    "mem-search archive add housing --research ~/research-archive --urls ~/url-content-archive",
)
"""What readers of the other documents have done before."""


def commands_of(name: str) -> list[Example]:
    return list(examples((ROOT / name).read_text("utf-8")))


SHOWN = [file.relative_to(ROOT).as_posix() for file in documents(ROOT)]
RUN = [name for name in SHOWN if commands_of(name) and name not in (*STORIES, OWN_TEST)]


@pytest.mark.worker
def test_stories_show_what_their_commands_print_and_every_other_command_works(
    tmp_path: Path,
) -> None:
    """One test and one worker: the documents are read one after the other, as by a person, and the
    start of the worker and its model cost more than any of them.
    """
    home, today = tmp_path / "me", datetime.now(UTC).date()
    move_in(home)
    with Shell(home, os.environ) as shell:
        shell.start()
        for name in STORIES:
            text, now = told(shell, name)
            day = story_day(text)
            assert day is not None
            assert outputs(now, today) == outputs(text, day), "run: scripts/docs --story"
        bring_more(home)
        assert [failure for command in FIRST if (failure := failing(shell, command))] == []
        for name in RUN:
            shell.new_document()
            run = [each.command for each in commands_of(name) if not each.elsewhere]
            assert [bad for each in run if (bad := failing(shell, each))] == [], name


def outputs(text: str, day: date) -> list[tuple[str, str]]:
    return [(each.command, compared(each.printed or "", day)) for each in examples(text)]


def failing(shell: Shell, command: str) -> str:
    """What is wrong with it, or nothing."""
    code, printed = shell.ran(shell.with_stored_refs(command))
    is_no = code == 1 and any(said in printed for said in NO)
    return "" if code == 0 or is_no else f"{command}\nexit {code}\n{printed}"


@pytest.mark.parametrize("part", ELSEWHERE)
def test_what_is_not_run_is_shown_somewhere(part: str) -> None:
    shown = (f"{each.command}\n{each.printed}" for name in SHOWN for each in commands_of(name))
    assert any(part in each for each in shown), "take it out of the table"


def test_commands_are_found_with_their_output_and_over_several_lines() -> None:
    text = (
        "```console\n$ one 'a\nb'\nprinted\n\n$ two  # a comment that's here\n```\n"
        "  ```sh\n  # only a comment\n  three \\\n    four\n  five\n  ```\n```json\nnot one\n```\n"
    )
    found = [(each.command, each.printed) for each in examples(text)]
    assert found == [
        ("one 'a\nb'", "printed\n\n"),
        ("two  # a comment that's here", ""),
        ("three \\\n    four", None),
        ("five", None),
    ]


def test_a_comparison_overlooks_times_and_scores_only() -> None:
    day = datetime(2026, 11, 23, tzinfo=UTC).date()
    before = (
        "pid 12 Note #1 (Nov 23, 3:48 PM) 2026-11-23T15:48:47.385Z 2026-11-23 15:48"
        " score 1.91\n   wrapped in 15\n   seconds"
    )
    after = (
        "pid 7 Note #1 (Nov 24, 1:02 AM) 2026-11-24T01:02:03.004Z 2026-11-24 01:02 score 1.8"
        " wrapped in 7 seconds"
    )
    assert compared(before, day) == compared(after, day.replace(day=24))
    assert compared(before, day) == compared(after, day), "a run may go on after midnight"
    assert compared(before, day) != compared(after, day.replace(day=25))
    assert compared(before, day) != compared(before.replace("#1", "#2"), day)


@pytest.mark.parametrize(
    "line",
    [
        "the worker is starting\n",
        "the worker has not started for 31 s; to start again:\n  mem-search worker restart\n",
    ],
)
def test_a_story_does_not_show_that_its_machine_was_busy(line: str) -> None:
    assert without_waiting(f"== the worker\n{line}started\n") == "== the worker\nstarted\n"


INLINE = re.compile(r"`mem-search ([^`]+)`")
"""A command in a sentence: `mem-search jobs ID --cancel`."""


@cache
def command_tree() -> Any:
    return typer.main.get_command(app)


@pytest.mark.parametrize("name", SHOWN)
def test_the_commands_and_options_that_sentences_name_exist(name: str) -> None:
    tree = command_tree()
    prose = FENCE.sub("", (ROOT / name).read_text("utf-8"))
    for said in INLINE.findall(prose):
        command, words = tree, said.split()
        while words and words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
        if command is tree and not said.startswith("-"):
            command = tree.commands["search"]  # what is no command is a question
        known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
        options = {
            word.strip("[],").partition("=")[0] for word in words if re.match("--?[a-z]", word)
        }
        assert options <= known | {"--help"}, f"mem-search {said}"
