"""The main text of pages that are lists."""

from __future__ import annotations

import pytest

from mem_search.extractors.html import read_page
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


POSTS = (
    "Which blade cuts wet oak without tearing its grain, and at which angle is it bedded?",
    "A steep one, at fifty-five degrees, and freshly honed on a fine stone.",
    "Let it dry for a year first: wet oak closes behind every blade that there is.",
)


@pytest.mark.parametrize(
    "post",
    [
        '<div class="Message userContent">{}</div>',
        '<div class="messageText">{}</div>',
        '<div class="postmsg">{}</div>',
        '<td class="t_f" id="postmessage_7">{}</td>',
        '<div component="post/content">{}</div>',
        '<div class="cPost_contentWrap">{}</div>',
        '<div class="comment_text">{}</div>',
        '<div slot="comment">{}</div>',
    ],
)
def test_every_post_of_a_forum_that_calls_its_threads_articles_is_read(post: str) -> None:
    threads = "".join(
        f'<table class="comment"><tr><td>Member {n}</td>{post.format(text)}</tr></table>'
        for n, text in enumerate(POSTS)
    )
    head = '<head><meta property="og:type" content="article"></head>'
    text = main_text(f"<html>{head}<body><ul>{MENU}</ul><h1>Wet oak</h1>{threads}</body></html>")
    assert all(each in text for each in POSTS)
    assert "Menu entry" not in text


def test_comments_below_an_article_are_not_taken_for_it() -> None:
    comments = "".join(f'<div class="comment_text">{each}</div>' for each in POSTS * 20)
    head = '<head><meta property="og:type" content="article"></head>'
    text = main_text(
        f"<html>{head}<body><article><h1>Planes</h1>{PROSE}</article>"
        f'<div id="comments">{comments}</div></body></html>'
    )
    assert "bedded at twelve degrees" in text
    assert POSTS[2] not in text


def test_the_author_of_the_first_post_is_that_of_the_page() -> None:
    posts = "".join(
        f'<div itemprop="{part}"><span itemprop="author"><a><span itemprop="name">{name}</span></a>'
        f'</span><div itemprop="text">{text}</div></div>'
        for part, name, text in (("mainEntity", "oak_newt", POSTS[0]), ("comment", "ash", POSTS[1]))
    )
    assert read_page(page(f"<h1>Wet oak</h1>{posts}")).metadata["author"] == "oak_newt"


def test_a_summary_and_what_it_opens_are_two_lines() -> None:
    words = "The keeper of the outer pier trims the wick before each night of fog. " * 4
    text = read_page(
        page(f"<p>{words}</p><details><summary>Quay</summary>side {words}</details>")
    ).text
    assert "Quay\nside The keeper" in text
