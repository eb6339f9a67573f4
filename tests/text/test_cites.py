"""What a report cites, where, and in which words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_search.text import cites
from mem_search.text.cites import Cite


def targets(text: str) -> list[str]:
    return [cite.target for cite in cites.find(text)]


def only(text: str) -> Cite:
    (cite,) = cites.find(text)
    return cite


def context(text: str, cite: Cite) -> str:
    return text[cite.context_start : cite.context_end]


def test_a_link_is_cited_with_its_sentence_and_its_span() -> None:
    text = "Ferries run late. The tunnel [opened in May](https://a.org/x 'T') at last. It is long."
    cite = only(text)
    assert (cite.target, cite.form) == ("https://a.org/x", "link")
    assert text[cite.start : cite.end] == "[opened in May](https://a.org/x 'T')"
    assert context(text, cite) == "The tunnel [opened in May](https://a.org/x 'T') at last."


def test_addresses_keep_the_brackets_that_they_open() -> None:
    assert targets("See [Matter](https://en.wikipedia.org/wiki/Matter_(standard)).") == [
        "https://en.wikipedia.org/wiki/Matter_(standard)"
    ]
    assert targets("(see https://en.wikipedia.org/wiki/Matter_(standard)), and so on") == [
        "https://en.wikipedia.org/wiki/Matter_(standard)"
    ]
    assert targets(
        "the [saints](https://a.org/wiki/List_of_Athena's_Saints) and 'https://a.org/b'"
    ) == [
        "https://a.org/wiki/List_of_Athena's_Saints",
        "https://a.org/b",
    ]


def test_bare_addresses_end_where_the_sentence_goes_on() -> None:
    assert targets(
        "https://a.org/1, https://a.org/2. <https://a.org/3> **https://a.org/4** | https://a.org/5"
    ) == [f"https://a.org/{number}" for number in range(1, 6)]
    assert targets("https://a.org/1,https://a.org/2;https://a.org/3") == [
        "https://a.org/1", "https://a.org/2", "https://a.org/3",
    ]  # fmt: skip
    assert targets("见https://a.org/1。另见（https://a.org/2），以及https://a.org/3详情") == [
        "https://a.org/1", "https://a.org/2", "https://a.org/3",
    ]  # fmt: skip
    assert targets("https://zh.wikipedia.org/wiki/人口老化") == [
        "https://zh.wikipedia.org/wiki/人口老化"
    ]


def test_addresses_end_at_the_marks_of_other_scripts() -> None:
    for text in (
        "انظر https://a.org/x، ثم",
        "انظر https://a.org/x؟",
        "दूसरा https://a.org/x। और",
        "«https://a.org/x», ‹https://a.org/x›",
        "https://a.org/x։ https://a.org/x\u200b",
        "ดูที่ https://a.org/xค่ะ",
        "https://a.org/x። https://a.org/x׃",
    ):
        assert set(targets(text)) == {"https://a.org/x"}, text
    assert targets("https://th.wikipedia.org/wiki/กรุงเทพ") == [
        "https://th.wikipedia.org/wiki/กรุงเทพ"
    ]


def test_a_sentence_ends_with_the_marks_of_its_script() -> None:
    text = "किराया बढ़ा। वेतन नहीं [1]। अंत।\n\n[1] https://a.org/x"
    assert context(text, cites.find(text)[0]) == "वेतन नहीं [1]।"


def test_the_words_of_a_link_are_not_a_second_citation() -> None:
    assert targets("[https://a.org/a-long-pa…](https://a.org/a-long-path)") == [
        "https://a.org/a-long-path"
    ]
    assert targets("[![badge](https://img.org/b.svg)](https://a.org/x)") == ["https://a.org/x"]


def test_images_code_and_this_machine_are_not_cited() -> None:
    text = """
