"""One reading of a rollout of Codex: what its lines are, and which of them are copied history."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from mem_search.patterns import pattern
from mem_search.sources.agent_work.events import AgentText, Compaction, Event, Prompt
from mem_search.sources.agent_work.history import made_at
from mem_search.sources.agent_work.text import clean_text, without_injected
from mem_search.sources.agent_work.transcripts import Tools, call_of, exit_code, result_of
from mem_search.sources.conversations import fields, items
from mem_search.sources.whole_files import UnreadLines

TOOLS: Final[Tools] = {
    "shell": ("Bash", "command"),
    "shell_command": ("Bash", "command"),
    "exec_command": ("Bash", "cmd", "command"),
    "local_shell": ("Bash", "command"),
    "web_search": ("WebSearch", "query"),
    "view_image": ("Read", "path"),
    "spawn_agent": ("Agent", "message"),
}
_EDIT: Final[Tools] = {"apply_patch": ("Edit", "file_path")}
_NOT_WORK: Final = (
    "additional_tools", "agent_message", "compaction", "compaction_trigger", "context_compaction",
    "ghost_snapshot", "image_generation_call", "inter_agent_communication",
    "inter_agent_communication_metadata", "mcp_tool_call_output", "other", "reasoning",
    "token_usage_record", "tool_search_call", "tool_search_output", "world_state",
)  # fmt: skip
"""Kinds of lines and items that say nothing of the work, or nothing that another does not say."""
_CALLS: Final = ("function_call", "custom_tool_call", "local_shell_call", "web_search_call")
_ANSWERS: Final = ("function_call_output", "custom_tool_call_output")
_ADDED: Final = pattern(r"\s*(?:<([A-Za-z_]+)[\s>]|# AGENTS\.md instructions)")
_REQUEST: Final = "## My request for Codex:"
_PATCHED: Final = pattern(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_APPLIED: Final = "Success. Updated the following files:"
_HEAD: Final = pattern(
    r"(?:(?:Chunk ID|Wall time|Exit code|Process|Original token count|Total output lines)"
    r"[^\n]*\n){1,6}Output:\n"
)
"""What the program writes before the output of a command."""
_EXITED: Final = pattern(r"(?:Exit code:|Process exited with code) (\d{1,9})")
_RUNNING: Final = pattern(r"Process running with session ID (\d{1,9})")


NAMED: Final = pattern(r"rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-(?:[\w-]*?_)?([\w-]+)")
"""The name of a file: when it began, its thread, and its own id where that is another one."""
_AT_ONCE_MS: Final = 100
"""Between two lines that a program wrote in one go."""


class Rollout:
    """One reading of a file: what its lines so far say of those that follow.

    ``began``: the line is a prompt. ``base`` is the file that this one goes on, until it is read.
    ``ending`` is that of ids in such a file. Calls that change files are kept with these until they
    are answered; commands that had not ended by then are kept under the number of their process.
    """

    def __init__(self, session: str, unread: UnreadLines) -> None:
        self.session, self.cwd, self.branch = session, "", ""
        self.prompts, self.began, self.count = 0, False, 0
        self.base: list[object] = []
        self.ending = ""
        self.threads: list[str] = []
        """The thread of the file, then those whose history it begins with, the newest first."""
        self.directories: dict[str, str] = {}
        self.is_subagent = False
        self._copies = self._is_alone = False
        self._forked = self._compared = ""
        self._turn = ""
        self._origin = ""
        self._at: int | None = None
        self.at: int | None = None
        """Of the last line that had a time."""
        self._name, self._unread = session, unread
        self._has_items: bool | None = None
        self._patches: dict[str, list[str]] = {}
        self._commands: dict[str, str] = {}
        self._running: dict[str, str] = {}

    def events(self, sort: object, payload: Mapping[str, Any]) -> Iterator[Event]:
        """The events of a line."""
        self.began = False
        passed = fields(payload.get("internal_chat_message_metadata_passthrough"))
        self._turn = clean_text(payload.get("turn_id") or passed.get("turn_id")) or self._turn
        if sort == "session_meta" or "instructions" in payload:
            self._begins(payload)
        elif sort == "turn_context":
            self.cwd = clean_text(payload.get("cwd")) or self.cwd
        elif sort == "compacted":
            yield Compaction(clean_text(payload.get("message")))
        elif sort == "event_msg":
            yield from self._shown(payload)
        else:
            yield from self._item(payload, sort)

    def _begins(self, payload: Mapping[str, Any]) -> None:
        """The first statement is that of the file; others came with the history that it copied."""
        thread, cwd = clean_text(payload.get("id")), clean_text(payload.get("cwd"))
        if self.threads and thread != self.session:
            if thread and thread not in self.threads and (self._copies or not self.count):
                self.threads.append(thread)
                self.directories[thread], self._copies = cwd, True
                self._origin = self._origin or thread
            return
        self.session = thread or self.session
        self.threads = self.threads or [self.session]
        forked = clean_text(payload.get("forked_from_id"))
        self._copies, self._origin, self._forked = bool(forked), forked, forked
        self.cwd = cwd or self.cwd
        self.branch = clean_text(fields(payload.get("git")).get("branch")) or self.branch
        self.is_subagent = "subagent" in fields(payload.get("source"))
        if version := clean_text(payload.get("cli_version")):
            self._unread.program = f"Codex {version}"
        named = NAMED.match(self._name)
        own = named[1] if named else self._name
        if payload.get("history_base") and own != self.session:
            self.base.append(payload["history_base"])
            self.ending = f"-{own}"

    @property
    def above(self) -> list[str]:
        """The threads whose files can say what of this one is copied history, the nearest first;
        none where turns do, or where none of the files is there.
        """
        is_told = not self._copies or (made_at(self._turn) and made_at(self.session))
        return [] if is_told or self._is_alone else self.threads[1:] or [self._forked]

    def finds(self, thread: str) -> None:
        """This one of the threads ``above`` has a file; "" for none."""
        self._compared, self._is_alone = thread, not thread

    def compare(self, events: Iterable[Event], parent: Iterator[tuple[Event, str]]) -> None:
        """``events`` are copied history if the next ones of the ``parent`` are the same. What is
        not in the file of the parent's parent may be in that of the parent, which is not there.
        """
        if self._is_alone:
            return
        nearest = self.above[0]
        for event in events:
            other, origin = next(parent, (None, nearest))
            # An order to a subagent is the prompt of its file.
            if getattr(other, "text", other) != getattr(event, "text", event):
                self._copies, self._is_alone = self._compared != nearest, True
                self._origin = nearest
                return
            self._origin = origin

    def session_at(self, at: int | None) -> str:
        """The session of the line at hand. A copy has the time at which the fork was made, but its
        turn is older than the file; where nothing else tells, copies are written in one moment.
        """
        before, self._at = self._at, at or self._at
        if self._copies and (turn := made_at(self._turn)) and (own := made_at(self.session)):
            self._copies = turn < own
            older = [each for each in self.threads[1:] if (made_at(each) or 0) <= turn]
            self._origin = next(iter(older), self.threads[-1] if self.threads[1:] else self._origin)
        elif self._copies and self._is_alone:
            self._copies = before is None or at is None or at - before <= _AT_ONCE_MS
        return self._origin if self._copies else self.session

    def _shown(self, event: Mapping[str, Any]) -> Iterator[Event]:
        """What the program showed; it repeats the items, except in files that have none."""
        item = fields(event.get("item"))
        kind = item.get("type") if event.get("type") == "item_completed" else event.get("type")
        parts = map(fields, items(item.get("content")))
        said = "\n".join(clean_text(part.get("text")) for part in parts)
        said = said or clean_text(event.get("message"))
        if kind in ("UserMessage", "user_message") and not self._has_items:
            self._has_items = False
            yield from self._asked(said)
        elif kind in ("AgentMessage", "agent_message") and self._has_items is False and said:
            yield AgentText(said.strip())

    def _item(self, item: Mapping[str, Any], sort: object) -> Iterator[Event]:
        kind = item.get("type")
        if kind == "message" and not isinstance(item.get("content"), list):
            self._unread.not_known("message without content")
        elif kind == "message":
            parts = map(fields, items(item.get("content")))
            said = "\n".join(clean_text(part.get("text")) for part in parts)
            if item.get("role") == "user":
                if self._has_items is None and said.strip() and not _is_added(said):
                    self._has_items = True
                if self._has_items is not False:
                    yield from self._asked(said)
            elif item.get("role") == "assistant" and said.strip() and self._has_items is not False:
                yield AgentText(said.strip())
        elif kind in _CALLS:
            yield from self._called(item)
        elif kind in _ANSWERS:
            yield from self._answered(clean_text(item.get("call_id")), item.get("output"))
        elif item and "record_type" not in item and sort not in _NOT_WORK and kind not in _NOT_WORK:
            self._unread.not_known(f"type {sort}" if sort != "response_item" else f"item {kind}")

    def _asked(self, words: str) -> Iterator[Event]:
        if _is_added(words) or not words.strip():
            return
        self.prompts += 1
        self.began = True
        if asked := without_injected(words.partition(_REQUEST)[2] or words):
            yield Prompt(asked)

    def _called(self, item: Mapping[str, Any]) -> Iterator[Event]:
        given: object = item.get("arguments", item.get("action"))
        try:
            given = json.loads(given) if isinstance(given, str) else given
        except (ValueError, RecursionError):
            given = {}
        arguments = fields(given)
        key = clean_text(item.get("call_id")) or clean_text(item.get("id"))
        name = clean_text(item.get("name")) or str(item["type"]).removesuffix("_call")
        command = _command(arguments.get("command", arguments.get("cmd")))
        whole = command or clean_text(item.get("input")) or clean_text(arguments.get("input"))
        if paths := list(dict.fromkeys(path.strip() for path in _PATCHED.findall(whole))):
            self._patches[key] = paths
            for path in paths:
                yield call_of(_EDIT, f"{key}/{path}", "apply_patch", {"file_path": path})
            return
        if name == "write_stdin":  # it asks how a command ends that was started before
            command = self._running.pop(str(arguments.get("session_id")), "")
            name = "exec_command" if command else name
        if command:
            self._commands[key], arguments = command, {"command": command}
        yield call_of(TOOLS, key, name, arguments)
        if item["type"] == "web_search_call":  # the model has the answer, the file has not
            yield result_of(key, "", failed=False)

    def _answered(self, key: str, output: object) -> Iterator[Event]:
        answer, code, running = _answer(output)
        command, paths = self._commands.pop(key, ""), self._patches.pop(key, ())
        if running and command:
            self._running[running] = command
        for path in paths:
            failed = bool(code) or _APPLIED not in answer
            yield result_of(f"{key}/{path}", answer, failed=failed)
        if not paths:
            yield result_of(key, answer, failed=False, code=code)


def _is_added(words: str) -> bool:
    """Whether the program wrote it: an instruction, or a block in tags of one name."""
    match = _ADDED.match(words)
    if match is None:
        return False
    return match[1] is None or words.rstrip().endswith(f"</{match[1]}>")


def _command(given: object) -> str:
    """A command as a person types it; one that was given word by word may be that of a shell."""
    if not isinstance(given, list):
        return clean_text(given)
    words = [clean_text(word) for word in given]
    is_shell = len(words) > 2 and words[1] in ("-lc", "-c")
    return words[2] if is_shell else " ".join(words)


def _answer(output: object) -> tuple[str, int, str]:
    """What a tool answered, the exit code, and the number of a process that still runs."""
    if isinstance(output, str) and output.startswith("{"):
        try:
            output = json.loads(output)
        except (ValueError, RecursionError):
            return clean_text(output), 0, ""
    code, running = 0, ""
    if isinstance(output, Mapping):
        code = exit_code(fields(output.get("metadata")).get("exit_code"))
        output = output.get("output", output.get("content"))
    if isinstance(output, list):
        output = "\n".join(clean_text(fields(part).get("text")) for part in output)
    answer = clean_text(output)
    while head := _HEAD.match(answer):  # a patch in a command has one of each
        exited, runs = _EXITED.search(head[0]), _RUNNING.search(head[0])
        code = exit_code(exited[1]) if exited else code
        running = runs[1] if runs else running
        answer = answer[head.end() :]
    return answer, code, running
