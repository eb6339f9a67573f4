"""The commands that documents show in fenced blocks, found and run as a reader would.

A block ``console`` has commands after ``$`` and what they print, a block ``sh`` or ``bash`` has
commands only. ``Shell`` runs them in the home of a made-up person (``person``) with a real worker.
A document that begins with ``<!-- story: DATE -->`` shows real output (``story``). ``ELSEWHERE``
names the commands that no test of documents can run, and why.
"""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
import termios
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

SHOWN_HOME: Final = "/home/me"
SHOWN_URL: Final = "http://127.0.0.1:37777"

_UNREAD: Final = (
    "agent-memory", "aider", "amp", "antigravity", "cline", "continue", "copilot-chat", "crush",
    "droid", "goose", "kiro", "roo-code", "zed",
)  # fmt: skip
ELSEWHERE: Final = {
    **{f"sync {name}": "needs what that program leaves; tests/sources have it" for name in _UNREAD},
    "scripts/": "makes an environment or works on this checkout; CI runs these scripts",
    "claude ": "needs Claude Code; tests/test_claude_code_program.py runs it where it is installed",
    "user remove": "needs a user who has stored something; tests/cli/test_access.py has one",
    "imaps://": "needs a mail server; tests/imap_server.py is one",
    "https://example.org": "needs the network; tests/cli/test_add.py has a page of its own",
    "pg_": "needs a PostgreSQL server that the reader runs, and its tools",
    "createdb": "needs a PostgreSQL server that the reader runs, and its tools",
    "| dot": "needs graphviz; tests/renderers check the text that dot reads",
    "/aside": "goes back to an older version; tests/cli/test_upgrade.py does",
    "before-upgrade-": "goes back to an older version; tests/cli/test_upgrade.py does",
    "fzf ": "fzf is a program of its own; tests/cli/test_opening.py runs the recipe",
    "[y/N]": "asks in a terminal; tests/cli/test_forget.py answers",
}  # fmt: skip
"""What a command or its output contains, and why it is not run here."""

