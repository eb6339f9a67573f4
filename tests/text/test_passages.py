import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from mem_search.model.records import SUMMARY
from mem_search.text import wordpieces
from mem_search.text.outline import Layout
from mem_search.text.passages import (
    HALF,
    MAX_ABOVE_PIECES,
    SIZE,
    STRIDE,
    cut,
    embedded_texts,
    summary,
)

LONG = " ".join(f"word{i} and more, then some." for i in range(600))


def test_a_short_text_is_one_passage() -> None:
    (passage,) = cut("a short note")
    assert (passage.ordinal, passage.start, passage.end) == (0, 0, 12)


def test_an_empty_text_has_one_empty_passage() -> None:
    (passage,) = cut("")
    assert (passage.start, passage.end) == (0, 0)


def test_long_texts_are_covered_by_overlapping_passages() -> None:
    passages = cut(LONG)
    assert len(passages) > 3
    assert passages[0].start == 0
    assert passages[-1].end == len(LONG)
    for one, next_one in itertools.pairwise(passages):
        assert one.start < next_one.start < one.end < next_one.end
        overlap = wordpieces.count(LONG[next_one.start : one.end])
        assert SIZE - STRIDE - 5 <= overlap <= SIZE - STRIDE + 5


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(codec="utf-8"), max_size=400).map(lambda text: text * 6))
def test_every_character_is_in_a_passage(text: str) -> None:
    covered = 0
    for passage in cut(text):
        assert passage.start <= covered
        covered = max(covered, passage.end)
    assert covered == len(text)


def test_passages_begin_with_a_sentence_where_one_is_near() -> None:
    text = " ".join(f"The boat {n} left at dawn, and its crew of {n} sang." for n in range(400))
    cut_text = cut(text)
    assert len(cut_text) > 3
    assert all(text.startswith("The boat", each.start) for each in cut_text)
    for one, after in itertools.pairwise(cut_text):
        assert one.start < after.start < one.end
    without = cut("harbour " * 2000)
    assert [each.start for each in without[1:3]] == [8 * 350, 8 * 700]


def test_the_model_reads_a_short_passage_whole_with_its_title() -> None:
    assert embedded_texts("Title", "some text") == ("Title\nsome text",)
    assert embedded_texts("", "some text") == ("some text",)


def test_the_model_reads_a_long_passage_as_two_overlapping_halves() -> None:
    passage = cut(LONG)[0]
    text = LONG[passage.start : passage.end]
    first, second = embedded_texts("", text)
    assert text.startswith(first)
    assert text.endswith(second)
    assert len(first) + len(second) > len(text)
    assert max(wordpieces.count(half) for half in (first, second)) <= HALF + 1


SENTENCE = "The keeper trims the wick and fills the lamp with oil. "
HEADED = (
    "# Guide\n\nIt begins.\n\n## Lamps\n\n" + SENTENCE * 25 + "\n\n## Prices\n\n"
    "| name | price |\n|---|---|\n" + "".join(f"| lamp {i} | {i} EUR |\n" for i in range(120))
)  # fmt: skip


def test_a_long_text_is_cut_where_its_sections_begin() -> None:
    passages = cut(HEADED)
    prices = next(each for each in passages if HEADED.startswith("## Prices", each.start))
    assert prices.above == "# Guide\n## Lamps"
    assert passages[prices.ordinal - 1].end == prices.start


def test_rows_have_the_head_of_their_table_above_and_are_not_repeated() -> None:
    rows = [each for each in cut(HEADED) if "| name | price |" in each.above]
    assert len(rows) >= 2
    assert all(each.above == "# Guide\n## Prices\n| name | price |" for each in rows)
    assert all(HEADED[each.start :].startswith("| lamp ") for each in rows)
    for one, after in itertools.pairwise(rows):
        assert one.end == after.start


def test_a_fenced_block_that_fits_is_not_cut() -> None:
    code = "```python\n" + "total = total + price\n\n" * 40 + "```\n"
    text = f"# A\n\n{SENTENCE * 20}\n\n{code}\n{SENTENCE * 20}"
    (whole,) = (each for each in cut(text) if "total" in text[each.start : each.end])
    assert code in text[whole.start : whole.end]


