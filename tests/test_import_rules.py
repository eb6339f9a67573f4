"""The rules of imports know every package, and scripts import what exists: mypy reads none."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def test_every_package_is_in_the_layers_and_knows_the_store_by_its_ports() -> None:
    configured = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = {each["name"]: each for each in configured["tool"]["importlinter"]["contracts"]}
    layers = {
        name.strip().split(".")[1]
        for row in contracts["imports point down"]["layers"]
        for name in row.split(":")
    }
    without_store = {
        name.split(".")[1] for name in contracts["a store is known by its parts"]["source_modules"]
    }
    packages = {
        path.stem
        for path in (ROOT / "src" / "mem_search").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").is_file()
    }
    packages -= {"__init__", "__main__"}
    assert packages - layers == {"features"}  # see the contracts below the layers
    assert packages - without_store == set()


def _imported(file: Path) -> Iterator[tuple[str, str]]:
    """(module, name) for each ``from mem_search… import …`` of a script."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mem_search"):
            for alias in node.names:
                yield node.module or "", alias.name


@cache
def _names_in(module: str) -> set[str]:
    """What can be imported from a module of ours; nothing from one that does not exist."""
    place = (ROOT / "src").joinpath(*module.split("."))
    file = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    if not file.is_file():
        return set()
    names = {each.stem for each in place.glob("*")}
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                names.add(node.name)
            case ast.Name(ctx=ast.Store()):
                names.add(node.id)
            case ast.alias():
                names.add((node.asname or node.name).partition(".")[0])
    return names


def test_every_name_that_a_script_imports_exists() -> None:
    missing = [
        f"{file.relative_to(ROOT)}: {module}.{name}"
        for file in sorted((ROOT / "scripts").rglob("*.py"))
        for module, name in _imported(file)
        if name not in _names_in(module)
    ]
    assert missing == []


