"""Patterns are compiled late, so here all of them are compiled, and none may be compiled early."""

from __future__ import annotations

import ast
import gc
import importlib
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import mem_search
from mem_search.patterns import LazyPattern, pattern

SOURCES = Path(mem_search.__file__).parent


def test_a_pattern_is_compiled_at_its_first_use() -> None:
    broken = pattern("(")  # nothing is raised yet

    with pytest.raises(re.error):
        broken.search("(")


def test_a_pattern_does_what_the_compiled_one_does() -> None:
    source, text = r"(?P<word>[a-z]+)\d", "ab1 c2 D3"
    late, compiled = pattern(source, re.IGNORECASE), re.compile(source, re.IGNORECASE)

    assert late.findall(text) == compiled.findall(text)
    assert [each.span() for each in late.finditer(text)] == [(0, 3), (4, 6), (7, 9)]
    assert late.sub("-", text) == compiled.sub("-", text) == "- - -"
    assert late.subn("-", text, count=1) == ("- c2 D3", 1)
    assert late.split("xa1y") == compiled.split("xa1y")
    assert late.match("1a") is None
    assert (late.search("1a1") or [""])[0] == "a1"
    assert (late.fullmatch("a1") or [""])["word"] == "a"  # type: ignore[call-overload]
    assert (late.pattern, late.flags) == (compiled.pattern, compiled.flags)
    assert (late.groups, late.groupindex) == (1, {"word": 1})


def test_every_pattern_of_every_module_compiles() -> None:
    for module in pkgutil.walk_packages([str(SOURCES)], "mem_search."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)

    gc.unfreeze()  # what conftest has put aside is not listed
    found = [each for each in gc.get_objects() if isinstance(each, LazyPattern)]

    assert len(found) > 300
    for each in found:
        if each.pattern != "(":  # the one of the test above, if it is still there
            assert each.groups >= 0


def test_no_module_compiles_a_pattern_while_it_is_imported() -> None:
    early = [
        f"{path.relative_to(SOURCES)}:{line}"
        for path in sorted(SOURCES.rglob("*.py"))
        for line in _compiled_at_import(ast.parse(path.read_text("utf-8")))
    ]

    assert early == []


def test_no_import_uses_a_pattern() -> None:
    code = (
        "import gc, mem_search.http.core.app; from mem_search.patterns import LazyPattern;"
        "late = [each for each in gc.get_objects() if type(each) is LazyPattern];"
        "print(len(late), [each for each in late if 'search' in vars(each)])"
    )
    run = [sys.executable, "-c", code]
    said = subprocess.run(run, capture_output=True, text=True, check=True).stdout

    count, _, used = said.strip().partition(" ")
    assert int(count) > 200
    assert used == "[]"


def _compiled_at_import(tree: ast.AST) -> Iterator[int]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "re.compile":
            yield node.lineno
        yield from _compiled_at_import(node)
