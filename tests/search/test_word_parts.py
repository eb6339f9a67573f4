"""What else stands for a word that few records have.

1. The last word of a question may still be typed: what begins so is found, below the word itself.
2. A word that another begins with is no slip.
3. ``wifi``, ``wi-fi``, ``wi fi`` and ``WiFi`` are one word.
4. A compound is found by its parts.
5. A part that is found is no unknown word: the search has an answer, and the reply says why.
6. A number is one however its digits are grouped.
7. Words that many have, words of a demand, and the end of a written question stay what they are.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contracts.test_stores_search import STORES
from drafts import draft
from mem_search.model import SearchPage, SearchRequest
from mem_search.search import word_parts
from mem_search.wiring import Runtime, open_runtime
from runtimes import fill

DRAFTS = (
    draft("tunnel", "wireguard is set up on the router"),
    draft("registry", "the winreg module reads the registry"),
    draft("flat", "a flat in Lisbon near the river"),
    draft("list", "a list of things to buy"),
    draft("keys", "Halvor Halvorsen sent the keys"),
    draft("heating", "Die Nebenkostenabrechnung kommt im März"),
    draft("doctor", "the physiotherapist on Monday at nine"),
    draft("one", "the wifi in the attic"),
    draft("hyphen", "our Wi-Fi is slow"),
    draft("two", "wi fi for guests"),
    draft("camel", "a new WiFi router"),
    draft("power", "Die Stromrechnung vom Mai"),
    draft("bill", "eine Rechnung vom Amt"),
    draft("repairs", "alte Autoreparaturrechnungen"),
    draft("clinic", "nytt sykehus i byen"),
    draft("lease", "husleiekontrakt for leiligheten"),
    draft("care", "de zorgverzekering van het gezin"),
    draft("school", "folkeskolelærer søges til efteråret"),
    draft("train", "the train to the coast"),
    draft("account", "IBAN DE89 3704 0044 0532 0130 00 of the club"),
    draft("plumber", "pay to GB29NWBK60161331926819 within ten days"),
    draft("customer", "customer 12 345 678, policy VS-2024/0815"),
    draft("sailmaker", "call +49 431 / 555 0199"),
    draft("nineteen", "19 of them"),
    draft("otter", "the otter 🦦 sleeps"),
)


@pytest.fixture(params=STORES)
async def runtime(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Runtime]:
    async with open_runtime(STORES[request.param](tmp_path / "home")) as opened:
        await fill(opened, *DRAFTS)
        yield opened


async def search(runtime: Runtime, text: str, **values: object) -> SearchPage:
    request = SearchRequest(text, **{"mode": "keyword", **values})  # type: ignore[arg-type]
    return await runtime.search.service.search(request, "test")


def ids(page: SearchPage) -> list[str]:
    return [result.record.source_id for result in page.results]


async def test_what_is_being_typed_is_found_and_named(runtime: Runtime) -> None:
    for typed, right, word in (
        ("wiregu", "tunnel", "wireguard"),
        ("the wiregu", "tunnel", "wireguard"),
        ("lisb", "flat", "lisbon"),
        ("nebenk", "heating", "nebenkostenabrechnung"),
        ("physioth", "doctor", "physiotherapist"),
        ("on monday physio", "doctor", "physiotherapist"),
        ("Folkesk", "school", "folkeskolelærer"),
    ):
        page = await search(runtime, typed)
        assert ids(page)[0] == right, typed
        assert page.report.answerable, typed
        last = typed.split()[-1].lower()
        assert f"also looked for: “{word}” for “{last}”" in page.report.notices
        assert (last, (word,)) in page.report.analyzed.near
        assert not page.report.suggestions, typed


async def test_the_word_itself_comes_first(runtime: Runtime) -> None:
    await fill(runtime, draft("halv", "the halvor alone"), draft("more", "Halvorsen " * 5))
    assert ids(await search(runtime, "halvor"))[0] in ("halv", "keys")
    assert ids(await search(runtime, "halvor"))[-1] == "more"


async def test_a_word_that_is_misspelt_is_still_respelt(runtime: Runtime) -> None:
    page = await search(runtime, "wireguadr")
    assert ids(page) == ["tunnel"]
    assert "no record has “wireguadr”; looked for instead: “wireguard”" in page.report.notices


async def test_a_word_is_one_however_it_is_divided(runtime: Runtime) -> None:
    for typed in ("wifi", "wi-fi", "wi fi", "WiFi", "Wi-Fi slow"):
        found = ids(await search(runtime, typed, include_weaker=True))
        assert set(found[:4]) == {"one", "hyphen", "two", "camel"}, typed


async def test_a_number_is_found_however_it_is_grouped(runtime: Runtime) -> None:
    for asked, right in (
        ("DE89370400440532013000", "account"),
        ("de89 37040044 0532013000", "account"),
        ("GB29 NWBK 6016 1331 9268 19", "plumber"),
        ("who gets GB29 NWBK 6016 1331 9268 19", "plumber"),
        ("12345678", "customer"),
        ("12.345.678", "customer"),
        ("VS20240815", "customer"),
        ("+494315550199", "sailmaker"),
        ("431 5550199", "sailmaker"),
    ):
        page = await search(runtime, asked)
        assert ids(page)[:1] == [right], asked
        assert page.report.answerable, asked
    page = await search(runtime, "12345679")
    assert page.results == ()
    (notice,) = (await search(runtime, "12345678")).report.notices
    assert notice == "also looked for: “12 345 678” for “12345678”"


async def test_a_compound_is_found_by_its_parts_below_the_word_itself(runtime: Runtime) -> None:
    page = await search(runtime, "rechnung")
    assert ids(page)[0] == "bill"
    assert set(ids(page)) == {"bill", "power", "repairs", "heating"}
    for part, right in (
        ("strom", "power"), ("strom mai", "power"), ("kontrakt", "lease"), ("husleie", "lease"),
        ("verzekering", "care"), ("lærer", "school"), ("zorg", "care"),
        ("kostenabrechnung", "heating"),
    ):  # fmt: skip
        page = await search(runtime, part)
        assert (ids(page)[:1], page.report.answerable) == ([right], True), part


async def test_an_english_word_that_ends_another_by_chance_is_no_part_of_it(
    runtime: Runtime,
) -> None:
    for typed in ("rain on the way", "outer ring road"):
        assert "train" not in ids(await search(runtime, typed))[:1], typed


async def test_words_of_a_demand_and_of_a_finished_question_stay_what_they_are(
    runtime: Runtime,
) -> None:
    for typed in ("+wiregu", "-wiregu keys", "wire "):
        page = await search(runtime, typed)
        assert not [each for each in page.report.notices if "also looked for" in each], typed


async def test_a_word_that_many_have_is_asked_for_as_it_is(runtime: Runtime) -> None:
    many = (
        draft(f"m{at}", f"the port number {at}") for at in range(word_parts.MIN_COMMON_PASSAGES)
    )
    await fill(runtime, *many, draft("rest", "portability of the code"))
    page = await search(runtime, "port", limit=40)
    assert "rest" not in ids(page)
    assert not page.report.notices


async def test_what_is_written_later_is_found_and_what_is_forgotten_is_not(
    runtime: Runtime,
) -> None:
    assert "also" not in "".join((await search(runtime, "steuer")).report.notices)
    await fill(runtime, draft("tax", "Die Grunderwerbsteuer ist fällig"))
    assert ids(await search(runtime, "steuer")) == ["tax"]
    (found,) = (await search(runtime, "steuer")).results
    await runtime.ingest.forgetting.forget([found.record.number])
    assert ids(await search(runtime, "steuer")) == []


@pytest.mark.parametrize(("sign", "ids"), [("🦦", ["otter"]), ("🦄", [])])
async def test_a_question_of_signs_alone_finds_what_has_them_or_nothing(
    runtime: Runtime, sign: str, ids: list[str]
) -> None:
    found = await runtime.search.pipeline.search(SearchRequest(text=sign))
    assert [each.record.source_id for each in found.results] == ids
    assert found.total == len(ids)
