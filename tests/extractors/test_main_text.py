"""The main text of pages that are lists."""

from __future__ import annotations

import pytest

from mem_search.extractors.main_text import main_text

MENU = "".join(f'<li><a href="/m{n}">Menu entry {n}</a></li>' for n in range(8))
PROSE = "<p>" + "A plane cuts wood. Its blade is bedded at twelve degrees. " * 20 + "</p>"


def page(body: str) -> str:
    return f"<html><body><nav><ul>{MENU}</ul></nav><main>{body}</main></body></html>"


def test_a_page_of_links_keeps_them_and_not_its_menu() -> None:
    links = "".join(
        f'<div class="card"><a href="/p{n}">Plane number {n}</a></div>' for n in range(99)
    )
    text = main_text(page(f"<h1>Planes</h1>{PROSE[:700]}</p><div>{links}</div>"))
    assert "Plane number 7" in text
    assert "Menu entry" not in text


@pytest.mark.parametrize("links", [f"<ul>{MENU}</ul>", f"<div>{MENU}</div>"])
def test_a_text_with_a_few_links_does_not(links: str) -> None:
    text = main_text(page(f"<h1>Planes</h1>{PROSE}{links}"))
    assert "bedded at twelve degrees" in text
    assert "Menu entry" not in text
