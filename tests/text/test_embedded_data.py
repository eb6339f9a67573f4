"""Pictures and files in a text become their name and size; words stay."""

from __future__ import annotations

import base64
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.text.embedded_data import without_data

BYTES = random.Random(1).randbytes(30_000)
DATA = base64.b64encode(BYTES).decode()
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + BYTES).decode()
WRAPPED = base64.encodebytes(b"\x89PNG\r\n\x1a\n" + BYTES).decode()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"before data:image/png;base64,{DATA} after", "before [picture image/png, 30 kB] after"),
        (f"![lamp](data:image/jpeg;base64,{DATA})", "![lamp]([picture image/jpeg, 30 kB])"),
        (f'"src":"data:image\\/gif;base64,{DATA}"', '"src":"[picture image/gif, 30 kB]"'),
        (f"DATA:IMAGE/PNG;BASE64,{DATA}", "[picture image/png, 30 kB]"),
        (f"data:application/pdf;name=a.pdf;base64,{DATA}.", "[data application/pdf, 30 kB]."),
        (f"data:image/png;base64,{DATA[:-2]}==What?", "[picture image/png, 30 kB]What?"),
        (f"data:;base64,{DATA}", "[data text/plain, 30 kB]"),
        (f"data:image/svg+xml,%3Csvg{'%20a' * 400}", "[picture image/svg+xml, 1 kB]"),
        (f"a {PNG} b", "a [picture image/png, 30 kB] b"),
        (f"a {DATA} b", "a [data base64, 30 kB] b"),
        (f"begin\n{WRAPPED}end", "begin\n[picture image/png, 30 kB]\nend"),
        (f"data:image/png;base64,{WRAPPED}end", "[picture image/png, 30 kB]\nend"),
    ],
)  # fmt: skip
def test_a_file_in_a_text_is_named(text: str, expected: str) -> None:
    assert without_data(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAE",
        "a" * 5000,
        "0123456789abcdef" * 500,
        "lamp/oil/wick/" * 300,
        "the data: " + "word " * 1000,
        "GATTACA" * 1000,
        f"-----BEGIN PRIVATE KEY-----\n{WRAPPED}-----END PRIVATE KEY-----",
        "\n".join(["A line of words that goes on to the end of it 40"] * 50),
    ],
)
def test_what_people_read_stays(text: str) -> None:
    assert without_data(text) == text


@given(st.text(st.sampled_from("dat:image/png;bs64,AZaz09+/=%\n \\"), max_size=3000))
def test_a_second_time_changes_nothing(text: str) -> None:
    once = without_data(text)
    assert without_data(once) == once
