"""Any header gives people; none stops a reader."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mem_search.text.addresses import addresses


def test_people_are_names_and_addresses() -> None:
    assert addresses(["Ann Lee <ann@example.org>, bob@example.org", "Eve (work) <e@x.org>"]) == [
        ("Ann Lee", "ann@example.org"),
        ("", "bob@example.org"),
        ("Eve (work)", "e@x.org"),
    ]


def test_a_name_may_be_an_address() -> None:
    assert addresses(["ann@example.org <ann@example.org>"])[-1] == ("", "ann@example.org")
    assert addresses(["Ann (at home <ann@example.org>"]) != [("", "")]


def test_a_header_of_brackets_is_one_name() -> None:
    header = "a@b " + "(" * 100_000
    assert addresses([header, "c@d"]) == [(header, ""), ("", "c@d")]


@given(st.lists(st.text(alphabet='ab@.,;:<>()[]"\\\\ \n', max_size=60)))
def test_nothing_raises(headers: list[str]) -> None:
    for name, address in addresses(headers):
        assert isinstance(name, str)
        assert isinstance(address, str)
