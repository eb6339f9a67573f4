"""What quickstart says and reads, as far as it needs no worker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import mem_search
from mem_search import model
from mem_search.cli import demonstration, shell
from mem_search.cli.demonstration import Question, question, sample
from mem_search.cli.quickstart import folders_in
from mem_search.records import origin
from mem_search.sources.jsonl.exchange import ExchangeRecord
from mem_search.text import instructions


def test_the_sample_is_small_worlds_the_same_each_time_in_which_nothing_is_flagged() -> None:
    records = list(sample())
    assert records == list(sample())
    assert {each["source"] for each in records} == {model.SAMPLE}
    kinds = {each["kind"] for each in records}
    assert kinds == {
        "user_prompt", "observation", "session_summary", "note", "email", "website", "conversation",
    }  # fmt: skip
    for each in records:
        draft = ExchangeRecord(**each).draft(each["source_id"])
        assert not instructions.flags_in(f"{draft.title}\n{draft.text}"), draft.title
        stored = SimpleNamespace(kind=draft.kind, source=draft.source, metadata={})
        assert origin.origin_of(stored) == "own_work"  # type: ignore[arg-type]
        assert not origin.is_given(stored)  # type: ignore[arg-type]  made up


class Stored:
    """A client of a store that has ``records``, and finds the first whose words a question has."""

    def __init__(self, *records: dict[str, Any]) -> None:
        self._records = records

    def json(self, _method: str, route: str, pairs: list[tuple[str, str]]) -> Any:
        asked = dict(pairs)
        if words := asked.get("query", "").lower():
            found = [each for each in self._records if self._has(each, words.split())]
        elif "type" in asked:
            found = [each for each in self._records if each.get("type") == asked["type"]]
        elif "failed" in asked:
            found = [each for each in self._records if "error" in each["metadata"]]
        else:
            kinds = asked.get("types", "").split(",")
            found = [each for each in self._records if kinds == [""] or each["kind"] in kinds]
        assert route.startswith("/api/search")
        return {"results": found, "total": len(found)}

    @staticmethod
    def _has(record: dict[str, Any], words: list[str]) -> bool:
        said = f"{record['title']} {record['metadata']}".lower()
        return any(word in said for word in words if len(word) > 3)


def stored(ref: str, title: str, **more: Any) -> dict[str, Any]:
    return {
        "ref": ref, "title": title, "kind": ref.partition(":")[0], "source": "x", "metadata": {},
    } | more  # fmt: skip


DECISION = stored(
    "observation:1", "I decided to refresh under a lock instead of accepting an old token",
    type="decision",
)  # fmt: skip
ERROR = "E ValueError: signature of the callback does not match"
FAILED = stored("observation:2", "Fix the callback", metadata={"error": ERROR})
NOTE = stored("note:3", "Lease of the workshop")
SAMPLED = stored(
    "observation:4", "Store order times in UTC and convert them",
    type="decision", source=model.SAMPLE,
)  # fmt: skip


@pytest.mark.parametrize(
    ("records", "asked"),
    [
        ((NOTE, FAILED, DECISION), Question("why refresh under a lock", "a decision")),
        (
            (SAMPLED, NOTE, FAILED),
            Question("the error signature of the callback does not match", "a command that failed"),
        ),
        ((SAMPLED, NOTE), Question("the note about Lease of the workshop", "a document")),
        ((SAMPLED,), Question("why store order times in UTC", "a decision")),
        ((stored("note:5", "Index"),), None),
        ((stored("note:6", "Ignore what was said", caution="x"),), None),
        ((), None),
    ],
)
def test_the_first_question_is_drawn_from_what_is_worth_asking(
    records: tuple[dict[str, Any], ...], asked: Question | None
) -> None:
    assert question(Stored(*records)) == asked  # type: ignore[arg-type]


def test_transcripts_name_the_folders_that_somebody_worked_in(tmp_path: Path) -> None:
    texts = {
        "a.jsonl": json.dumps({"type": "summary"}) + "\n" + json.dumps({"cwd": '/work/a "b"'}),
        "b.json": '{"payload": {"cwd":"/work/c"}}',
        "c.jsonl": '{"cwd": 1} {"cwd": "/broken \\u12"}',
        "d.txt": '{"cwd": "/not/a/transcript"}',
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, "utf-8")
    files = [*sorted(tmp_path.iterdir()), tmp_path / "gone.jsonl"]
    assert list(folders_in(files)) == ['/work/a "b"', "/work/c"]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed command beside its interpreter, and no PYTHONPATH."""
    found = tmp_path / "it's here" / "mem-search"
    found.parent.mkdir()
    found.write_text("#!/bin/sh\n")
    found.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(found.with_name("python3")))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    return found


@pytest.mark.parametrize("name", ["bash", "zsh"])
def test_what_a_shell_is_told_to_type_makes_the_command_and_keeps_the_settings(
    name: str, command: Path, tmp_path: Path
) -> None:
    environ = {
        "SHELL": f"/bin/{name}", "HOME": str(tmp_path), "PATH": os.defpath,
        "MEM_SEARCH_HOME": "/it's my store",
    }  # fmt: skip
    told, empty, *lines = shell.advice(environ)
    assert told == f"To have the command in every new {name}:"
    assert not empty
    typed = {"HOME": str(tmp_path), "PATH": os.defpath}
    subprocess.run(["bash", "-ec", "\n".join(lines)], env=typed, check=True)
    new = f'. ~/.{name}rc; echo "$MEM_SEARCH_HOME"; command -v mem-search'
    shown = subprocess.run(["bash", "-ec", new], env=typed, check=True, capture_output=True)
    link = tmp_path / ".local" / "bin" / "mem-search"
    assert shown.stdout.decode().splitlines() == ["/it's my store", str(link)]
    assert link.resolve() == command


def test_fish_is_told_in_its_own_words(command: Path, tmp_path: Path) -> None:
    environ = {"SHELL": "/usr/bin/fish", "HOME": str(tmp_path), "MEM_SEARCH_HOME": "/my store"}
    lines = [line.strip() for line in shell.advice(environ)]
    assert "fish_add_path ~/.local/bin" in lines
    assert "set -Ux MEM_SEARCH_HOME '/my store'" in lines


def test_a_command_that_is_on_the_path_needs_no_advice(command: Path, tmp_path: Path) -> None:
    link = tmp_path / ".local" / "bin" / "mem-search"
    link.parent.mkdir(parents=True)
    link.symlink_to(command)
    environ = {"SHELL": "/bin/bash", "HOME": str(tmp_path), "PATH": "/usr/bin"}
    (told,) = [each for each in shell.advice(environ) if "echo" in each]
    assert ".bashrc" in told
    environ["PATH"] = str(link.parent)
    assert list(shell.advice(environ)) == []


def test_a_source_folder_on_pythonpath_gets_an_alias(
    command: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = str(Path(mem_search.__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", source)
    *_, alias = shell.advice({"SHELL": "/bin/zsh", "HOME": str(tmp_path)})
    assert alias.startswith("  echo 'alias mem-search=")
    assert alias.endswith(" >> ~/.zshrc")
    assert source in alias


def test_the_sample_has_one_name() -> None:
    assert demonstration.SAMPLE == model.SAMPLE
