"""A secret that stands where a text is cut is removed before the cut."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from mem_search.ingest.prepare import prepare
from mem_search.model import Draft
from mem_search.sources.agent_work.choices import decision_in
from mem_search.sources.agent_work.evidence import statement
from mem_search.sources.agent_work.session import _WHOLE, compaction_fields
from mem_search.sources.agent_work.text import headline
from mem_search.sources.conversations import first_line
from mem_search.text.redaction import redact
from mem_search.text.shortening import cut, one_line
from secret_shapes import SHAPES, Shape
from secret_shapes_named import NAMED

LONG = {
    name: shape
    for name, shape in {**SHAPES, **NAMED}.items()
    if "\n" not in shape.text and name not in ("1password", "pypi")
}
SHORTENED: dict[str, Callable[[str], str]] = {
    "title": headline,
    "line": lambda text: one_line(text, 100),
    "statement": statement,
    "title of a conversation": first_line,
    "text": lambda text: cut(text, 100),
    "decision": lambda text: "\n".join(decision_in(f"I decided to use it: {text}")),
}


def _text(shape: Shape, before: int) -> str:
    """The shape behind so many characters of words, and more words behind it."""
    words = ("alpha beta gamma delta omega kappa sigma theta lambda zeta eta iota mu nu " * 3)[
        :before
    ]
    return f"{words.rstrip()} {shape.text} and then we went on with what else was to do"


def _parts(secret: str) -> list[str]:
    """Pieces of eight characters: no more than that of a secret may stay."""
    return [secret[at : at + 8] for at in range(max(1, len(secret) - 8))]


@pytest.mark.parametrize("way", SHORTENED)
def test_no_part_of_a_secret_at_the_cut_stays(way: str) -> None:
    for name, shape in LONG.items():
        for before in range(50, 100, 7):
            text = _text(shape, before)
            whole = redact(text)[0]
            kept = redact(SHORTENED[way](text))[0]
            left = [part for part in _parts(shape.secret) if part in kept and part not in whole]
            assert not left, (name, before, kept)


def test_a_text_that_is_short_enough_stays_as_it_is() -> None:
    assert cut("password=" + "q7Wz81mLw9x", 100) == "password=" + "q7Wz81mLw9x"
    assert one_line("a\n b", 10) == "a b"


def test_a_cut_never_leaves_half_of_a_marker() -> None:
    for before in ("alpha " * 5, "a "):  # a blank in the second half, and none
        text = f"{before}password=" + "q7Wz81mLw9x" + " and more words behind it"
        for limit in range(len(before), len(text)):
            kept = cut(text, limit)
            assert kept.count("[") == kept.count("]"), kept
            assert "q7W" not in kept


def test_a_cut_keeps_at_least_half_and_blanks_do_not_count_in_a_line() -> None:
    assert cut("aaaaa " + "b" * 20, 12) == "aaaaa bbbbbb"
    assert len(cut("a " * 6_000, 5_000)) == 4_999
    assert one_line("a" + " " * 7_000 + "b" + " " * 9_000, 1_000) == "a b"


def test_a_secret_far_behind_the_cut_does_not_cost_its_beginning() -> None:
    key = "-----BEGIN RSA " + "PRIVATE KEY-----\n" + "\n".join(["aB3dE5gH7jK9" * 5] * 30)
    assert "aB3d" not in cut(f"This is it: {key}", 300)
    assert "aB3d" not in headline(f"This is the key: <private>{'x ' * 5000} aB3dE5gH7jK9")


def test_a_prompt_and_a_summary_are_cut_without_secrets() -> None:
    secret = "qW77Qsb" + "JiYkXjl3z8"
    for width in range(_WHOLE - 10, _WHOLE + 25, 3):
        words = ("word " * _WHOLE)[:width]
        kept = repr(compaction_fields(f"{words} password={secret} and then" + " more" * 50))
        assert secret[:8] not in kept


@pytest.mark.parametrize("sign", ["…", "...", "***", "xxxx"])
def test_a_value_that_only_ends_with_a_sign_of_omission_is_a_secret(sign: str) -> None:
    secret = "q7Wz" + "81mLw9x"
    for text in (f"password: {secret}{sign}", f'password="{secret}{sign}"', f"pwd={secret}{sign}"):
        assert secret not in redact(text)[0], text


@pytest.mark.parametrize(
    "value",
    ["sk-...", "sk-ant-…", "xxxx", "ab***", "****1234", "…", "xoxb-xxxx-xxxx", "ghp_xxxxxxxx"],
)
def test_a_value_of_signs_of_omission_is_a_placeholder(value: str) -> None:
    assert redact(f'password="{value}"') == (f'password="{value}"', 0)


def test_a_stored_title_has_no_secret() -> None:
    secret = "qW77Qsb" + "JiYkXjl3z8"
    text = (
        "alpha beta gamma delta omega kappa sigma theta lambda zeta eta iota mu"
        f" password={secret} and then more"
    )
    for length in range(60, 130):
        title = headline(text + " words" * 10, length)
        draft = Draft(kind="note", source="test", source_id="1", title=title, text=text)
        assert secret[:6] not in repr(prepare(draft))