![chart](https://a.org/chart.png)

```sh
curl https://api.a.org/v1
```

The server listens on http://localhost:8080/ and http://127.0.0.1:9/.
"""
    assert targets(text) == []


def test_a_marker_cites_what_its_entry_names() -> None:
    text = """Rents rose by 4 %. [1] Wages did not [2, 3]. Both fell later.

References

[1] https://a.org/rents - Rents in 2024
[2] Wages. https://a.org/wages
[3]: https://a.org/pay "Pay"
"""
    found = [(c.form, c.target, context(text, c)) for c in cites.find(text)]
    assert found[:3] == [
        ("marker", "https://a.org/rents", "Rents rose by 4 %. [1]"),
        ("marker", "https://a.org/pay", "Wages did not [2, 3]."),
        ("marker", "https://a.org/wages", "Wages did not [2, 3]."),
    ]
    assert found[3:] == [
        ("entry", "https://a.org/rents", "[1] https://a.org/rents - Rents in 2024"),
        ("entry", "https://a.org/wages", "[2] Wages. https://a.org/wages"),
        ("entry", "https://a.org/pay", '[3]: https://a.org/pay "Pay"'),
    ]


RANGES = """A claim [1-3]. Another<sup>2</sup>. A third[^n]. A [fourth][site].

[^n]: As in https://a.org/note.
[site]: <https://a.org/site>

## 参考文献
1. 甲 https://a.org/1
2. 乙 https://a.org/2
3. 丙 https://a.org/3
"""
PLACES = "Rents rose【12†source】【3†L5-L9】.\n\n[12] https://a.org/12\n[3] https://a.org/3"
ROWS = "Up [1], down [2].\n\n| [1] | Rents | https://a.org/1 |\n| [2] | Pay | https://a.org/2 |"
JOINED = "One [1].\n\n[1] https://a.org/a\n\n# Part two\n\nTwo [1].\n\n[1] https://a.org/b\n"


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        pytest.param(RANGES, "1 2 3 2 note site", id="ranges, footnotes, raised, named ones"),
        pytest.param(PLACES, "12 3", id="markers with a place in their source"),
        pytest.param(ROWS, "1 2", id="rows of a table are entries"),
        pytest.param(JOINED, "a b", id="a joined text has a list for each part"),
    ],
)
def test_markers_cite_what_the_list_of_references_has_for_them(text: str, marked: str) -> None:
    found = [cite.target for cite in cites.find(text) if cite.form == "marker"]
    assert found == [f"https://a.org/{name}" for name in marked.split()]


def test_lists_of_references_in_other_languages_have_entries() -> None:
    for heading in ("参考文献：", "**Quellen**", "## Références", "Bibliografía", "出典:",
                    "### 7. Works Cited", "Источники", "참고 문헌"):  # fmt: skip
        text = f"Text.\n\n{heading}\n\n- Autor, Titel. https://a.org/x\n"
        assert only(text).form == "entry", heading


def test_a_dash_outside_a_list_of_references_is_no_entry() -> None:
    assert only("# News\n\n- The bridge opened: https://a.org/x\n").form == "url"
    assert only("## References\n\n## Results\n\n1. It opened https://a.org/x\n").form == "url"


def test_dois_and_papers_of_arxiv_are_cited() -> None:
    assert targets("doi:10.1177/0956797620939054. See DOI 10.1000/xyz(2)123; and (10.1000/a).") == [
        "https://doi.org/10.1177/0956797620939054",
        "https://doi.org/10.1000/xyz(2)123",
        "https://doi.org/10.1000/a",
    ]
    assert targets("arXiv:2407.02710v2 and arXiv: hep-th/9901001") == [
        "https://arxiv.org/abs/2407.02710",
        "https://arxiv.org/abs/hep-th/9901001",
    ]
    assert targets("version 10.1234/ and 110.1000/x, https://a.org/10.1000/x") == [
        "https://a.org/10.1000/x"
    ]


def test_anchors_of_html_are_cited() -> None:
    text = 'The <a class="x" href="https://a.org/x?a=1&amp;b=2" rel=n>tunnel</a> opened.'
    cite = only(text)
    assert (cite.form, cite.target) == ("anchor", "https://a.org/x?a=1&amp;b=2")
    assert text[cite.start : cite.end].endswith("tunnel</a>")


def test_a_context_is_one_sentence_of_a_wrapped_paragraph() -> None:
    text = "It rained. The river\nrose by two\nmetres [1] in a day.\nNobody left.\n\n[1] https://a.org/x\n"
    first = cites.find(text)[0]
    assert context(text, first) == "The river\nrose by two\nmetres [1] in a day."


def test_there_is_a_limit() -> None:
    assert len(cites.find("https://a.org/x\n" * (cites.MAX_PLACES + 10))) == cites.MAX_PLACES


@given(
    st.lists(
        st.sampled_from(
            ["[1]", "[^a]", "(", ")", "](", "[", "https://a.org/x", "\n\n", "\n", ". ", "word",
             "References\n", "[1] ", "10.1000/x", "```\n", "<a href=", ">", "</a>", "。", "- "]
        ),
        max_size=40,
    ).map("".join)
)  # fmt: skip
def test_spans_lie_in_the_text_and_contexts_around_them(text: str) -> None:
    for cite in cites.find(text):
        assert 0 <= cite.context_start <= cite.start < cite.end <= cite.context_end <= len(text)
        assert cite.context_end - cite.context_start <= 4 * cites.CONTEXT


def test_an_author_and_a_year_cite_what_the_list_names_for_them() -> None:
    text = (
        "Rents rose (Smith, 2020; Núñez & Lee, 2019a). O’Hara et al. (2018) doubt it, Brown (2020)"
        " too, and Smith’s 2021 book.\n\n"
        "## References\n\n"
        "Smith, J., & Doe, A. (2020). Rents. https://a.org/rents\n\n"
        "- Núñez, M. and Lee, B. (2019a) Wages. Available at: https://b.org/wages\n"
        "3. O’Hara, C., Roe, D. 2018. *Doubts*. https://doi.org/10.1000/doubts\n\n"
        "Brown, E. (2020). A book without an address.\n"
    )
    named = {
        (text[cite.start : cite.end], cite.target)
        for cite in cites.find(text)
        if cite.form == "marker"
    }
    assert named == {
        ("Smith, 2020", "https://a.org/rents"),
        ("Núñez & Lee, 2019a", "https://b.org/wages"),
        ("O’Hara et al. (2018", "https://doi.org/10.1000/doubts"),
    }
    contexts = {text[c.context_start : c.context_end] for c in cites.find(text)}
    assert "Rents rose (Smith, 2020; Núñez & Lee, 2019a)." in contexts


def test_a_year_after_a_name_that_no_entry_has_cites_nothing() -> None:
    text = (
        "In Paris 2024 and May 2020 all went well.\n\n# References\n\nSmith 2020 https://a.org/x\n"
    )
    assert [cite.form for cite in cites.find(text)] == ["url"]