_FENCE = re.compile(r"^( *)```(console|sh|bash)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
SHOWN_MARK: Final = "<!-- story: DATE -->"
_STORY = re.compile(r"\A<!-- story: (\d{4}-\d\d-\d\d) -->\n")
_ADVICE: Final = re.compile(
    r"^To have the command in .*?(?=^Everything is stored)", re.MULTILINE | re.DOTALL
)
"""What quickstart says of the reader's own shell."""

_WAITING: Final = re.compile(
    r"^the worker is starting\n"
    r"|^the worker has not started for \d+ s; to start again:\n  mem-search worker restart\n"
    r"|^mem-search: \d+ passages are still waiting.*?To watch:\s+mem-search\s+jobs\n",
    re.MULTILINE | re.DOTALL,
)
"""What a command says while the machine is busy."""

_REF: Final = re.compile(
    r"\b(note|observation|session_summary|report|website|email)([:/])\d+\b"
    r"|(?:(?<=related )|(?<=timeline )|(?<=anchor=))\d+\b"
)
_OVERWRITTEN: Final = re.compile(r"^[^\n]*\r", re.MULTILINE)
_CONTROL: Final = re.compile("\x1b\\[[0-9;?]*[A-Za-z]")
_END: Final = "\x1e"
_SECONDS: Final = 240
"""The longest that one command may take; only a hanging one needs so long."""

_VOLATILE: Final = (
    (re.compile(r"(?:started(?: in [\d.]+ s)?|already running) \(pid \d+"), "started (pid N"),
    (re.compile(r"pid \d+"), "pid N"),
    (re.compile(r"\b\d+(?:\.\d+)? (?:ms|s|seconds|MB|GB|KB|kB)\b"), "N"),
    (re.compile(r"http://127\.0\.0\.1:\d+"), SHOWN_URL),
    (re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:[\d.]+Z"), "NOW"),
    (re.compile(r"Note: [\d.]+% of the store .*? searched\s+", re.DOTALL), ""),
    (re.compile(r"forgot [0-9a-f]{12}"), "forgot ID"),
    (re.compile(r"· \d{1,2}:\d\d [AP]M"), "· NOW"),  # a terminal shows the time of today's records
    (re.compile(r"in \d+ other file"), "in N other file"),
    (re.compile(r"-?\b\d+\.\d+"), "N"),  # scores differ between processors
    (re.compile(r"(?<=\d), 20\d\d(?=[),])"), ""),  # a year is shown where it is not the current one
)


@dataclass(frozen=True, slots=True)
class Example:
    """``command`` of a document; ``printed`` is what follows it there, from and to ``place``.

    It is None in a ``sh`` block.
    """

    command: str
    printed: str | None
    place: tuple[int, int]

    @property
    def elsewhere(self) -> str:
        """Why it is not run, or nothing."""
        if "curl " in self.command and shutil.which("curl") is None:
            return "curl is not installed"
        shown = f"{self.command}\n{self.printed}" if "[y/N]" in str(self.printed) else self.command
        return next((why for part, why in ELSEWHERE.items() if part in shown), "")


def examples(text: str) -> Iterator[Example]:
    """The commands of a Markdown document in their order."""
    for block in _FENCE.finditer(text):
        indent, kind, body = block.groups()
        prompt = f"{indent}$ " if kind == "console" else indent
        lines, place = body.splitlines(keepends=True), block.start(3)
        while lines:
            line = lines.pop(0)
            place += len(line)
            command = line.removeprefix(prompt)
            while lines and not _complete(command):
                place += len(lines[0])
                command += lines.pop(0)
            printed = place
            while kind == "console" and lines and not lines[0].startswith(prompt):
                place += len(lines.pop(0))
            if command.strip() and not command.lstrip().startswith("#"):
                output = text[printed:place] if kind == "console" else None
                yield Example(command.rstrip(), output, (printed, place))


def _complete(command: str) -> bool:
    if command.rstrip().endswith("|"):
        return False
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return False
    return not command.endswith("\\\n")


def story_day(text: str) -> date | None:
    """The day on which the output in a document was written, None where it is no real output."""
    named = _STORY.match(text)
    return date.fromisoformat(named[1]) if named else None


def without_waiting(printed: str) -> str:
    """``printed`` without the line that tells a reader of a busy machine to wait."""
    return _WAITING.sub("", printed)


def compared(printed: str, day: date) -> str:
    """``printed`` in one line, without what differs from run to run.

    ``day`` is that on which the run began; it may end on the next one. Lines are joined before,
    since where they were broken depends on the length of the home's path.
    """
    printed = " ".join(printed.split())
    for pattern, instead in _VOLATILE:
        printed = pattern.sub(instead, printed)
    for each in (day, day + timedelta(days=1)):
        today = rf"\b{each:%b} {each.day}(?:, \d{{1,2}}:\d\d [AP]M)?|\b{each} \d\d:\d\d\b"
        printed = re.sub(today, "TODAY", printed)
    return " ".join(printed.split())


class Shell:
    """A shell in ``home`` whose ``mem-search`` is this checkout, with a worker of its own."""

    def __init__(self, home: Path, environ: Mapping[str, str], *, colours: bool = False) -> None:
        self._home, self._store = home, home / ".mem-search"
        commands = home.parent / "bin"
        commands.mkdir()
        program = commands / "mem-search"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mem_search "$@"\n', "utf-8")
        program.chmod(0o755)
        plain = {k: v for k, v in environ.items() if not k.startswith(("MEM_SEARCH_", "CLAUDE_"))}
        self._environ = plain | {
            "HOME": str(home),
            "PATH": f"{commands}{os.pathsep}{environ.get('PATH', os.defpath)}",
            "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "src"),
            "KF_RULE_CACHE_DIR": str(Path.home() / ".cache" / "kingfisher" / "rule-cache"),
            "MEM_SEARCH_PORT": "0",
            "MEM_SEARCH_COMMAND": "mem-search",
            "SHELL": "/bin/bash",
            "LANG": "C.UTF-8",
            "NO_COLOR": "" if colours else "1",
            "PAGER": "cat",
            "FORCE_HYPERLINK": "0",
            "TERM": "xterm",
            "TZ": "UTC",
        }
        self._process: subprocess.Popen[str] | None = None
        self._screen = -1

    def __enter__(self) -> Shell:
        return self

    def __exit__(self, *_: object) -> None:
        self.ran("mem-search worker stop")
        self.new_document()

    def start(self) -> None:
        """Start the worker, which takes longer than a command waits where the machine is busy."""
        deadline = time.monotonic() + _SECONDS
        while self.ran("mem-search worker start")[0] and time.monotonic() < deadline:
            time.sleep(0.1)

    def new_document(self) -> None:
        """Forget variables and the directory, as a reader who opens another document."""
        if self._process and self._process.stdin:
            self._process.stdin.close()
            self._process.wait(_SECONDS)
            os.close(self._screen)
        self._process = None

    def ran(self, command: str) -> tuple[int, str]:
        """(exit code, what stands on the screen) after a command, with the paths of a reader."""
        code, shown = self.painted(command)
        return code, self._as_shown(_CONTROL.sub("", _OVERWRITTEN.sub("", shown)))

    def painted(self, command: str) -> tuple[int, str]:
        """(exit code, everything that is written to the screen), with what acts on a terminal."""
        if self._process is None:
            self._screen, written = pty.openpty()
            termios.tcsetwinsize(written, (24, 80))
            self._process = subprocess.Popen(
                ["bash", "--norc"], env=self._environ, cwd=self._home, text=True, encoding="utf-8",
                stdin=subprocess.PIPE, stdout=written, stderr=written, start_new_session=True,
            )  # fmt: skip
            os.close(written)
        assert self._process.stdin is not None
        limited = 'curl() { command curl --fail-with-body "$@"; }\n'
        here = f"W={self._url()} BASE={self._url()} TOKEN={self._token()}\n"
        command = command.replace(SHOWN_URL, self._url())
        self._process.stdin.write(f"{limited}{here}{{ {command}\n}} </dev/null\n")
        self._process.stdin.write(f"printf '{_END}%s{_END}' $?\n")
        self._process.stdin.flush()
        printed = b""
        while not printed.endswith(_END.encode()) or printed.count(_END.encode()) < 2:
            printed += os.read(self._screen, 1 << 16)
        shown, code, _ = printed.decode("utf-8", "replace").replace("\r\n", "\n").split(_END)
        return int(code), shown

    def settle(self) -> None:
        """Wait until what was stored is embedded and in the index: then answers are the same.

        Returns at once before the first command that starts the worker.
        """
        if not self._token():
            return
        deadline = time.monotonic() + _SECONDS
        while not self._settled():
            if time.monotonic() > deadline:
                raise RuntimeError("the index was not filled in time")
            time.sleep(0.1)

    def with_stored_refs(self, command: str) -> str:
        """``command`` with a stored record for each that it names, since documents name records of
        their readers: ``note:7`` becomes another note.
        """
        return _REF.sub(self._stored, command)

    def _stored(self, named: re.Match[str]) -> str:
        kind, mark = named[1] or "observation", named[2] or ":"
        query = f"kinds={kind}&dateEnd=now&format=json&limit=1"
        found = self._call(f"/api/search/unified?{query}")["results"]
        return str(found[0]["ref"]).replace(":", mark) if found else named[0]

    def _settled(self) -> bool:
        stats = self._call("/api/stats")
        is_filling = stats["sparse"]["state"] == "filling"
        return stats["index"]["state"] == "ok" and not stats["outbox"] and not is_filling

    def _call(self, path: str) -> Any:
        request = urllib.request.Request(
            self._url() + path, headers={"Authorization": f"Bearer {self._token()}"}
        )
        with urllib.request.urlopen(request, timeout=_SECONDS) as reply:
            return json.loads(reply.read())

    def _url(self) -> str:
        file = self._store / "worker.json"
        return str(json.loads(file.read_text("utf-8"))["url"]) if file.exists() else SHOWN_URL

    def _token(self) -> str:
        file = self._store / "token"
        return file.read_text("utf-8").strip() if file.exists() else ""

    def _as_shown(self, printed: str) -> str:
        return _ADVICE.sub("", without_waiting(printed).replace(str(self._home), SHOWN_HOME))
