"""A setting string becomes an embedder, or an error that says what to write instead."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from pathlib import Path

import pytest

from mem_search.embedders import MEMBERS, open_early, open_embedder
from mem_search.embedders.bundled import BundledEmbedder
from mem_search.errors import InputError, ModelUnavailable
from patience import PATIENCE, until


def test_bundled_is_opened_without_loading_anything(tmp_path: Path) -> None:
    assert open_embedder("bundled", tmp_path).name == "all-MiniLM-L6-v2"
    assert not list(tmp_path.iterdir())


def test_the_bundled_model_is_loaded_early_and_given_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = threading.Event()
    monkeypatch.setattr(BundledEmbedder, "load", lambda _: loaded.set())
    opener = open_early("bundled", tmp_path)
    assert loaded.wait(PATIENCE)
    first, second = opener("bundled", tmp_path), opener("bundled", tmp_path)
    assert first is not second
    assert first.fingerprint == second.fingerprint


def test_a_model_that_was_loaded_early_is_dropped_where_the_store_has_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    early: list[weakref.ref[BundledEmbedder]] = []
    monkeypatch.setattr(BundledEmbedder, "load", lambda made: early.append(weakref.ref(made)))
    opener = open_early("bundled", tmp_path)
    assert opener("hashing", tmp_path).name == "hashing"
    until(lambda: early and (gc.collect(), early[0]() is None)[1])


@pytest.mark.parametrize("setting", ["hashing", "bert"])
def test_nothing_else_is_loaded_early(setting: str, tmp_path: Path) -> None:
    opener = open_early(setting, tmp_path)
    if setting == "bert":
        with pytest.raises(InputError):
            opener(setting, tmp_path)
    else:
        assert opener(setting, tmp_path).name == setting


def test_hashing_is_opened(tmp_path: Path) -> None:
    assert open_embedder(" hashing ", tmp_path).dimensions == 256
    fewer = open_embedder("hashing:64", tmp_path)
    assert fewer.embed(["two words"]).shape == (1, fewer.dimensions) == (1, 64)
    assert fewer.fingerprint != open_embedder("hashing:256", tmp_path).fingerprint


@pytest.mark.parametrize("setting", ["", "bert", "bundled:", "OpenAI:small"])
def test_an_unknown_setting_names_the_field_and_the_known_ones(
    setting: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        open_embedder(setting, tmp_path)
    assert caught.value.field == "embedder"
    assert all(name in str(caught.value) for name in MEMBERS)


def test_the_key_comes_from_the_given_environment(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="OPENAI_API_KEY"):
        open_embedder("openai:small", tmp_path, environ={})


@pytest.mark.parametrize(
    ("setting", "module", "line"),
    [
        ("fastembed", "fastembed", r"pip install 'mem-search\[fastembed\]'"),
        ("chroma-default", "chromadb.utils.embedding_functions", "pip install chromadb"),
    ],
)
def test_a_missing_optional_package_is_named_with_its_install_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, module: str, line: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ModelUnavailable, match=line):
        open_embedder(setting, tmp_path)


def test_chroma_default_that_cannot_fetch_its_model_points_to_the_bundled_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = open_embedder("chroma-default", tmp_path)
    embedder._function = lambda texts: 1 / 0  # type: ignore[attr-defined]
    assert embedder.embed([]).shape == (0, 384)
    with pytest.raises(ModelUnavailable, match="MEM_SEARCH_EMBEDDER=bundled"):
        embedder.embed(["a"])
