"""Markers of a page that lead to its own list of references become markers that are cited."""

from __future__ import annotations

import pytest

from growth import check_growth
from mem_search.extractors.html import read_page, with_links
from mem_search.text import cites

ONE, TWO = "https://a.org/one", "https://a.org/two"
PROSE = (
    "<p>That is all there is to say about the matter for now, and it is said in many words, with"
    ' <a href="https://a.org/inline">one link</a> among them and no reference at all.</p>'
)


def cited(body: str, references: str) -> tuple[str, dict[str, list[str]]]:
    """The text of a page, and which pages its markers cite."""
    page = (
        f"<!doctype html><html><head><title>Rents</title></head><body><main><h1>Rents</h1>{PROSE}"
        f"{body}{PROSE}<h2>References</h2>{references}</main></body></html>"
    )
    text = read_page(with_links(page)).text
    found: dict[str, list[str]] = {}
    for place in cites.find(text):
        if place.form == "marker":
            found.setdefault(text[place.start : place.end], []).append(place.target)
    return text, found


@pytest.mark.parametrize(
    ("body", "references", "expected"),
    [
        (  # MediaWiki
            '<p>Up.<sup id="ref_1"><a href="#note-1"><span>[</span>1<span>]</span></a></sup>'
            ' Down.<sup id="ref_2"><a href="#note-2">[2]</a></sup></p>',
            f'<ol><li id="note-1"><b><a href="#ref_1">^</a></b> <a href="{ONE}">One</a></li>'
            f'<li id="note-2"><a href="#ref_2">^</a> <a href="{TWO}">Two</a></li></ol>',
            {"[^1]": [ONE], "[^2]": [TWO]},
        ),
        (  # pandoc
            '<p>Up.<a href="#fn1" id="fnref1" role="doc-noteref"><sup>1</sup></a></p>',
            f'<section><ol><li id="fn1"><p>See <a href="{ONE}">One</a>.'
            '<a href="#fnref1">↩︎</a></p></li></ol></section>',
            {"[^1]": [ONE]},
        ),
        (  # paragraphs, and words that stay
            '<p>Up (<a href="#smith">Smith 2020</a>).</p>',
            f'<p id="smith">Smith. <a href="{ONE}">{ONE}</a></p>'
            f'<p>Lee. <a href="{TWO}">Two</a></p>',
            {"[^Smith-2020]": [ONE]},
        ),
        (  # definitions
            '<p>Up <a href="#b1">[Smi20]</a>.</p>',
            f'<dl><dt id="b1">[Smi20]</dt><dd>Smith. <a href="{ONE}">One</a></dd></dl>',
            {"[^Smi20]": [ONE]},
        ),
        (  # an old name, and the same number for two entries
            '<p>Up <a href="#a%201">[1]</a>, down <a href="#b1">[1]</a>.</p>',
            f'<p><a name="a 1"></a>Smith. <a href="{ONE}">One</a></p>'
            f'<div id="b1">Lee. <a href="{TWO}">Two</a></div>',
            {"[^1]": [ONE], "[^1-1]": [TWO]},
        ),
        (  # rows of a table
            '<p>Up <a href="#s2">2</a>.</p>',
            f'<table><tr id="s1"><td>1</td><td><a href="{ONE}">One</a></td></tr>'
            f'<tr id="s2"><td>2</td><td><a href="{TWO}">Two</a></td></tr></table>',
            {"[^2]": [TWO]},
        ),
        (  # no link in the entry, but a DOI
            '<p>Up [<a href="#k1">1</a>].</p>',
            '<ul><li id="k1">Smith. doi:10.1000/xyz</li></ul>',
            {"[^1]": ["https://doi.org/10.1000/xyz"]},
        ),
        (  # a list that has its numbers from the browser
            "<p>Up [2]. Down.<sup>1</sup></p>",
            f'<ol><li><a href="{ONE}">One</a></li><li><p><a href="{TWO}">Two</a></p></li></ol>',
            {"[2]": [TWO], "[1]": [ONE]},
        ),
        (  # which begins elsewhere
            "<p>Up [8].</p>",
            f'<ol start="{"9" * 5000}"><li><a href="{TWO}">x</a></li></ol>'
            f'<ol start="7"><li><a href="{ONE}">One</a></li><li><a href="{TWO}">Two</a></li></ol>',
            {"[8]": [TWO]},
        ),
    ],
)
def test_a_marker_that_leads_to_an_entry_cites_it(
    body: str, references: str, expected: dict[str, list[str]]
) -> None:
    text, found = cited(body, references)
    assert found == expected, text


@pytest.mark.parametrize(
    ("body", "references"),
    [
        (  # a table of contents, a figure, a place further up, a place that is not there
            '<ul><li><a href="#s1">1 Results</a></li></ul><h2 id="s1">1 Results</h2>'
            '<p>See <a href="#fig1">Figure 1</a> and <a href="#none">2</a>.</p>'
            f'<figure id="fig1"><figcaption>By <a href="{ONE}">them</a></figcaption></figure>'
            '<p><a href="#s1">1</a></p>',
            "<p>None.</p>",
        ),
        (  # an entry without a page
            '<p>Up <a href="#k1">1</a>.</p>',
            '<p id="k1">Smith, A book without an address.</p>',
        ),
        (  # a part of the page, with a heading or long
            '<p>Up <a href="#k1">1</a> <a href="#k2">2</a>.</p>',
            f'<div id="k1"><h3>More</h3><a href="{ONE}">One</a></div>'
            f'<div id="k2">{"Words. " * 200}<a href="{ONE}">One</a></div>',
        ),
        (  # a raised number that no entry has, and a power
            "<p>10<sup>9</sup> flats<sup>a</sup>, and 3 m<sup>2</sup>.</p>",
            f'<ol><li><a href="{ONE}">One</a></li></ol>',
        ),
    ],
)
def test_other_links_within_a_page_are_no_markers(body: str, references: str) -> None:
    text, found = cited(body, references)
    assert found == {}, text


def test_a_page_with_many_markers_takes_linear_time() -> None:
    def page(length: int) -> str:
        size = length // 80  # characters of a marker and its entry
        body = "".join(f'<a href="#r{at}">{at}</a> ' for at in range(size))
        entries = "".join(f'<p id="r{at}"><a href="{ONE}">x</a></p>' for at in range(size))
        return f"<html><body><p>{body}</p>{entries}</body></html>"

    check_growth("with_links", with_links, page, (6_000, 60_000, 600_000), 30, 0.03)
