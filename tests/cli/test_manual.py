"""``help``: the manual, looked up by words; and what a command does."""

from __future__ import annotations

import pytest

from mem_search.cli.app import main
from mem_search.cli.commands import OVERVIEW
from mem_search.cli.manual import look_up, sections

PAGES = list(sections())


@pytest.mark.parametrize(
    ("question", "heading"),
    [
        ("exclude a folder", "exclude a project or a folder"),
        ("pause", "pause"),
        ("obsidian", "Obsidian"),
        ("two machines", "two machines"),
        ("ssh", "ssh"),
        ("containers", "containers"),
        ("fzf", "fzf"),
        ("Raycast", "Raycast"),
        ("move to another machine", "moving"),
        ("delete for good", "delete something for good"),
        ("is anything sent over the network", "leave my machine"),
    ],
)
def test_words_of_a_task_find_its_section(question: str, heading: str) -> None:
    found = look_up(question, PAGES)
    named = [" ".join(each.headings).lower() for each in found]
    assert any(heading.lower() in each for each in named[:3]), named


def test_the_best_section_is_shown_with_the_names_of_others_on_one_screen(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["help", "exclude", "a", "folder"]) == 0
    out = capsys.readouterr().out
    assert ".memsearchignore" in out
    assert "faq.md" in out
    assert "](" not in out
    assert len(out.splitlines()) <= 24
    assert main(["help", "quagsire zlorp"]) == 1
    assert "README.md" in capsys.readouterr().out


def test_help_shows_the_options_of_a_command_and_alone_the_commands_of_every_day(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["help", "worker", "start"]) == 0
    assert "mem-search worker start [OPTIONS]" in capsys.readouterr().out
    assert main(["help", "notes"]) == 0
    assert "--newest" in capsys.readouterr().out
    assert main(["help"]) == 0
    assert capsys.readouterr().out == OVERVIEW
