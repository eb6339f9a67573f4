"""What bash, zsh and fish get to complete: values that the store has, and nothing to evaluate."""

from __future__ import annotations

import json

import pytest

from homes import Home

HOSTILE = (
    "$(touch /tmp/x)",
    "`id`",
    'a"; id; "',
    "a b",
    "\x1b[31mred",
    "back\\slash",
    "a|b",
    "a>b",
)
NOTES = [
    {"kind": "note", "source_id": "1", "title": "Tide: $(id) `x`\n\"y\"", "project": "harbour",
     "text": "water", "tags": ["tide"]},
    {"kind": "note", "source_id": "2", "text": "wind", "project": "harvest"},
    *({"kind": "note", "source_id": f"h{n}", "text": "x", "project": name, "tags": [name]}
      for n, name in enumerate(HOSTILE)),
]  # fmt: skip


def completed(mem: Home, shell: str, *words: str) -> str:
    """What the shell's completion function is given behind ``mem-search WORDS``."""
    line = " ".join(("mem-search", *words))
    environ = {
        "bash": {"COMP_WORDS": line, "COMP_CWORD": str(len(words))},
        "zsh": {"_TYPER_COMPLETE_ARGS": line},
        "fish": {
            "_TYPER_COMPLETE_ARGS": line,
            "_TYPER_COMPLETE_FISH_ACTION": "get-args",
            "_TYPER_COMPLETE_WORD_TO_COMPLETE": words[-1],
        },
    }[shell]
    return mem.run(_MEM_SEARCH_COMPLETE=f"complete_{shell}", **environ).stdout


@pytest.fixture
def filled(mem: Home) -> Home:
    mem.ok("import", "jsonl", "-", given="".join(json.dumps(note) + "\n" for note in NOTES))
    mem.ok("saved", "add", "tides", "water")
    mem.ok("scope", "add", "port", "project:harbour")
    return mem


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_values_of_the_store_are_completed(filled: Home, shell: str) -> None:
    for words, expected in (
        (("search", "--project", "har"), ("harbour", "harvest")),
        (("--project", "harb"), ("harbour",)),
        (("unified", "--tag", "ti"), ("tide",)),
        (("unified", "--kind", "no"), ("notes",)),
        (("unified", "--format", "bib"), ("bibtex",)),
        (("search", "--scope", "p"), ("port",)),
        (("saved", "run", "t"), ("tides",)),
        (("get", "no"), ("note",)),
        (("wor",), ("worker",)),
    ):
        shown = completed(filled, shell, *words)
        for value in expected:
            assert value in shown, (words, shown)
    everything = completed(filled, shell, "search", "--project", "")
    refs = completed(filled, shell, "get", "")
    assert "Tide" in refs or shell == "bash"
    for sign in ("$", "`", ";", "\\s", "\x1b", "|", ">"):
        assert sign not in everything
        assert sign not in refs


def test_without_a_worker_nothing_is_completed_and_none_is_started(mem: Home) -> None:
    assert completed(mem, "bash", "search", "--project", "h").strip() == ""
    assert not (mem.path / "worker.json").exists()
