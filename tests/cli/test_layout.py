"""Lines fit a terminal without a broken word, and tips are shown once."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.cli import output
from mem_search.cli.layout import fitted, width
from mem_search.cli.output import follows_links
from mem_search.features.stats.text import picture
from patience import PATIENCE

WORDS = st.lists(
    st.sampled_from(["token", "rotation", "a", "/a/long/path/of/a/file.py", "認証",
                     "認証の更新と保管", "⚖️", "📝", "cafe\u0301", "\x1b[1mbold\x1b[0m"]),
    max_size=30,
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("abc", 3),
        ("📝", 2),
        ("⚖️", 2),
        ("認証", 4),
        ("e\u0301", 1),
        ("\x1b[1mab\x1b[0m", 2),
        ("\x1b]8;;http://127.0.0.1/v/12\x1b\\#12\x1b]8;;\x1b\\", 3),
        ("", 0),
    ],
)
def test_width_is_that_of_a_terminal(text: str, columns: int) -> None:
    assert width(text) == columns


def test_a_long_line_goes_on_behind_an_indent() -> None:
    line = "✅ Observation #1257 - MAESTRO: Complete PR #745 auth method verification task (Aug 30)"
    assert fitted(line, 60).split("\n") == [
        "✅ Observation #1257 - MAESTRO: Complete PR #745 auth method",
        "   verification task (Aug 30)",
    ]
    assert fitted(f"     {line}", 60).split("\n")[1].startswith("     method")
    assert fitted("認証" * 20, 20).split("\n")[0] == "認証" * 5


@pytest.mark.parametrize(
    "whole",
    [
        "Observation #1258", "PR #745", "(Aug 30, 10:40 AM)", "Nov 22, 2026, 12:08 AM", "Nov 9-15",
        "(Nov 30-Dec 4)", "2026-11-23 12:30", "\x1b[36mNote\x1b[0m \x1b[1m#12\x1b[0m",
        "\x1b[36mNote\x1b[0m \x1b]8;;http://h/v/7\x1b\\#7\x1b]8;;\x1b\\",
    ],
)  # fmt: skip
def test_a_date_and_the_number_of_a_record_stay_whole(whole: str) -> None:
    for words in range(1, 16):
        line = " ".join(["word"] * words + [whole, "end"])
        assert whole in fitted(line, 40).replace("\n", "|"), fitted(line, 40)


@given(words=WORDS, gap=st.sampled_from([" ", "  "]), columns=st.integers(20, 90))
def test_nothing_is_lost_and_only_a_word_that_is_too_long_sticks_out(
    words: list[str], gap: str, columns: int
) -> None:
    line = gap.join(words)
    pieces = fitted(line, columns).split("\n")
    assert "".join("".join(pieces).split()) == "".join(line.split())
    for piece in pieces:
        assert width(piece) <= columns or len(piece.split()) == 1, piece


def test_the_picture_of_the_statistics_fits_and_is_in_proportion() -> None:
    kinds = {"total": 301, "note": 300, "email": 1, "file": 0}
    months = {f"2025-{month:02}": month for month in range(1, 13)} | {"2026-01": 5}
    lines = list(picture(kinds, months, 60))
    assert [line.split()[0] for line in lines if line][:3] == ["note", "email", "2025-02"]
    assert max(map(width, lines)) <= 60
    assert lines[0].count("█") > 40
    assert lines[1].count("█") == 1
    assert list(picture({"total": 0}, {}, 60)) == []
    gap = list(picture({}, {"2025-11": 2, "2026-02": 1}, 60))
    assert [line.split()[:2] for line in gap[-5:-1]] == [
        ["2025-11", "2"], ["2025-12", "0"], ["2026-01", "0"], ["2026-02", "1"],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "xterm-kitty"}, True),
        ({"VTE_VERSION": "7603"}, True),
        ({"VTE_VERSION": "4600"}, False),
        ({"VTE_VERSION": "new"}, False),
        ({"TERM_PROGRAM": "vscode"}, True),
        ({"TERM_PROGRAM": "vscode", "FORCE_HYPERLINK": "0"}, False),
        ({"FORCE_HYPERLINK": "1"}, True),
    ],
)
def test_links_are_for_terminals_that_follow_them(environ: dict[str, str], expected: bool) -> None:
    assert follows_links(environ) is expected


def test_the_number_of_a_record_is_a_link_to_its_page() -> None:
    shown = output.coloured("📝 Note #12 - A (Mar 3)", "http://127.0.0.1:5/v/")
    assert "\x1b]8;;http://127.0.0.1:5/v/12\x1b\\#12\x1b]8;;\x1b\\" in shown
    assert width(shown) == width("📝 Note #12 - A (Mar 3)")
    assert "]8;;" not in output.coloured("📝 Note #12 - A (Mar 3)")


LONG = "".join(f"line {number}\n" for number in range(40))
SCRIPT = "from mem_search.cli.output import write_fitted; write_fitted({text!r})"


@pytest.mark.parametrize(
    ("text", "pager", "expected"),
    [
        (LONG, "sed s/^/paged:/ | tail -n 1", ["paged:line 39"]),
        (LONG, "/no/such/pager", LONG.split("\n")[:-1]),
        (LONG, "", LONG.split("\n")[:-1]),
        ("short\n", "sed s/^/paged:/", ["short"]),
    ],
)
def test_what_is_longer_than_the_terminal_goes_to_the_pager(
    text: str, pager: str, expected: list[str]
) -> None:
    assert in_terminal(SCRIPT.format(text=text), PAGER=pager) == expected


@pytest.mark.parametrize(
    "words", [["search", "auth", "--projct", "x"], ["token", "refresh", "bug"]]
)
def test_messages_end_at_the_last_column(words: list[str], tmp_path: Path) -> None:
    program = f"import sys; from mem_search.cli.app import main; sys.exit(main({words!r}))"
    shown = in_terminal(program, code=2, errors=True, MEM_SEARCH_HOME=str(tmp_path / "none"))
    assert len(shown) > 2, shown
    assert all(width(line) <= 80 for line in shown)


def in_terminal(program: str, code: int = 0, errors: bool = False, **environ: str) -> list[str]:
    """The lines that a program, with its ``errors``, shows on a terminal of 80 columns."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=follower, stdout=follower, stderr=follower if errors else subprocess.DEVNULL,
        env={**os.environ, "TERM": "dumb", **environ},
    )  # fmt: skip
    os.close(follower)
    said = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:  # Linux: the other side is closed
            break
        if not piece:
            break
        said += piece
    os.close(leader)
    assert process.wait(PATIENCE) == code, said
    return said.decode().replace("\r\n", "\n").split("\n")[:-1]
