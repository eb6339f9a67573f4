"""Settings as people edit them, in any style: nothing of them is lost, and all comes back."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mem_search.agents.base import Agent, Entry, Setup, plugin_folder
from mem_search.agents.installing import Installation
from mem_search.agents.known import AGENTS
from mem_search.agents.settings_text import read
from mem_search.errors import Conflict

WORDS = st.sampled_from(["a", "theme", "x y", "ключ", "// no comment", "/* nor */ {", "#", "'", ""])
PLAIN = WORDS | st.booleans() | st.none() | st.integers(-9, 9)
VALUES: st.SearchStrategy[Any] = st.recursive(
    PLAIN,
    lambda of: st.lists(of, max_size=2) | st.dictionaries(WORDS, of, max_size=2),
    max_leaves=4,
)
NEWLINES = st.sampled_from(["\n", "\r\n"])
WITH_JSON = [agent for agent in AGENTS if agent.name != "pi"]  # which has files of ours alone


@st.composite
def written(draw: st.DrawFn, value: Any, newline: str, depth: int = 1) -> str:
    """``value`` in somebody's style: comments, trailing commas, odd indentation, no indentation."""
    own = newline + draw(st.sampled_from(["  ", "\t", "   ", ""])) * depth
    gaps = st.sampled_from(
        [own, own, " ", "", newline + own, f" // mine, {{{own}", f"{own}/* mine: [ */ "]
    )
    if isinstance(value, dict):
        pairs = [
            f"{json.dumps(key)}{draw(gaps)}:{draw(gaps)}{draw(written(each, newline, depth + 1))}"
            for key, each in value.items()
        ]
        start, end = "{}"
    elif isinstance(value, list):
        pairs = [draw(written(each, newline, depth + 1)) for each in value]
        start, end = "[]"
    else:
        return json.dumps(value, ensure_ascii=draw(st.booleans()))
    inner = ",".join(f"{draw(gaps)}{pair}{draw(gaps)}" for pair in pairs)
    comma = "," if pairs and draw(st.booleans()) else ""
    return f"{start}{inner}{comma}{draw(gaps)}{end}"


@st.composite
def json_files(draw: st.DrawFn, entries: list[Entry]) -> str:
    """A file with unknown keys, and at times with other things where ours will stand."""
    value: dict[str, Any] = draw(st.dictionaries(WORDS, VALUES, max_size=3))
    for entry in entries:
        if draw(st.booleans()):
            continue
        table = value
        for key in entry.path[:-1]:
            table = table.setdefault(key, {})
        if entry.in_list:
            table.setdefault(entry.path[-1], draw(st.lists(VALUES, max_size=2)))
        else:
            table.setdefault("other", draw(VALUES))
    newline = draw(NEWLINES)
    text = draw(written(value, newline)) + draw(st.sampled_from(["", newline, f"{newline}// end"]))
    return draw(st.sampled_from(["", "\ufeff", f"// mine{newline}"])) + text


@st.composite
def toml_files(draw: st.DrawFn) -> str:
    """Lines of a TOML file, whose last one may not be ended."""
    lines = [
        "model = 'm' # mine", "", "# mine", "  odd   =   [ 1,", "  2 ] # and this", "[other]",
        '\tcommand = "x"', "[mcp_servers.other]", 'command = """', "[no.table]", '"""',
    ]  # fmt: skip
    count = draw(st.sampled_from([0, 1, 3, 5, 6, 8, 11]))
    newline = draw(NEWLINES)
    text = newline.join(lines[:count]) + draw(st.sampled_from(["", newline, newline * 3]))
    return draw(st.sampled_from(["", "\ufeff"])) + text


def mass(text: str) -> str:
    """``text`` without spaces and commas, where most styles differ."""
    return "".join(text.replace(",", "").replace("\ufeff", "").split())


def holds(whole: str, part: str) -> bool:
    """Whether all characters of ``part`` are in ``whole``, in their order."""
    left = iter(mass(whole))
    return all(character in left for character in mass(part))


@pytest.mark.parametrize("agent", WITH_JSON, ids=lambda agent: agent.name)
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_nothing_of_hand_edited_settings_is_lost(agent: Agent, data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        home = Path(folder)
        setup = Setup(home, {}, "/opt/bin/mem-search", "/opt/bin/python3", plugin_folder())
        entries = [part for part in agent.wanted(setup) if isinstance(part, Entry)]
        before: dict[Path, bytes] = {}
        for file in {entry.file: None for entry in entries}:
            of_file = [entry for entry in entries if entry.file == file]
            is_toml = file.suffix == ".toml"
            text = data.draw(toml_files() if is_toml else json_files(of_file))
            file.parent.mkdir(parents=True, exist_ok=True)
            place = file
            if data.draw(st.booleans(), "a link to it"):
                place = home / f"dotfiles-{file.name}"
                file.symlink_to(place)
            place.write_bytes(text.encode())
            place.chmod(data.draw(st.sampled_from([0o444, 0o600, 0o644])))
            before[place] = text.encode()
        modes = {place: place.stat().st_mode for place in before}

        def state() -> Installation:
            return Installation(agent, setup, home / ".mem-search")

        state().install()
        installed = {place: place.read_bytes() for place in before}
        for place, old in before.items():
            assert installed[place] != old
            assert holds(installed[place].decode(), old.decode()), installed[place].decode()
        assert {change.what for change in state().install()} == {"unchanged"}
        assert {place: place.read_bytes() for place in before} == installed
        state().uninstall()
        assert {place: place.read_bytes() for place in before} == before
        assert {place: place.stat().st_mode for place in before} == modes

        # The same, but somebody writes to the files before ours is taken out.
        state().install()
        for place in before:
            later = b"\n# later\n" if place.suffix == ".toml" else b"\n// later\n"
            place.chmod(0o644)
            place.write_bytes(place.read_bytes() + later)
        state().uninstall()
        for place, old in before.items():
            left, text = place.read_text("utf-8"), old.decode()
            assert mass(left) == mass(text) + ("#later" if place.suffix == ".toml" else "//later")
            if place.suffix != ".toml":
                assert read(left) == read(text)


def test_what_stands_where_ours_belongs_is_named_and_stays(tmp_path: Path) -> None:
    (agent,) = [each for each in AGENTS if each.name == "gemini"]
    setup = Setup(tmp_path, {}, "/opt/bin/mem-search", "/opt/bin/python3", plugin_folder())
    file = tmp_path / ".gemini" / "settings.json"
    file.parent.mkdir()
    file.write_text('{"hooks": {"SessionStart": "mine"}}')
    with pytest.raises(Conflict, match=r"hooks\.SessionStart is not a list; nothing was changed"):
        Installation(agent, setup, tmp_path / ".mem-search").install()
    assert file.read_text() == '{"hooks": {"SessionStart": "mine"}}'
