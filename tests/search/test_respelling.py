"""A word that the store does not have is looked for as the near ones that it has.

1. The near word is looked for in every leg, and the reply names it.
2. Known words, words of an expression, and what is near nothing stay what they are.
3. Beside words that find something a short word, and one with another first letter, is no slip.
4. Where nothing else is found an ordinary word is a slip, and a compound is its two halves.
5. What only has a guessed word is below all that has a typed one.
6. Pages, filters, highlights and suggestions have the near word.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from drafts import draft
from mem_search.model import Filters, SearchPage, SearchRequest
from mem_search.wiring import Runtime
from runtimes import fill, pages

DRAFTS = (
    draft("both", "flutter of a wing at high speed", title="Wing flutter"),
    draft("wing", "the wing in a tunnel", title="Tunnels", project="web"),
    draft("flutter", "flutter of panels", title="Panels"),
    draft("thrust", "thrust of jets and their noise", title="Jets"),
    draft("again", "jets with more thrust", title="Nozzles"),
    draft("single", "ailerons", title="Surfaces"),
)


async def search(runtime: Runtime, text: str, **values: object) -> SearchPage:
    await fill(runtime, *DRAFTS)
    request = SearchRequest(text, **{"mode": "keyword", **values})  # type: ignore[arg-type]
    return await runtime.search.service.search(request, "test")


def ids(page: SearchPage) -> list[str]:
    return [result.record.source_id for result in page.results]


@pytest.mark.parametrize(
    ("text", "first", "said"),
    [
        ("wnig fluter", "both", "no record has “wnig” or “fluter”; looked for instead: "
                                "“wing”, “flutter”"),
        ("wing fluter", "both", "no record has “fluter”; looked for instead: “flutter”"),
        ("PANELS Fluter", "flutter", "no record has “fluter”; looked for instead: “flutter”"),
        ("aileronss", "single", "no record has “aileronss”; looked for instead: “ailerons”"),
        ("the wnig", "wing", "no record has “wnig”; looked for instead: “wing”"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("mode", ["keyword", "vector", "hybrid"])
async def test_the_near_word_is_looked_for_and_named(
    runtime: Runtime, text: str, first: str, said: str, mode: str
) -> None:
    page = await search(runtime, text, mode=mode)
    assert first in ids(page)[:2]
    assert said in page.report.notices
    assert dict(page.report.analyzed.near)


@pytest.mark.parametrize("mode", ["keyword", "vector"])
@pytest.mark.parametrize(
    "text",
    [
        "wing flutter",  # known
        "trust of jets",  # a word of its own, not thrust
        "+fluter wing",  # an operator asks for exactly this
        "wing -fluter",
        "fluter~ wing",  # the query language has found the near words
        "zzqqxxyy jets",  # near nothing
        "jets wig",  # too short to be a slip beside words that find something
        "jets xing",  # another first letter
        "jets 12345",
    ],
)
async def test_other_words_stay_what_they_are(runtime: Runtime, text: str, mode: str) -> None:
    page = await search(runtime, text, mode=mode)
    assert not [notice for notice in page.report.notices if "looked for instead" in notice]


async def test_a_slip_means_what_the_word_means(runtime: Runtime) -> None:
    slip = await search(runtime, "noise of jets and their thurst", mode="vector")
    word = await search(runtime, "noise of jets and their thrust", mode="vector")
    assert ids(slip) == ids(word)


async def test_an_ordinary_word_is_no_slip_but_another_is_offered(runtime: Runtime) -> None:
    page = await search(runtime, "trust")
    assert (ids(page), page.report.suggestions) == ([], ("thrust",))


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
async def test_what_only_has_a_guessed_word_is_below_all_that_has_a_typed_one(
    runtime: Runtime, mode: str
) -> None:
    # The guessed word is rare and the typed one common, so that scores alone say otherwise.
    await fill(runtime, *(draft(f"o{place}", f"a wing, number {place}") for place in range(12)))
    page = await search(runtime, "wing fluter", limit=50, mode=mode, include_weaker=True)
    found = ids(page)
    assert found[0] == "both"
    last_typed = max(place for place, each in enumerate(found) if each[0] in "owb")
    assert found.index("flutter") > last_typed
    scores = [result.score for result in page.results]
    assert scores == sorted(scores, reverse=True)


async def test_a_question_without_typed_words_keeps_its_order(runtime: Runtime) -> None:
    assert ids(await search(runtime, "wnig fluter"))[0] == "both"


async def test_pages_go_on_and_filters_hold(runtime: Runtime) -> None:
    page = await search(runtime, "wing fluter", limit=2)
    found = [hit for each in await pages(runtime.search.pipeline, page.request)
             for hit in ids(each)]  # fmt: skip
    assert sorted(found) == ["both", "flutter", "wing"]
    filters = Filters(project="web")
    page = await runtime.search.service.search(replace(page.request, filters=filters), "test")
    assert ids(page) == ["wing"]


async def test_highlights_and_suggestions_have_the_near_word(runtime: Runtime) -> None:
    page = await search(runtime, "fluter")
    assert page.report.suggestions == ("flutter",)
    assert all("flutter" in result.snippet.text for result in page.results)


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
async def test_a_misspelt_person_is_found_by_the_name_that_only_metadata_has(
    runtime: Runtime, mode: str
) -> None:
    for place, sender in enumerate(("Ana Schmidt", "Ana Schmidt", "Bo Larsen")):
        await fill(
            runtime,
            draft(f"m{place}", f"the lease of {place}", kind="email", metadata={"from": sender}),
        )
    page = await search(runtime, "schmitd lease", mode=mode)
    assert set(ids(page)[:2]) == {"m0", "m1"}
    assert "no record has “schmitd”; looked for instead: “schmidt”" in page.report.notices


@pytest.mark.parametrize("mode", ["keyword", "vector", "hybrid"])
@pytest.mark.parametrize(
    ("text", "halves"),
    [
        ("Stromrechnung", "“strom”, “rechnung”"),
        ("Familienfeier", "“familie”, “feier”"),
    ],
)
async def test_a_compound_that_no_record_has_is_looked_for_as_its_halves(
    runtime: Runtime, text: str, halves: str, mode: str
) -> None:
    await fill(
        runtime,
        draft("bill", "Ihre Rechnung für Strom, und eine Feier der Familie", title="Post"),
        draft("other", "Die Rechnung der Werkstatt, und eine Feier", title="Werkstatt"),
    )
    page = await search(runtime, text, mode=mode)
    assert ids(page)[0] == "bill"
    said = f"no record has “{text.lower()}”; looked for instead: {halves}"
    assert said in page.report.notices


async def test_beside_a_word_that_finds_something_a_compound_is_left_alone(
    runtime: Runtime,
) -> None:
    await fill(runtime, draft("bill", "Ihre Rechnung für Strom", title="Post"))
    page = await search(runtime, "wing Stromrechnung")
    assert "bill" not in ids(page)


async def test_words_of_every_german_text_are_no_slips(runtime: Runtime) -> None:
    await fill(runtime, draft("view", "the view of a wing"), draft("views", "another view"))
    page = await search(runtime, "wie viel wing")
    assert not [notice for notice in page.report.notices if "looked for instead" in notice]
