"""Questions in German, French and Spanish: their times, kinds and senders."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from mem_search.records.registry import installed_kinds
from mem_search.text.languages import LANGUAGES, foreign_times
from mem_search.text.plain_words import find
from mem_search.text.question_times import find_times

NOW = datetime(2025, 11, 20, 12, tzinfo=UTC)
KNOWN = installed_kinds().vocabulary


@pytest.mark.parametrize(
    ("text", "phrase", "days"),
    [
        ("E-Mails von Ilse letzte Woche", "letzte Woche", "Nov 10-16"),
        ("Rechnung vom 3. Mai 2024", "vom 3. Mai 2024", "May 3, 2024"),
        ("Brief am 03.05.2024", "am 03.05.2024", "May 3, 2024"),
        ("Mails zwischen März und Mai 2024", "zwischen März und Mai 2024", "Mar 1-May 31, 2024"),
        ("Fotos in den letzten zwei Wochen", "in den letzten zwei Wochen", "Nov 6-20"),
        ("was haben wir gestern über den Garten gesagt", "gestern", "Nov 19"),
        ("la facture d'octobre 2024", "d'octobre 2024", "Oct 1-31, 2024"),
        ("courriel de Claire la semaine dernière", "la semaine dernière", "Nov 10-16"),
        ("courrier reçu hier", "hier", "Nov 19"),
        ("courriel de Claire il y a deux jours", "il y a deux jours", "Nov 18"),
        ("factura de octubre de 2024", "de octubre de 2024", "Oct 1-31, 2024"),
        ("correo de Tomás del mes pasado", "del mes pasado", "Oct 1-31"),
        ("nota de hace tres días", "de hace tres días", "Nov 17"),
    ],
)
def test_a_time_is_read_in_its_language(text: str, phrase: str, days: str) -> None:
    times = find_times(text, NOW, UTC)
    assert times is not None
    assert [(each.phrase, each.read_as) for each in times.dates] == [(phrase, days)]
    assert phrase not in times.rest


@pytest.mark.parametrize(
    "text",
    [
        "was haben wir gestern gemacht",
        "woran habe ich letzte Woche gearbeitet",
        "was ist gestern passiert?",
        "qu'est-ce qu'on a fait hier",
        "qu'avons-nous fait la semaine dernière ?",
        "¿qué hicimos ayer?",
        "qué pasó la semana pasada",
    ],
)
def test_a_question_that_is_only_a_time_asks_for_all_from_then(text: str) -> None:
    times = find_times(text, NOW, UTC)
    assert times is not None
    assert times.alone


@pytest.mark.parametrize(
    "text",
    [
        "Mails von 2024 Nutzern",
        "facture de 2024 personnes",
        "die Datei liegt hier",
        'der Film "letzte Woche"',
        "Rechnung fällig letzte Woche",
        "the la_semana.py module",
        "nächste Woche im Büro",
    ],
)
def test_what_is_no_past_time_stays_words(text: str) -> None:
    assert find_times(text, NOW, UTC) is None


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("E-Mails von Ilse", ["kind:email", "from Ilse"]),
        ("zeig mir alle Mails von Tante Greta", ["kind:email", "from Tante Greta"]),
        ("gescannter Brief von der Versicherung", ["filetype:scan", "from Versicherung"]),
        ("die Rechnung, die Ilse mir geschickt hat", ["from Ilse"]),
        ("was hat Ilse über den Garten geschrieben", ["from Ilse"]),
        ("courriels d'Anna sur l'appartement", ["kind:email", "from Anna"]),
        ("la facture que Claire a envoyée", ["from Claire"]),
        ("courriel de Claire avec une pièce jointe", ["kind:email", "from Claire",
                                                      "has:attachment"]),
        ("correos de Tomás con adjuntos", ["kind:email", "from Tomás", "has:attachment"]),
        ("la factura que me envió Tomás", ["from Tomás"]),
    ],
)  # fmt: skip
def test_kinds_and_senders_are_read_in_each_language(text: str, read: list[str]) -> None:
    found = find(text, KNOWN)
    assert [" ".join((each.field, *each.names[:1])) for each in found] == read


def test_every_form_of_a_language_is_a_date_in_english() -> None:
    places = {"MONTH": "months", "WEEKDAY": "weekdays", "COUNT": "counts"}
    for language in LANGUAGES:
        if (times := language.times) is None:
            continue
        for name in places.values():
            for word in getattr(times, name).replace("|", " ").split():
                before = next(iter(times.prefixes))
                told = [*foreign_times(f"{before} {word}")] or name == "counts"
                assert told, (word, name)
