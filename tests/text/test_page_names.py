"""Every way of writing an address names the same page, and different pages keep different names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.text.page_names import doi_name, page_name
from page_variants import DISTINCT, PAGES

VARIANTS = [(url, name) for name, urls in PAGES.items() for url in urls.split()]


def test_the_set_has_two_hundred_addresses() -> None:
    assert len(VARIANTS) + len(DISTINCT.split()) >= 200
    assert len({url for url, _ in VARIANTS}) == len(VARIANTS)


@pytest.mark.parametrize(("url", "name"), VARIANTS)
def test_an_address_names_its_page(url: str, name: str) -> None:
    assert page_name(url) == name


def test_different_pages_have_different_names() -> None:
    names = [*PAGES, *map(page_name, DISTINCT.split())]
    assert "" not in names
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", [*PAGES, *map(page_name, DISTINCT.split())])
def test_a_name_names_itself(name: str) -> None:
    assert page_name(f"https://{name}") == name


@pytest.mark.parametrize(
    "text", ["", "mailto:a@example.org", "http://", "https:///a", "a/b", "//a"]
)
def test_what_is_no_address_of_the_web_has_no_name(text: str) -> None:
    assert page_name(text) == ""


def test_a_doi_alone_names_its_page() -> None:
    assert doi_name("10.1177/0956797620939054") == "doi.org/10.1177/0956797620939054"
    assert doi_name("10.48550/arXiv.2407.02710") == "arxiv.org/abs/2407.02710"
    # https://www.doi.org/the-identifier/resources/handbook, 2.5.2.4: such characters are escaped.
    assert doi_name("10.1002/(SICI)1<1::AID-X>3.0.CO;2-R") == (
        "doi.org/10.1002/(sici)1%3c1::aid-x%3e3.0.co;2-r"
    )


@given(st.text(alphabet=st.sampled_from("ahtp:/.%#?&=;~2Fw中é m-@[]"), max_size=60))
def test_a_name_of_any_text_names_itself(text: str) -> None:
    for url in (text, f"https://{text}"):
        name = page_name(url)
        assert name == "" or page_name(f"https://{name}") == name
