"""The rules of Kingfisher are compiled once, whoever asks first."""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import kingfisher_sdk
import pytest

from mem_search.text import redaction, secret_rules


def test_threads_that_ask_at_once_compile_the_rules_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that compile at once stop each other, and the worker with them, for a second."""
    compiled = []

    class Rules(kingfisher_sdk.Rules):
        def __init__(self, paths: Iterable[Path]) -> None:
            compiled.append(self)
            time.sleep(0)  # let the other threads in
            super().__init__(paths)

    monkeypatch.setattr(kingfisher_sdk, "Rules", Rules)
    secret_rules._loaded.cache_clear()
    with ThreadPoolExecutor(4) as threads:
        for found in threads.map(lambda _: [*secret_rules.spans("no secret")], range(8)):
            assert found == []
    assert len(compiled) == 1


def test_a_store_is_looked_at_again_when_a_file_of_rules_changes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = redaction.rules()
    file = tmp_path / "tokens.toml"
    file.write_text("[[rules]]\n", "utf-8")
    monkeypatch.setattr(secret_rules, "_FILES", (file,))
    for each in (secret_rules.fingerprint, redaction.rules):
        each.cache_clear()
    try:
        assert redaction.rules() != before
    finally:
        monkeypatch.undo()
        for each in (secret_rules.fingerprint, redaction.rules):
            each.cache_clear()
    assert redaction.rules() == before
