"""What quickstart says and reads, as far as it needs no worker."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import mem_search
from mem_search import model
from mem_search.cli import command_on_path, quickstart
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


@pytest.mark.parametrize(
    ("shell", "path_line", "setting"),
    [
        ("/bin/bash", """echo 'export PATH="$HOME/.local/bin:$PATH"' >> ~/.bashrc""",
         "export MEM_SEARCH_HOME='/my store'"),
        ("/usr/bin/zsh", """echo 'export PATH="$HOME/.local/bin:$PATH"' >> ~/.zshrc""",
         "export MEM_SEARCH_HOME='/my store'"),
        ("/usr/bin/fish", "fish_add_path ~/.local/bin", "set -gx MEM_SEARCH_HOME '/my store'"),
    ],
)  # fmt: skip
def test_each_shell_is_told_in_its_own_words(
    shell: str, path_line: str, setting: str, command: Path, tmp_path: Path
) -> None:
    environ = {
        "SHELL": shell, "HOME": str(tmp_path), "PATH": "/usr/bin", "MEM_SEARCH_HOME": "/my store"
    }  # fmt: skip
    lines = [line.strip() for line in command_on_path.advice(environ)]
    assert path_line in lines
    assert setting in lines
    assert any(line.startswith("ln -s ") and "it'\"'\"'s here" in line for line in lines)


def test_a_command_that_is_on_the_path_needs_no_advice(command: Path, tmp_path: Path) -> None:
    link = tmp_path / ".local" / "bin" / "mem-search"
    link.parent.mkdir(parents=True)
    link.symlink_to(command)
    environ = {"SHELL": "/bin/bash", "HOME": str(tmp_path), "PATH": "/usr/bin"}
    (told,) = [each for each in command_on_path.advice(environ) if "echo" in each]
    assert ".bashrc" in told
    environ["PATH"] = str(link.parent)
    assert list(command_on_path.advice(environ)) == []


def test_a_source_folder_on_pythonpath_gets_an_alias(
    command: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = str(Path(mem_search.__file__).parents[1])
    monkeypatch.setenv("PYTHONPATH", source)
    *_, alias = command_on_path.advice({"SHELL": "/bin/zsh", "HOME": str(tmp_path)})
    assert alias.startswith("  alias mem-search=")
    assert source in alias


def test_the_sample_has_one_name() -> None:
    assert quickstart.SAMPLE == model.SAMPLE
