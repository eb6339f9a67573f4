"""Where a Markdown text is code."""

from __future__ import annotations

import pytest

from mem_search.text.markdown_code import CodeSpans


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a `x` x", "x"),
        ("a ``x ` x`` b", "xx"),
        ("a `x\n\nx` x", ""),
        ("a `x and ```x", ""),
        ("```sh\nx\n```\nx", "x"),
        ("````\nx\n```\nx\n````\nx", "xx"),
        ("~~~ a`b\nx\n```\nx", "xx"),
        ("> ```\n> x\n> ```\n> x", "x"),
        ("- ```\n  x\n  ```\n- x", "x"),
        ("``` x``` x\nx", "x"),
        ("    x\n- a\n    - x", ""),
    ],
)
def test_code_is_found(text: str, code: str) -> None:
    spans = CodeSpans(text)
    assert (
        "".join(letter for at, letter in enumerate(text) if letter == "x" and at in spans) == code
    )