def test_a_passage_does_not_go_beyond_its_page_unless_that_is_short() -> None:
    slides = [f"Slide {n}" if n == 3 else f"Slide {n}. {SENTENCE * 8}" for n in range(1, 9)]
    text = "\f".join(slides)
    passages = cut(text, layout=Layout(has_pages=True))
    assert [each.page for each in passages] == [1, 2, 3, 5, 6, 7, 8]
    assert text[passages[2].start : passages[2].end].startswith("Slide 3\fSlide 4")


def test_recognised_pages_have_passages_of_their_own_even_in_a_short_text() -> None:
    passages = cut("typed\fseen\ftyped", layout=Layout(has_pages=True, recognised=frozenset({2})))
    assert [(each.field, each.page) for each in passages] == [
        ("content", 1), ("ocr", 2), ("content", 3),
    ]  # fmt: skip


def test_turns_stay_whole() -> None:
    turns = [f"{who}: {SENTENCE * 9}".strip() for who in ("you", "it") * 4]
    text = "\n\n".join(turns)
    passages = cut(text, layout=Layout(speakers=("you", "it")))
    assert len(passages) > 2
    assert all(text[each.start :].startswith(("you: ", "it: ")) for each in passages)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "# A\n",
                "## B\n",
                "\n",
                "\f",
                "```\n",
                "a | b\n",
                "x = 1\n",
                "you: hi\n",
                "Über. " * 9,
            ]
        ),
        max_size=60,
    ).map(lambda parts: "".join(parts) * 5),
    st.booleans(),
)
def test_passages_of_structured_texts_cover_them_and_fit_the_model(text: str, code: bool) -> None:
    layout = Layout(True, frozenset({2}), ("you",), is_code=code)
    covered = 0
    for ordinal, each in enumerate(cut(text, layout=layout)):
        assert each.ordinal == ordinal
        assert each.start <= covered
        covered = max(covered, each.end)
        above = wordpieces.count(each.above)
        assert above <= MAX_ABOVE_PIECES
        assert wordpieces.count(text[each.start : each.end]) + above <= SIZE
        halves = embedded_texts("", text[each.start : each.end], each.above)
        assert max(map(wordpieces.count, halves)) <= HALF + 1
    assert covered == len(text)


def test_a_long_text_has_a_summary_of_its_own() -> None:
    first = "The lamp of this lighthouse burns oil. It has done so for a hundred years."
    said = summary(f"# Lamp\n\nDear all,\n\n{first}\n\n{SENTENCE}", "", 3)
    assert said is not None
    text = f"# Lamp\n\nDear all,\n\n{first}\n\n{SENTENCE}"
    assert (said.ordinal, said.field, text[said.start : said.end]) == (SUMMARY, "summary", first)
    assert summary(text, "", 2) is None
    assert summary("short", "", 3) is None


def test_an_abstract_is_the_summary_and_what_is_stated_comes_before_it() -> None:
    abstract = "We measure how much oil each of the nine lamps on this coast burns."
    text = f"Lamps\n\n{SENTENCE * 2}\n\nAbstract\n{abstract}"
    said = summary(text, "", 3)
    assert said is not None
    assert text[said.start : said.end] == abstract
    stated = summary(text, "  About\nlamps. ", 1)
    assert stated is not None
    assert (stated.start, stated.end, stated.above) == (0, 0, "About lamps.")
    assert embedded_texts("Lamps", "", stated.above) == ("Lamps\nAbout lamps.\n",)
    wide = summary("", "燈" * 900, 1)
    assert wide is not None
    assert wordpieces.count(wide.above) <= HALF


def test_a_passage_of_wrapped_text_begins_with_a_sentence_not_with_a_line() -> None:
    sentence = (
        "The keeper walked along the wall of the harbour\nwhile the rain\nfell on the boats. "
    )
    text = sentence * 120
    assert all(text.startswith("The keeper", each.start) for each in cut(text)[1:])


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(codec="ascii"), min_size=300, max_size=600))
def test_a_short_text_is_one_passage_whether_its_pieces_are_counted_or_not(text: str) -> None:
    assert wordpieces.count(text) <= len(text) - text.count(" ")
    assert (len(cut(text)) == 1) == (wordpieces.count(text) <= SIZE)
