"""What quickstart says and reads, as far as it needs no worker."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import mem_search
from mem_search import model
from mem_search.cli import quickstart, shell
from mem_search.cli.quickstart import folders_in, sample


def test_the_sample_is_the_same_each_time_and_in_no_list_of_projects_tags_or_files() -> None:
    records = list(sample())
    assert records == list(sample())
    readme = next(each for each in records if each["source_id"] == "README.md")
    assert (readme["kind"], readme["title"], readme["source"]) == ("file", "mem-search", "sample")
    assert len({each["source_id"] for each in records}) == len(records) > 20
    assert not any({"project", "tags", "metadata", "url"} & each.keys() for each in records)


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
    assert quickstart.SAMPLE == model.SAMPLE
