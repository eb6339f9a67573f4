"""What an agent of another vendor is to us: where it is configured, and what we write there.

An adapter is data: it names the files, and the entries in them, for the machine at hand. Writing,
taking back and checking are the same for all (``installing``).
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import join
from typing import Any, Final

from mem_search.errors import NotFound
from mem_search.platform import expanded

NAME: Final = "mem-search"
"""The name of the MCP server, the skill, and the files that are ours."""

MARK: Final = "--mem-search="
"""The argument of every hook of ours, followed by the name of the agent."""


FOLDER_VARIABLES: Final = (
    "CLAUDE_CONFIG_DIR", "CLINE_DATA_DIR", "CLINE_DIR", "CODEX_HOME",
    "CONTINUE_GLOBAL_DIR", "COPILOT_HOME", "FACTORY_HOME_OVERRIDE", "KIRO_HOME",
    "OPENCLAW_STATE_DIR", "PI_CODING_AGENT_DIR", "PI_CODING_AGENT_SESSION_DIR", "QWEN_HOME",
    "QWEN_RUNTIME_DIR", "VSCODE_PORTABLE", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
)  # fmt: skip
"""Variables that say where an agent has its folder. They travel with a request, because the worker
may have been started before they were set; ``plugin/bin/hook.py`` has the same."""

MAX_FOLDER_CHARS: Final = 4096
"""Of the value of one: ``PATH_MAX`` of Linux."""


def folders_in(environ: object) -> dict[str, str]:
    """Those of ``FOLDER_VARIABLES`` that an environment has; what is none is left out."""
    given = environ if isinstance(environ, Mapping) else {}
    return {
        name: value
        for name in FOLDER_VARIABLES
        if isinstance(value := given.get(name), str)
        and 0 < len(value) <= MAX_FOLDER_CHARS
        and os.path.isabs(os.path.expanduser(value))  # noqa: PTH111, PTH117  Path raises for ~x
    }


@dataclass(frozen=True, slots=True)
class Entry:
    """``value`` at ``path`` of a JSON or TOML file; with ``in_list`` an item of the list there."""

    file: Path
    path: tuple[str, ...]
    value: Any
    in_list: bool = False


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file that is all ours."""

    file: Path
    text: str


Part = Entry | OwnFile


@dataclass(frozen=True, slots=True)
class Setup:
    """The machine: its person's home and environment, and how mem-search is started on it.

    ``store`` is the home of mem-search where it is not the usual one.
    """

    home: Path
    environ: Mapping[str, str]
    command: str
    python: str
    plugin: Path
    store: str = ""

    @classmethod
    def here(cls, store: Path) -> Setup:
        """This machine, and this installation of mem-search with its home. Raises NotFound."""
        beside = Path(sys.executable).with_name(NAME)
        command = os.environ.get("MEM_SEARCH_COMMAND") or shutil.which(NAME) or str(beside)
        home = Path(os.environ.get("HOME") or Path.home())
        own = "" if store == home / f".{NAME}" else str(store)
        return cls(home, os.environ, command, sys.executable, plugin_folder(), own)

    def folder(self, variable: str, usual: str) -> Path:
        """The folder that an environment variable names, else ``usual`` in the home."""
        given = self.environ.get(variable, "")
        return Path(expanded(given)) if given else self.home / usual

    @property
    def server(self) -> dict[str, Any]:
        """How an agent starts the MCP server."""
        started: dict[str, Any] = {"command": self.command, "args": ["mcp"]}
        return {**started, "env": {"MEM_SEARCH_HOME": self.store}} if self.store else started

    def hook(self, agent: str) -> list[str]:
        """The command of a hook, word by word."""
        script = str(self.plugin / "bin" / "hook.py")
        words = [self.python, "-I", "-S", script, f"{MARK}{agent}"]
        return ["env", f"MEM_SEARCH_HOME={self.store}", *words] if self.store else words

    def hook_line(self, agent: str) -> str:
        """The same for a shell."""
        return join(self.hook(agent))

    def skill(self, folder: Path) -> OwnFile:
        """The skill, in an agent's folder of skills."""
        text = self.plugin / "skills" / NAME / "SKILL.md"
        return OwnFile(folder / NAME / "SKILL.md", text.read_text("utf-8"))

    def hooks(
        self, agent: str, file: Path, seconds: Mapping[str, int], unit: int = 1
    ) -> Iterable[Entry]:
        """A hook for each event, as Claude Code writes them; ``unit`` is how many a second."""
        for event, time in seconds.items():
            hook = {"type": "command", "command": self.hook_line(agent), "timeout": time * unit}
            yield Entry(file, ("hooks", event), {"hooks": [hook]}, in_list=True)

    def plugin_hooks(self) -> Iterable[tuple[str, Any]]:
        """(event, entry) of the hooks of the plugin for Claude Code, with our paths."""
        given = json.loads((self.plugin / "hooks" / "hooks.json").read_text("utf-8"))
        first, *words = self.hook("claude-code")
        for event, entries in given["hooks"].items():
            for entry in entries:
                hooks = [{**hook, "command": first, "args": words} for hook in entry["hooks"]]
                yield event, {**entry, "hooks": hooks}


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent. ``source`` reads its sessions, and ``resume`` opens one again: a command with
    ``{session}``, or a sentence that says why there is none.

    ``parts`` yields what is written into its folder of ``settings``, beside the skill.
    ``documented`` is where its vendor describes the files. ``afterwards`` is what the person has to
    do once. ``refuses`` says why nothing may be written, or nothing.
    """

    name: str
    title: str
    settings: Callable[[Setup], Path]
    parts: Callable[[Setup, Path], Iterable[Part]]
    resume: str
    documented: str
    source: str = ""
    afterwards: str = ""
    refuses: Callable[[Setup], str] = lambda _: ""

    def wanted(self, setup: Setup) -> Iterable[Part]:
        """All that is written for it on this machine."""
        folder = self.settings(setup)
        yield from self.parts(setup, folder)
        yield setup.skill(folder / "skills")

    @property
    def sessions(self) -> str:
        """The name of the source of its sessions."""
        return self.source or self.name


def plugin_folder() -> Path:
    """The folder with skill and hooks: in the package, or in its checkout. Raises NotFound."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "plugin", package.parents[1] / "plugin"):
        if (folder / "bin" / "hook.py").is_file():
            return folder
    raise NotFound(f"{package} has no folder plugin; install mem-search again")
