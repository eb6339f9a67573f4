"""Languages of texts, and stems of their words.

1. Prose of each language is told, also among names in code; English, code and short texts are not.
2. What the index stems as the language does is not indexed twice; words that say nothing are not.
3. Forms of a word have one stem; stems of two languages never meet.
4. No stem is a word that anybody can type.
"""

from __future__ import annotations

import pytest

from mem_search.storage.rules import terms
from mem_search.text import stems

PROSE = {
    "de": "Die Rechnungen der letzten Monate sind im Ordner, aber die Mahnung habe ich nicht.",
    "es": "Las facturas de los últimos meses están en la carpeta, pero no tengo el contrato.",
    "fr": "Les factures des derniers mois sont dans le dossier, mais je n'ai pas le contrat.",
    "it": "Le fatture degli ultimi mesi sono nella cartella, ma non ho il contratto.",
    "nl": "De facturen van de laatste maanden zijn in de map, maar ik heb het contract niet.",
    "pt": "As faturas dos últimos meses estão na pasta, mas eu não tenho o contrato.",
    "ru": "Счета за последние месяцы лежат в папке, но у меня нет этого договора, как и был.",
    "sv": "Fakturorna från de senaste månaderna är i mappen, men jag har inte avtalet.",
}
FORMS = {
    "de": "rechnung rechnungen", "es": "factura facturas", "fr": "contrat contrats",
    "it": "fattura fatture", "nl": "rekening rekeningen", "pt": "contrato contratos",
    "ru": "договор договорами", "sv": "avtal avtalet",
}  # fmt: skip


@pytest.mark.parametrize("language", PROSE)
def test_prose_is_told(language: str) -> None:
    assert stems.language_of(PROSE[language]) == language
    assert stems.language_of(f"`git add --all`\n{PROSE[language]}") == language
    assert stems.language_of(f"{'x = f(y)' * 1000} {PROSE[language] * 100}") == language


@pytest.mark.parametrize(
    "text",
    [
        "", "Rechnungen", "die Rechnung", "The invoices are in the folder, and I have no contract.",
        "def die(self, s, n, d): return a.y + l.m", "请问发票在哪里", "ci/a.sh ci/b.sh ci.yml",
        "The word die is German, der and das are, too, and this is a text about them in English.",
    ],
)  # fmt: skip
def test_english_code_and_short_texts_are_no_other_language(text: str) -> None:
    assert stems.language_of(text) == ""


@pytest.mark.parametrize("language", FORMS)
def test_forms_of_a_word_meet(language: str) -> None:
    one, other = FORMS[language].split()
    for written, asked in ((one, other), (other, one)):
        indexed = {*stems.of_text(written, language).split(), terms.stem(written)}
        wanted = {terms.stem(asked), *stems.of_word(asked, [language])}
        assert not indexed.isdisjoint(wanted), (written, asked)


def test_what_says_nothing_or_has_the_same_term_is_not_indexed_again() -> None:
    assert stems.of_text("die Rechnung mit git und 42", "de") == ""
    assert len(stems.of_text("die Rechnungen", "de").split()) == 1
    assert stems.of_text("die Rechnungen", "") == ""


def test_stems_of_two_languages_never_meet() -> None:
    french, german = (stems.of_word("notes", [each])[0] for each in ("fr", "de"))
    assert french != german
    assert stems.mark("fr") != stems.mark("de")
    assert stems.of_word("договор", ["de", "fr"]) == ()


@pytest.mark.parametrize("language", stems.SNOWBALL)
def test_a_stem_is_one_term_that_nobody_types(language: str) -> None:
    stem, *_ = stems.of_word(FORMS[language].split()[1], [language])
    assert terms.terms_of([stem])[stem] == (stem,)
    assert not stem.isalnum()
    assert terms.terms_of([stems.mark(language)])[stems.mark(language)] == (stems.mark(language),)
