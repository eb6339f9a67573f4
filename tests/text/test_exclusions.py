"""What a question leaves out in words, and where the negation itself is what is asked."""

from __future__ import annotations

import pytest

from mem_search.text import exclusions


@pytest.mark.parametrize(
    ("text", "left_out"),
    [
        ("gitignore bugs not about windows", [("windows",)]),
        ("documentation changes other than the readme", [("readme",)]),
        ("performance work without regex", [("regex",)]),
        ("docstring fixes, not about tests", [("tests",)]),
        ("changes of the image, not the workflow", [("workflow",)]),
        ("letters from the bank but not about interest", [("interest",)]),
        ("everything except tests and docs", [("tests",), ("docs",)]),
        ("worktree fixes apart from merge commits", [("merge", "commits")]),
        ("Änderungen am Cache ohne Redis", [("redis",)]),
        ("Rechnungen, nicht von Vogt", [("vogt",)]),
        ("alle Notizen außer Rezepte", [("rezepte",)]),
        ("corrections du serveur sauf docker", [("docker",)]),
        ("cambios de la caché sin redis", [("redis",)]),
        ("errori del server senza windows", [("windows",)]),
        ("wijzigingen aan de cache zonder redis", [("redis",)]),
    ],
)
def test_a_question_for_a_list_leaves_something_out(
    text: str, left_out: list[tuple[str, ...]]
) -> None:
    assert [each.names[1:] for each in exclusions.find(text)] == left_out


@pytest.mark.parametrize(
    "text",
    [
        "why does it not start",
        "run the worker without a lock",
        "without a magic trailing comma",
        "how do I format without changing quotes",
        "do not replace NUL bytes",
        "notes of Doctors Without Borders",
        'errors that say "without redis"',
        "Python 3.11 is now supported, except for the daemon",
        "Force one blank line after imports, except when the line is a comment",
        "session not found when saving",
    ],
)
def test_nothing_is_left_out_where_the_negation_is_what_is_asked(text: str) -> None:
    assert not list(exclusions.find(text))
