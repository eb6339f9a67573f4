"""How far the code is scattered, and how much of it is written twice: bounds that only fall.

1. Few modules have one importer only. One of these below 120 lines is a fragment of its importer,
   unless it is a member of a folder in which each thing has one file.
2. What both stores run stands once: few functions of the two stores are alike.
3. The whole has a budget.

A change that comes below a bound lowers it; none raises one without a reason in its message.
``python tests/test_structure.py`` prints the fragments, the twins and the figures. The number of
functions that a search runs through is no bound (``scripts/trace`` names them): it bent the code
to the number, and changed with the load of the machine.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
PACKAGE = SOURCE / "mem_search"

MAX_LINES = 126_798
"""Lines of ``src``. 92,000 were the aim; ADR 0055 has what was tried, and what they are for."""
MAX_MODULES = 664
MAX_ONE_IMPORTER = 146
"""Modules with one importer, whatever their size and folder."""
MAX_FRAGMENTS = 4
MAX_TWINS = 23
"""Functions of one store that have the name of one in the other, and at least ALIKE of its text;
40 are the aim.
"""

FRAGMENT_LINES = 120
ALIKE = 0.7

ONE_FILE_EACH = (
    "embedders", "extractors", "features.citations", "features.graph", "http",
    "records", "renderers", "retrievers", "search.stages",
    "sources", "text.languages",
)  # fmt: skip
"""Folders whose members are registered in one place: a kind, a source, a route."""

PARTS_OF_A_FEATURE = re.compile(r"mem_search\.features\.\w+\.(?:model|service|sql|http|cli|mcp)")
"""A feature's are, too: by ``wiring``, ``http.routes``, ``cli.app`` and ``mcp.server``."""


@cache
def modules() -> dict[str, Path]:
    """Name → file of every module of the product."""
    names = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        name = ".".join(file.relative_to(SOURCE).with_suffix("").parts)
        names[name.removesuffix(".__init__")] = file
    return names


@cache
def _parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


def _imported(file: Path) -> Iterator[str]:
    for node in ast.walk(_parsed(file)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in modules() else node.module


def lines() -> int:
    return sum(len(file.read_text("utf-8").splitlines()) for file in modules().values())


@cache
def with_one_importer() -> list[str]:
    importers: dict[str, set[str]] = defaultdict(set)
    for name, file in modules().items():
        for imported in _imported(file):
            importers[imported].add(name)
    return [name for name in modules() if len(importers[name]) == 1]


def fragments() -> list[str]:
    """Short modules with one importer, outside the folders with one file for each thing."""
    return [
        name
        for name in with_one_importer()
        if modules()[name].name != "__init__.py"
        and name.removeprefix("mem_search.").rpartition(".")[0] not in ONE_FILE_EACH
        and not PARTS_OF_A_FEATURE.fullmatch(name)
        and len(modules()[name].read_text("utf-8").splitlines()) < FRAGMENT_LINES
    ]


def _functions(folder: Path) -> dict[str, list[tuple[str, list[str]]]]:
    """Name → (place, words) of each function, without its docstring and the sign of parameters."""
    found = defaultdict(list)
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                if ast.get_docstring(node) is not None:
                    node.body = node.body[1:] or node.body
                # How a quote in an f-string is written differs between Pythons.
                text = re.sub(r"['\"\\]+", "'", ast.unparse(node))
                text = re.sub(r"%s|%\(\w+\)s|\?|:\w+", "?", text)
                place = f"{file.relative_to(PACKAGE)}: {node.name}"
                found[node.name].append((place, re.findall(r"\w+|[^\w\s]", text)))
    return found


def twins() -> list[str]:
    """Functions of the store on SQLite that stand again, much the same, in that on PostgreSQL."""
    others = _functions(PACKAGE / "storage" / "postgres")
    return [
        place
        for name, same_name in _functions(PACKAGE / "storage" / "sqlite").items()
        for place, words in same_name
        if any(
            difflib.SequenceMatcher(None, words, other, autojunk=False).ratio() >= ALIKE
            for _, other in others.get(name, ())
        )
    ]


RAISED = "a new part raises the bound by what it needs; the message of its commit says why"


def test_no_module_is_a_fragment_of_its_only_importer() -> None:
    assert len(with_one_importer()) <= MAX_ONE_IMPORTER, RAISED
    assert len(fragments()) <= MAX_FRAGMENTS, "python tests/test_structure.py lists them"


def test_no_statement_is_written_once_for_each_store() -> None:
    assert len(twins()) <= MAX_TWINS, "python tests/test_structure.py lists them"


def test_the_whole_stays_within_its_budget() -> None:
    count, size = len(modules()), lines()
    assert count <= MAX_MODULES, RAISED
    assert size <= MAX_LINES, RAISED


if __name__ == "__main__":
    print(*fragments(), *twins(), sep="\n")
    print(
        f"{len(modules())} modules, {lines()} lines, {len(with_one_importer())} with one importer"
    )
    print(f"{len(fragments())} fragments, {len(twins())} twins")