def _bound(tree: ast.Module) -> dict[str, Any]:
    """Local name → what a script has imported from us by it."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mem_search"):
            module = import_module(node.module or "")
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                has = hasattr(module, alias.name)
                thing = getattr(module, alias.name) if has else import_module(name)
                found[alias.asname or alias.name] = thing
    return found


def _misfit(call: ast.Call, bound: dict[str, Any]) -> str:
    """Why a call does not fit the function or class of ours that it calls; empty where it does."""
    match call.func:
        case ast.Name(id=name):
            called = bound.get(name)
        case ast.Attribute(value=ast.Name(id=name), attr=attribute) if inspect.ismodule(
            bound.get(name)
        ):
            called = getattr(bound[name], attribute, None)
            if called is None:
                return f"there is no {name}.{attribute}"
        case _:
            return ""
    unpacked = any(isinstance(each, ast.Starred) for each in call.args)
    if not callable(called) or unpacked or any(each.arg is None for each in call.keywords):
        return ""
    try:
        signature = inspect.signature(called)
        signature.bind(*call.args, **{str(each.arg): each.value for each in call.keywords})
    except (TypeError, ValueError) as error:
        return f"{ast.unparse(call.func)}: {error}"
    return ""


def test_every_call_of_a_script_fits_what_it_calls() -> None:
    wrong = []
    for file in sorted((ROOT / "scripts").rglob("*.py")):
        tree = ast.parse(file.read_text("utf-8"))
        bound = _bound(tree)
        calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
        name = file.relative_to(ROOT)
        wrong += [f"{name}:{call.lineno}: {why}" for call in calls if (why := _misfit(call, bound))]
    assert wrong == []


_KNOWN_FEATURES = {
    "capture": {"context"},
    "claude_mem": {"context", "saved_searches"},  # what a corpus is, and its text
    "exports": {"citations"},
    "research": {"citations"},
    "saved_searches": {"webhooks"},  # both queue messages, and say what became of them
    "search_jobs": {"research", "webhooks"},
    "weighted": {"graph"},  # what is in a cloud
}
"""Feature → the other features that it imports; each pair is a decision."""


def test_a_feature_imports_no_other_feature_that_it_does_not_declare() -> None:
    features = ROOT / "src" / "mem_search" / "features"
    imported: dict[str, set[str]] = {}
    for file in features.rglob("*.py"):
        own = file.relative_to(features).parts[0]
        others = {
            module.split(".")[2]
            for module, _ in _imported(file)
            if module.startswith("mem_search.features.")
        }
        if others - {own}:
            imported.setdefault(own, set()).update(others - {own})
    assert imported == _KNOWN_FEATURES, "say in _KNOWN_FEATURES why one feature needs the other"


_KNOWS_CLAUDE_MEM = (
    "features/claude_mem/", "sources/",
    "features/backup/cli.py", "cli/neighbours.py",
    "http/mounts.py",  # it mounts it
    "agents/neighbours.py",  # how its worker is told from ours
    "cli/records.py", "text/record_ids.py",  # ids of its rows
)  # fmt: skip
"""The feature itself, the source that reads its store, the lists that mount both, and its ids."""


def test_the_core_does_not_know_whose_clients_it_has() -> None:
    package = ROOT / "src" / "mem_search"
    named = {
        str(file.relative_to(package))
        for file in package.rglob("*.py")
        if re.search(r"claude.?mem", file.read_text("utf-8"), re.IGNORECASE)
    }
    assert sorted(name for name in named if not name.startswith(_KNOWS_CLAUDE_MEM)) == []


_OURS = "package data, or a file of the home"
_OPENED_OTHERWISE = {
    "sources/agent_work/text.py": {"_FILE.open": _OURS},
    "sources/databases.py": {"target.open": "a copy that is written"},
    "sources/database_process.py": {"sqlite3.connect": "after it was examined, in limits"},
    "agents/base.py": {
        "text.read_text": _OURS, "(self.plugin / 'hooks' / 'hooks.json').read_text": _OURS,
    },
    "features/graph/picture.py": {"(_DATA / name).read_text": _OURS},
    "features/citations/processor.py": {"(DATA / file).open": _OURS},
    "features/viewer/http.py": {
        "(_FOLDER / 'index.html').read_bytes": _OURS,
        "asset.read_bytes": _OURS,
    },
    "features/backup/http.py": {"config.read_text": _OURS},
    "features/claude_mem/http.py": {"path.open": _OURS},
    "ingest/crash_mark.py": {"file.read_bytes": _OURS},
    "ingest/copies.py": {"os.walk": _OURS, "member.open": "of a file that is open"},
    "sources/packed/unpacker.py": {
        "bz2.open": "of a file that is open",
        "gzip.open": "of a file that is open",
        "lzma.open": "of a file that is open",
        "path.open": "of a file that is open",
        "place.open": _OURS,
        "tarfile.open": "of a file that is open",
        "target.open": "a file that is written",
    },
    "sources/whole_files.py": {"member.open": "of a file that is open"},
    "jobs/kept_transcripts.py": {
        "target.open": "a copy that is written", "state.with_name(copy.file).open": _OURS,
        "state.read_bytes": _OURS, "os.walk": _OURS,
    },
    "features/capture/journals.py": {
        "(self._folder / f'{session}.jsonl').open": _OURS, "file.read_bytes": _OURS,
        "self._file.read_bytes": _OURS,
    },
    "features/capture/service.py": {"file.read_bytes": _OURS},
    "features/capture/costs.py": {
        "(home / 'hooks' / name).read_text": _OURS, "(folder / name).read_bytes": _OURS,
        "file.read_bytes": _OURS,
    },
}  # fmt: skip
"""What reads a path without ``regular_file``, and why it may."""

_NOT_FILES = {
    "history",
    "archive",
    "self._archive",
    "self",
    "secret_box",
    "self._secret_box",
    "self._sessions",
    "webbrowser",
    "os",
}
"""What has a method of that name and is no path."""


def test_a_path_that_somebody_else_chose_is_opened_only_as_a_regular_file() -> None:
    package = ROOT / "src" / "mem_search"
    wrong = []
    for layer in ("sources", "agents", "extractors", "features", "jobs", "ingest", "http"):
        for file in sorted((package / layer).rglob("*.py")):
            name = file.relative_to(package).as_posix()
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                opening = _opening(node)
                if layer == "extractors" and opening.startswith(("path.", "Image.")):
                    continue  # the path is that of an open file (regular_file.path_of)
                if opening and opening not in _OPENED_OTHERWISE.get(name, ()):
                    wrong.append(f"{name}:{getattr(node, 'lineno', 0)}: {opening}")
    assert wrong == [], "open it with mem_search.regular_file: a pipe in its place never ends"


def _opening(node: ast.AST) -> str:
    """What a call opens or lists by its path, as it is written; empty for any other node."""
    match node:
        case ast.Call(func=ast.Name(id="open")):
            return "open"
        case ast.Call(func=ast.Attribute(value=on, attr=attr) as func):
            called = ast.unparse(func)
            if called in ("sqlite3.connect", "zipfile.ZipFile", "os.walk"):
                return called
            if attr in ("open", "read_text", "read_bytes") and ast.unparse(on) not in _NOT_FILES:
                return called
    return ""


def _of_git(file: Path) -> Iterator[str]:
    """Where a module names a file of git's, or the program: ``.git``, ``["git", ...]``."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        first: ast.AST | None = None
        match node:
            case ast.Constant(value=".git" | "commondir" | "packed-refs" | "gitdir:"):
                first = node
            case ast.List(elts=[ast.Constant(value="git"), *_]):
                first = node
            case ast.Call(func=ast.Attribute(attr="which"), args=[ast.Constant(value="git"), *_]):
                first = node
        if first is not None:
            yield f"{file.relative_to(ROOT)}:{getattr(first, 'lineno', 0)}"


def test_one_package_opens_the_files_of_git_and_runs_it() -> None:
    source = ROOT / "src" / "mem_search"
    places = {
        place: list(_of_git(place))
        for place in sorted(source.rglob("*.py"))
        if place.parent != source / "git"
    }
    assert [each for found in places.values() for each in found] == []
    assert any(_of_git(source / "git" / "places.py"))


_OF_A_SYSTEM = re.compile(r"sys\.platform|os\.uname|platform\.system|[\"']/proc|CDLL\(None|prctl")


def test_one_package_knows_what_differs_between_systems() -> None:
    source = ROOT / "src" / "mem_search"
    known = [
        file.relative_to(source)
        for file in sorted(source.rglob("*.py"))
        if _OF_A_SYSTEM.search(file.read_text("utf-8"))
    ]
    assert {file.parts[0] for file in known} == {"platform"}
