"""What adapters share whose agent keeps one JSON document for each session, or lives in an editor.

What an adapter does not understand is named once for each kind, with the place and the program's
version: a format that changed must not look like a session in which nothing happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from mem_search.contracts import FileFormat, Machine
from mem_search.patterns import pattern
from mem_search.regular_file import read_regular_file
from mem_search.sources.agent_work.events import AgentText, Event, Prompt
from mem_search.sources.agent_work.text import clean_text, without_injected
from mem_search.sources.agent_work.transcripts import SessionFiles, Tools, call_of, words
from mem_search.sources.conversations import fields, items
from mem_search.sources.whole_files import WholeFile
from mem_search.text.json_reading import loads

MAX_DOCUMENT_BYTES: Final = 64 * 2**20
"""Bytes of one session; a conversation of a year has about five million characters."""

MAX_BESIDE_BYTES: Final = 16 * 2**20
"""Bytes of a file beside a session that says more of it, such as the list of all tasks."""

_EDITORS: Final = (
    "Code", "Code - Insiders", "VSCodium", "VSCodium - Insiders", "Cursor", "Windsurf"
)  # fmt: skip
_SERVERS: Final = (
    ".vscode-server", ".vscode-server-insiders", ".vscodium-server", ".cursor-server",
    ".windsurf-server",
)  # fmt: skip
"""What an editor keeps on the machine that it works on over the network."""

_FLATPAKS: Final = ("com.visualstudio.code/config/Code", "com.vscodium.codium/config/VSCodium")
_DRIVE: Final = pattern(r"/[A-Za-z]:/")


class SessionDocuments(SessionFiles):
    """A session is one JSON document, which the program writes anew for each message."""

    file_format: FileFormat | None = FileFormat((".json",))

    def messages(self, file: WholeFile, messages: object, version: str = "") -> list[Any]:
        """The list of messages. Raises ValueError naming the program's version for another form."""
        if not isinstance(messages, list):
            program = f"{self.label} {version}".strip()
            raise ValueError(f"it has no list of messages, its form is not known ({program})")
        file.unread.unit = "message"
        return messages


def document(file: WholeFile) -> Any:
    """The value of the file. Raises OSError, or ValueError where it is not JSON."""
    return loads(read_regular_file(file.path, MAX_DOCUMENT_BYTES, follow=False))


def beside(path: Path) -> Any:
    """The value of a JSON file that says more of a session; None where it cannot be read."""
    try:
        return loads(read_regular_file(path, MAX_BESIDE_BYTES, follow=False))
    except (OSError, ValueError, RecursionError):
        return None


def not_understood(file: WholeFile, number: int, description: str, program: str) -> None:
    """Note a message or line of a kind that is not known, with the version of the program."""
    file.unread.at, file.unread.program = number, program.strip()
    file.unread.not_known(description)


def said_in(
    tools: Tools, role: object, content: object, answer: Callable[[Mapping[str, Any]], Event]
) -> Iterator[Event]:
    """The events of a message in the form of Anthropic's API: text, calls, and their answers."""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else items(content)
    asked = []
    for part in map(fields, parts):
        match part.get("type"):
            case "text" if said := words([part]):
                if role == "user":
                    asked.append(said)
                elif role == "assistant":
                    yield AgentText(said)
            case "tool_use":
                yield call_of(tools, part.get("id"), part.get("name"), part.get("input"))
            case "tool_result":
                yield answer(part)
    if prompt := without_injected("\n\n".join(asked)):
        yield Prompt(prompt)


def seconds(value: object) -> float | None:
    """Seconds since 1970 of milliseconds, for ``moment``; None for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value:
        return value / 1000
    return None


def path_of(place: object) -> str:
    """The path that is written as such or as a URI, also one of another machine."""
    text = clean_text(place)
    if "://" not in text:
        return text
    try:
        path = unquote(urlsplit(text).path)
    except ValueError:
        return ""
    return path[1:] if _DRIVE.match(path) else path


def editor_folders(machine: Machine) -> Iterator[tuple[str, Path]]:
    """VS Code and its relatives: their names, and the folders with what the person has in them."""
    home, given = machine.home, machine.environ
    config = Path(given.get("XDG_CONFIG_HOME") or home / ".config")
    roaming = Path(given.get("APPDATA") or home / "AppData" / "Roaming")
    places = [
        (name, root / name / "User")
        for root in (config, home / "Library" / "Application Support", roaming)
        for name in _EDITORS
    ]
    places += [(name, home / name / "data" / "User") for name in _SERVERS]
    places += [(Path(name).name, home / ".var" / "app" / name / "User") for name in _FLATPAKS]
    places.append(("code-server", home / ".local" / "share" / "code-server" / "User"))
    if portable := given.get("VSCODE_PORTABLE"):
        places.append(("Code", Path(portable) / "user-data" / "User"))
    if server := given.get("VSCODE_AGENT_FOLDER"):
        places.append((".vscode-server", Path(server) / "data" / "User"))
    for place, name in {place: name for name, place in places}.items():
        if place.is_dir():
            yield name, place
