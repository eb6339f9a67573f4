"""Questions in other languages than English, over both stores.

1. A word is found in any of its forms, by a question of one word and by a sentence.
2. Words that say nothing in the language of the question do not count.
3. Words of English do not get stems of other languages; English records rank as without the others.
4. The forms of a word count as one word; the typed form does not count twice.
5. The language of a record is stored, and forgotten when its text is another one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contracts.test_stores_search import STORES
from drafts import draft
from mem_search.model import SearchPage, SearchRequest
from mem_search.text import stems
from mem_search.wiring import Runtime, open_runtime
from runtimes import fill

DRAFTS = (
    draft("de", "Die Rechnung der Werkstatt ist noch nicht bezahlt, aber sie liegt im Ordner."),
    draft("de-many", "Alle Häuser in der Straße haben eine Heizung, die im Winter nicht ausfällt."),
    draft("es", "La factura del taller no está pagada, pero está en la carpeta de los coches."),
    draft("fr", "Les notes de la réunion sont dans le dossier, mais il y a encore des questions."),
    draft("it", "La fattura della officina non è ancora pagata, ma è nella cartella."),
    draft("nl", "De rekening van de garage is nog niet betaald, maar ze ligt in de map."),
    draft("pt", "O contrato da oficina não foi pago, mas está na pasta com as outras coisas."),
    draft("ru", "Договор с мастерской ещё не оплачен, но он лежит в папке, как и был."),
    draft("sv", "Avtalet med verkstaden är inte betalt, men det ligger i mappen."),
    draft("en", "the note says not to pay the workshop; the notes of the meeting are here"),
    draft("en-not", "do not do this, it is not what it seems to be, and not what we want"),
)


@pytest.fixture(params=STORES)
async def runtime(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Runtime]:
    async with open_runtime(STORES[request.param](tmp_path / "home")) as opened:
        await fill(opened, *DRAFTS)
        yield opened


async def search(runtime: Runtime, text: str) -> SearchPage:
    return await runtime.search.service.search(SearchRequest(text, mode="keyword"), "test")


def ids(page: SearchPage) -> list[str]:
    return [result.record.source_id for result in page.results]


async def test_a_word_is_found_in_any_of_its_forms(runtime: Runtime) -> None:
    for question, right in (
        ("Rechnungen", "de"), ("wo sind die Rechnungen der Werkstätten", "de"), ("Haus", "de-many"),
        ("facturas pagadas", "es"), ("¿dónde están las facturas?", "es"), ("réunions", "fr"),
        ("fatture non pagate", "it"), ("rekeningen", "nl"), ("contratos", "pt"),
        ("договорами", "ru"), ("где договоры с мастерскими", "ru"), ("avtalen", "sv"),
    ):  # fmt: skip
        page = await search(runtime, question)
        assert ids(page)[:1] == [right], question
        assert page.report.answerable, question
        assert not any("no record has" in each for each in page.report.notices), question


async def test_words_that_say_nothing_do_not_count(runtime: Runtime) -> None:
    assert ids(await search(runtime, "wo ist das mit der Heizungen")) == ["de-many"]


async def test_english_gets_no_stems_of_other_languages(runtime: Runtime) -> None:
    assert "en-not" not in ids(await search(runtime, "notes"))
    assert ids(await search(runtime, "the notes of the meeting"))[0] == "en"


async def test_the_language_is_stored_with_the_record(runtime: Runtime) -> None:
    page = await runtime.search.service.search(SearchRequest("meta.text_language:de"), "test")
    assert sorted(ids(page)) == ["de", "de-many"]
    await fill(runtime, draft("de", "The invoice of the garage is in the folder."))
    page = await runtime.search.service.search(SearchRequest("meta.text_language:de"), "test")
    assert ids(page) == ["de-many"]


async def test_forms_count_as_one_word(runtime: Runtime) -> None:
    every = "Die {} der Werkstatt ist für alle da, aber nicht im {}."
    forms = (("vertrag", "Vertrag", "Vertrag"), ("verträge", "Verträge", "Verträge"))
    await fill(runtime, *(draft(name, every.format(*words)) for name, *words in forms))
    page = await search(runtime, "Verträge")
    scores = [each.scores["keyword"] for each in page.results]
    assert sorted(ids(page)) == ["vertrag", "verträge"]
    assert max(scores) < 1.2 * min(scores)


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Rechnungen", ""), ("die hard", "en"), ("error in the file", "en"), ("git", ""),
        ("error in file", "en"), ("error in fichero", ""),
        ("die Rechnungen vom März", "de"), ("wie lösche ich Branches", "de"), ("", "en"),
        ("dove sono le fatture", "it"), ("how do I export Rechnungen", "en"),
    ],
)  # fmt: skip
def test_the_language_of_a_question_is_told_where_it_can_be(question: str, language: str) -> None:
    assert stems.question_language(question.lower().split()) == language
    assert language in ("", "en", *stems.SNOWBALL)
