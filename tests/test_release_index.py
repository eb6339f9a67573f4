"""Whether a name can be published, and that an index here takes and gives a package."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts" / "releasing"))

import index  # noqa: E402

from test_release import load  # noqa: E402


@pytest.mark.parametrize(
    ("one", "other"),
    [("mem-search", "memsearch"), ("mem-search", "Mem_Search"), ("pillow", "P1LL0W")],
)
def test_names_that_an_index_takes_for_one_are_alike(one: str, other: str) -> None:
    assert index.alike(one) == index.alike(other)


def test_other_names_are_not_alike() -> None:
    assert index.alike("mem-search") != index.alike("mem-search-worker")


def test_a_name_is_taken_by_one_that_is_alike_and_not_by_itself() -> None:
    asked: list[str] = []

    def known(name: str) -> bool:
        asked.append(name)
        return True

    assert index.taken("mem-search", known) == ["memsearch"]
    assert asked == ["memsearch"]
    assert index.taken("mem-search", lambda _: False) == []


def test_what_is_published_is_a_version_that_is_committed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main = load()
    assert main.main(["1.2.3", "--publish"]) == 1
    assert "commit and tag" in capsys.readouterr().err
    assert main.main(["--everywhere"]) == 2
