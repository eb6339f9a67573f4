"""The documents agree with the code and with each other."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import MISSING, fields
from pathlib import Path

import pytest

import mem_search
from mem_search.settings import Settings
from patience import PATIENCE

SELF = Path(__file__)
ROOT = SELF.parents[1]
DOCUMENTATION = ROOT / "scripts" / "documentation"
sys.path.insert(0, str(DOCUMENTATION))

from blocks import filled  # noqa: E402
from checkout import documents, unknown_modules  # noqa: E402
from pictures import wrong as wrong_pictures  # noqa: E402

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
# What a path of the machine that a document was written on looks like; examples use /home/me.
MACHINE_PATH = re.compile(
    r"(?<![\w.~$}/-])/(?:root|work|tmp|Users|mnt(?!/c\b)|home/(?!me\b))[/\w.-]*"
)
REGISTRY = re.compile(
    r"pypi\.(?!simple\.v1\+json)|pythonhosted|index-url|registry\.npmjs|artifactory|/simple\b"
)
"""Hosts and their options; the media type of PEP 691 is none."""

DOCUMENTS = documents(ROOT)


def text_of(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def name_of(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def links(file: Path) -> list[str]:
    return LINK.findall(FENCE.sub("", file.read_text("utf-8")))


def anchors(file: Path) -> set[str]:
    """The anchors of the headings of a Markdown file, as forges make them."""
    headings = re.findall(r"^#+\s+(.+)$", FENCE.sub("", file.read_text("utf-8")), re.MULTILINE)
    kept = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in kept}


def test_what_is_generated_is_current() -> None:
    environ = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONUTF8": "1"}
    done = subprocess.run(
        [sys.executable, str(DOCUMENTATION / "main.py"), "--check"],
        capture_output=True,
        encoding="utf-8",
        env=environ,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_block_is_filled_between_its_markers_only() -> None:
    text = "a\n<!-- generated: x -->\nold\n<!-- /generated -->\nb\n"
    new = "a\n<!-- generated: x -->\nnew\n<!-- /generated -->\nb\n"
    assert filled(text, {"x": lambda: "new\n"}) == new
    assert filled(new, {"x": lambda: "new"}) == new


@pytest.mark.parametrize(
    "text",
    [
        "<!-- generated: y -->\n<!-- /generated -->",
        "<!-- generated: x -->\nnever closed",
        "<!-- generated -->\n<!-- /generated -->",
    ],
)
def test_a_block_that_cannot_be_filled_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="block"):
        filled(text, {"x": str})


@pytest.mark.parametrize("file", DOCUMENTS, ids=name_of)
def test_every_relative_link_leads_somewhere(file: Path) -> None:
    for link in links(file):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (file.parent / path).resolve() if path else file
        assert target.exists(), f"{link} leads nowhere"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target), f"{link} has no such heading"


def test_every_document_is_linked_from_the_readme_or_the_agents_file() -> None:
    linked: set[Path] = set()
    for name in ("README.md", "AGENTS.md"):
        linked |= {(ROOT / link.partition("#")[0]).resolve() for link in links(ROOT / name)}
    for file in (ROOT / "docs").rglob("*"):
        if file.is_file():
            assert file.resolve() in linked or file.parent.resolve() in linked - {ROOT}, file


def test_the_readmes_pictures_are_small_and_the_terminal_shows_its_words() -> None:
    assert list(wrong_pictures()) == []


MAX_WORDS = 35_000
"""Of the README and the pages beside it: somebody has to read them."""
MAX_GUIDE_WORDS = 6_000


def test_the_readme_names_the_two_commands_of_a_fresh_machine() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    for command in ("scripts/quickstart", "./scripts/test"):
        assert command in readme
        assert os.access(ROOT / command, os.X_OK)


def test_people_get_no_more_words_than_they_read() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    words = {file.name: len(file.read_text("utf-8").split()) for file in pages}
    assert sum(words.values()) <= MAX_WORDS, "shorten a sentence there; docs/reference has room"
    assert words["guide.md"] + words["operations.md"] <= MAX_GUIDE_WORDS


def test_one_command_is_taught_to_search() -> None:
    others = {"contracts", "lab", "adr"}  # what clients call it, and what was
    taught = [
        name_of(file)
        for file in (*DOCUMENTS, *(ROOT / "plugin").rglob("*.md"))
        if not others & {*file.parts} and "mem-search unified" in file.read_text("utf-8")
    ]
    assert taught == []


def test_the_agents_file_is_short_and_names_every_script() -> None:
    text = text_of("AGENTS.md")
    assert len(text.splitlines()) < 80
    for script in (ROOT / "scripts").iterdir():
        if script.is_file():
            assert f"scripts/{script.name}" in text, script.name


def test_every_decision_has_its_number_a_title_and_a_place_in_the_list() -> None:
    records = sorted((ROOT / "docs" / "adr").glob("[0-9]*.md"))
    listed = text_of("docs/adr/README.md")
    numbers = [file.name[:4] for file in records]  # with gaps: what was overtaken is merged
    assert len({*numbers}) == len(numbers)
    for number, file in zip(numbers, records, strict=True):
        text = file.read_text("utf-8")
        assert text.startswith(f"# {number} ")
        assert len(text.splitlines()) < 50
        assert f"({file.name})" in listed


def test_a_decision_that_is_named_is_there() -> None:
    numbers = {file.name[:4] for file in (ROOT / "docs" / "adr").glob("[0-9]*.md")}
    named = re.compile(r"(?:ADRs? |\badr/|\[)(0\d{3})(?!\d)(?=[-`).,:;\]\s]|$)", re.MULTILINE)
    files = (
        file
        for place in ("src", "docs", "tests", "scripts", "plugin", "AGENTS.md", "README.md")
        for file in ([ROOT / place] if (ROOT / place).is_file() else (ROOT / place).rglob("*"))
        if file.suffix in {".py", ".md", ".sql", ".toml", ".js"}
    )
    gone = {
        f"{name_of(file)}: {number}"
        for file in files
        for number in named.findall(file.read_text("utf-8"))
        if number not in numbers
    }
    assert gone == set()


@pytest.mark.parametrize("file", sorted((ROOT / "docs" / "contracts").glob("*.md")), ids=name_of)
def test_a_contract_names_tests_that_exist(file: Path) -> None:
    for pattern in re.findall(r"`(tests/[\w/*.]+)`", file.read_text("utf-8")):
        assert list(ROOT.glob(pattern)), f"there is no {pattern}"


def test_contracts_are_cited_by_their_document() -> None:
    private = re.compile(r"\bseed 0{1,2}[0-9]\b|field-notes|design\.md", re.IGNORECASE)
    for place in ("src", "docs", "tests", "scripts", "plugin"):
        for file in sorted((ROOT / place).rglob("*")):
            if file.suffix in (".py", ".md", ".sh", "") and file.is_file() and file != SELF:
                found = private.search(file.read_text("utf-8", "replace"))
                assert found is None, f"{file}: cite docs/contracts instead of {found[0]}"


def test_the_changelog_knows_this_version_or_what_is_unreleased() -> None:
    text = text_of("CHANGELOG.md")
    assert "## [Unreleased]" in text or f"## [{mem_search.__version__}]" in text


def test_the_plugin_has_the_version_of_the_product() -> None:
    manifest = json.loads(text_of("plugin/.claude-plugin/plugin.json"))
    assert manifest["version"] == mem_search.__version__


def test_the_reference_names_every_setting_with_its_default() -> None:
    reference = text_of("docs/reference/settings.md")
    for setting in fields(Settings):
        row = re.search(rf"^\| `MEM_SEARCH_{setting.name.upper()}` \|.*$", reference, re.MULTILINE)
        assert row is not None, setting.name
        default = setting.default
        if default is MISSING or not default:
            continue
        shown = f"{default:g}" if isinstance(default, float) else str(default)
        if isinstance(default, tuple):
            shown = ",".join(default)
        assert shown in row[0], f"the default of {setting.name} is {shown}"


@pytest.mark.parametrize("file", DOCUMENTS, ids=name_of)
def test_no_document_names_a_place_of_the_machine_it_was_written_on(file: Path) -> None:
    text = file.read_text("utf-8")
    assert not MACHINE_PATH.findall(text)
    assert not REGISTRY.findall(text)


def test_no_script_names_a_registry() -> None:
    for script in (ROOT / "scripts").rglob("*"):
        if script.is_file() and script.suffix in ("", ".py"):
            assert not REGISTRY.findall(script.read_text("utf-8").replace("emit-index-url", ""))


def test_the_lock_names_no_host() -> None:
    for lock in ("requirements.lock", "requirements-dev.lock"):
        assert "://" not in text_of(lock)


def test_a_module_that_does_not_exist_is_found_in_text_and_in_drawings(tmp_path: Path) -> None:
    (tmp_path / "src" / "mem_search" / "search").mkdir(parents=True)
    (tmp_path / "src" / "mem_search" / "search" / "engine.py").touch()
    (tmp_path / "src" / "mem_search" / "wiring.py").touch()
    text = (
        "`search/engine.py`, `search/gone.py`, `wiring.py`, `src/auth.py`, `search/NAME.py`\n"
        '```mermaid\nflowchart LR\n  a["search/engine.py"] --> b["lost.py"] --> c["search/"]\n```\n'
    )
    assert unknown_modules(text, tmp_path) == ["lost.py", "search/gone.py"]


def test_every_feature_has_its_row_in_the_architecture() -> None:
    folders = (ROOT / "src" / "mem_search" / "features").glob("*/__init__.py")
    told = re.findall(r"^\| `(\w+)` \|", text_of("docs/architecture.md"), re.MULTILINE)
    assert sorted(file.parent.name for file in folders) == sorted(told)


@pytest.mark.parametrize("document", ["docs/extending.md", "AGENTS.md"])
def test_what_the_guides_to_new_parts_name_is_in_the_code(document: str) -> None:
    prose = FENCE.sub("", text_of(document))
    named = set(re.findall(r"`(?:\w+\.)*([A-Za-z_]\w{2,})(?:\(.*?\))?`", prose))
    files = (
        file for folder in ("src", "tests", "scripts") for file in (ROOT / folder).rglob("*.py")
    )
    words = {word for file in files for word in re.findall(r"\w+", file.read_text("utf-8"))}
    assert len(named) > 30
    assert named - words == set()


def test_the_files_that_the_guide_to_new_parts_names_exist() -> None:
    named = re.findall(r"`(\w[\w/.]*/[\w.]+)`", FENCE.sub("", text_of("docs/extending.md")))
    folders = ("tests/", "docs/", "scripts/")
    paths = [path for path in named if "NAME" not in path]
    assert len(paths) > 40
    for path in paths:
        place = ROOT if path.startswith(folders) else ROOT / "src" / "mem_search"
        assert (place / path).exists(), path
