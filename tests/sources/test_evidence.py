"""What a prompt asks for, and the type of a step, by classes of evidence in order of strength."""

from __future__ import annotations

import pytest

from mem_search.sources.agent_work.evidence import error_line, requested_change, type_of_change

ASKED = {
    "bugfix": [
        "The export crashes when the name has an umlaut",
        "upload stops working after 10 minutes",
        "Emails are sent twice",
        "the total is off by one cent",
        "Der Export stürzt bei leeren Feldern ab",
        "Die Suche findet nichts mehr, woran liegt das? Sie geht seit gestern nicht",
        "Le bouton ne marche plus sur mobile",
        "La página no carga en Safari",
        "hay un fallo al guardar",
    ],
    "refactor": [
        "rename Invoice.total to amount_due everywhere",
        "pull the retry logic out into one function",
        "split this file up",
        "Bitte den Parser in zwei Module aufteilen",
        "Räum die Importe auf",
        "Extrais la validation dans une classe à part",
        "Separa la lógica de impuestos del controlador",
    ],
    "feature": [
        "users want to export as CSV",
        "let people undo a deletion",
        "make the import faster",
        "Wir brauchen eine Filterung nach Datum",
        "Ajoute un mode sombre",
        "Añade paginación al listado",
        "Aggiungi un pulsante per esportare",
    ],
    "change": [
        "bump node to 22",
        "update the readme",
        "Spring Boot bitte auf 3.4",
        "Mets à jour Django en 5.1",
        "Sube Rails a la 8.0",
    ],
    "": ["how does the cache decide what to evict?", "thanks", "commit", "ok"],
}


@pytest.mark.parametrize(
    ("prompt", "wanted"), [(prompt, name) for name, all_ in ASKED.items() for prompt in all_]
)
def test_a_prompt_says_what_it_asks_for(prompt: str, wanted: str) -> None:
    assert requested_change(prompt) == wanted


def test_a_prompt_that_chooses_complains_of_nothing() -> None:
    prompt = "Agreed, but make it fail. A wrong number is worse than none."
    assert requested_change(prompt) == "bugfix"
    assert requested_change(prompt, chooses=True) == ""


def step(*modified: str, said: str = "", request: str = "", **known: bool) -> str:
    evidence = dict.fromkeys(("repairing", "mended", "tidied", "created"), False) | known
    return type_of_change([said], modified, request=request, **evidence)


def test_what_programs_said_counts_more_than_words() -> None:
    assert step("a.py", request="feature", mended=True) == "bugfix"
    assert step("tests/test_a.py", request="feature", mended=True) == "bugfix"
    assert step("a.py", said="I'll fix the bug.", tidied=True) == "bugfix"
    assert step("a.py", tidied=True) == "refactor"


def test_the_sort_of_the_files_counts_more_than_the_prompt() -> None:
    assert step("README.md", request="bugfix") == "change"
    assert step("tests/test_a.py", request="feature", said="The old name was wrong.") == "change"
    assert step("tests/test_a.py", repairing=True) == "bugfix"


def test_settings_are_what_the_prompt_asked_for_or_what_is_new_in_them() -> None:
    assert step("ci.yml") == "change"
    assert step("ci.yml", created=True) == "feature"
    assert [step("ci.yml", request=each) for each in ("bugfix", "refactor")] == [
        "bugfix", "refactor",
    ]  # fmt: skip


def test_code_that_changes_without_another_sign_is_a_feature() -> None:
    assert step("a.py") == "feature"
    assert step("a.py", request="change") == "change"
    assert step("a.py", said="The root cause is a missing lock.") == "bugfix"
    assert step("a.py", said="Both can share one module; let me simplify.") == "refactor"


TELLING = [
    "e: file:///src/Boot.kt:17:9 Unresolved reference: go",
    "    bus_test.go:31: expected 3, got 4",
    "src/useSync.ts(18,22): error TS2345: Argument of type 'x' is not assignable",
    "main.c:4:5: error: expected ';' before 'return'",
    "Program.cs(3,5): error CS1002: ; expected",
    "app.py:3: error: Incompatible return value type",
    "│ Error: Unsupported argument",
    "Error from server (NotFound): deployments.apps not found",
    "     Failure/Error: expect(vat).to eq 0.07",
    "Failed asserting that 3 matches expected 4.",
    "assertion `left == right` failed",
    "npm ERR! 404 Not Found - GET /left-pad",
    "PHP Fatal error:  Uncaught TypeError in x.php",
    "ERROR:  relation events does not exist",
]


@pytest.mark.parametrize("line", TELLING)
def test_the_telling_line_of_a_failure_is_found_among_those_that_count(line: str) -> None:
    output = f"> Task :compile\n\n{line}\n\nFAIL\nexit status 1\nBUILD FAILED in 9s"
    assert error_line(output) == " ".join(line.split())


def test_without_a_telling_line_the_last_one_that_says_something_counts() -> None:
    assert error_line("reading\nno such key\nFAIL") == "no such key"
    assert error_line("FAIL") == "FAIL"
