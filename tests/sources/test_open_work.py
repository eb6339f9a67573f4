"""What the last words of a session leave open."""

from __future__ import annotations

from pathlib import Path

import pytest

from claude_code_script import CWD, Script
from mem_search.model import Location
from mem_search.sources.agent_work.session import left_open
from mem_search.sources.claude_code import ClaudeCode


def open_after(script: Script, folder: Path) -> str:
    """The next steps in the summary of the session."""
    script.write(folder / "project" / f"{script.session}.jsonl")
    batches = ClaudeCode().read(Location("claude-code", str(folder)), {})
    drafts = (draft for batch in batches for draft in batch.drafts)
    (summary,) = [each for each in drafts if each.kind == "session_summary"]
    return str(summary.metadata.get("next_steps", ""))


@pytest.mark.parametrize(
    ("said", "left"),
    [
        (
            "All tests pass.\n\n### Next Steps\nThe remaining tasks are:\n"
            "- pier-4: lay the deck\n- pier-5: light it\n\nThese depend on the piles.",
            ["- pier-4: lay the deck", "- pier-5: light it"],
        ),
        (
            "Done.\n\n**Next steps:**\n\n1. Lay the deck\n   with oak\n2. Light it\n\nThanks.",
            ["1. Lay the deck", "2. Light it"],
        ),
        ("The piles stand. Next: write the log entry.", ["Next: write the log entry."]),
        ("Remaining:\n* [x] the piles\n* [ ] the deck", ["* [ ] the deck"]),
        ("## What's next\nLay the deck. Then light it.\n\nThe piles stand.\n\n## Files\n- a.py",
         ["Lay the deck.", "Then light it."]),
        ("Known issue: the crane squeaks loudly.", ["Known issue: the crane squeaks loudly."]),
        ("## Next steps\n- None\n\n## Changes\n- pier.py", []),
        ("No remaining work:\n- the piles stand\n- the deck lies", []),
        ("## Changes\n- the next buoy\n- pier.py\n\nEverything passes.", []),
        ("Next, I looked at the piles, and they stand.", []),
        ("", []),
    ],
)  # fmt: skip
def test_lists_and_sentences_about_open_work_are_found(said: str, left: list[str]) -> None:
    assert left_open(said) == left


def test_long_last_words_keep_their_end(tmp_path: Path) -> None:
    """The conclusion that a summary shows is cut; what is open stands at its end."""
    script = Script().asks("Build the pier").does("Write", file_path=f"{CWD}/pier.py")
    script.says(
        "The piles stand.\n\n" + "They are of oak. " * 400 + "\n\n## Next steps\n- the deck"
    )
    assert open_after(script, tmp_path) == "- the deck"


def test_what_the_next_turn_says_counts(tmp_path: Path) -> None:
    script = Script().asks("Build the pier").does("Write", file_path=f"{CWD}/pier.py")
    script.says("The piles stand.\n\nRemaining:\n- the deck\n- the lamp")
    script.asks("Go on").does("Write", file_path=f"{CWD}/deck.py")
    script.says("The deck lies.\n\nRemaining:\n- the lamp")
    assert open_after(script, tmp_path) == "- the lamp"
    script.asks("Go on").does("Write", file_path=f"{CWD}/lamp.py").says("The lamp burns.")
    assert open_after(script, tmp_path) == ""
