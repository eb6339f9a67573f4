"""Sessions as each agent writes them: a parent, a fork or another one, and a subagent's.

``WRITERS`` has a writer for each form of each source of transcripts. It writes the first messages
of a session, or all, into a folder, and beside what is there. ``FORMS`` of a source are a name and
what tells them apart: ``opencode 2``.
"""

import base64
import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

PARENT, FORK, CHILD = (f"019a0000-000{day}-7000-8000-{day:012}" for day in (1, 3, 5))
CWD = "/gone/harbour"
TURNS = [
    ("How does the tide gate open", "It compares the inner and the outer level each minute."),
    ("Which sensor is right", "I decided to use the infrared sensor instead of the camera."),
    ("Count the herons as well", "The heron counter is on the dashboard now, with a test."),
]
NEW = [("Plant a quince", "The quince register lists every tree by its row and its year.")]
ORDER = [("Look for the cache misses", "The cache misses because its key holds the time of day.")]
COPIED = 2
"""Turns of the parent that the fork begins with."""

Lines = list[dict[str, Any]]
Turn = tuple[str, str]


@dataclass(frozen=True)
class Made:
    """A session as it is to be written: ``copied`` turns of the parent come first. A file that goes
    on with it has the turns ``since`` one. A copy that went on differently has messages
    of its own from the turn ``apart`` on.
    """

    id: str
    turns: list[Turn]
    copied: int = 0
    day: int = 1
    is_child: bool = False
    since: int = 0
    apart: int = 9

    def __iter__(self) -> Any:
        """(number, is copied, asked, said, when asked, when said) of each turn."""
        for n, (asked, said) in [*enumerate([*TURNS[: self.copied], *self.turns])][self.since :]:
            is_copy = n < self.copied
            day = 1 if is_copy else self.day
            at = [f"2026-01-{day:02}T0{n}:00:0{s}.000Z" for s in (1, 9)]
            yield n, is_copy, asked, said, *at

    @property
    def began(self) -> str:
        return f"2026-01-{self.day:02}T00:00:00.000Z"

    def uuid(self, n: int, what: int, *, is_copy: bool) -> str:
        of = PARENT if is_copy else self.id
        copy = int(n >= self.apart)
        return f"{of[-1]}{n}{what}{copy}0000-0000-4000-8000-000000000000"

    def messages(self, count: int | None) -> list["Message"]:
        """The first messages."""
        return [
            Message(self.uuid(n, what, is_copy=is_copy), role, words, at)
            for n, is_copy, asked, said, asked_at, said_at in self
            for what, role, words, at in ((1, "user", asked, asked_at),
                                          (2, "assistant", said, said_at))
        ][:count]  # fmt: skip


@dataclass(frozen=True)
class Message:
    id: str
    role: str
    words: str
    at: str

    @property
    def is_asked(self) -> bool:
        return self.role == "user"

    @property
    def ms(self) -> int:
        return ms(self.at)


def ms(at: str) -> int:
    return round(datetime.fromisoformat(at).timestamp() * 1000)


def text(words: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": words}]


# Lines, to which the program appends


def claude_code(made: Made) -> tuple[str, Lines]:
    common = {"cwd": CWD, "gitBranch": "main", "sessionId": made.id}
    lines: Lines = [{"type": "queue-operation", "operation": "dequeue", "sessionId": made.id,
                     "timestamp": made.began}]  # fmt: skip
    for each in made.messages(None):
        content = each.words if each.is_asked else text(each.words)
        lines.append({"type": each.role, "uuid": each.id, "timestamp": each.at,
                      "message": {"role": each.role, "content": content}, **common})  # fmt: skip
    return f"-gone-harbour/{made.id}.jsonl", lines


def qwen(made: Made) -> tuple[str, Lines]:
    lines: Lines = []
    for n, is_copy, asked, said, at, then in made:
        for what, kind, words, when in ((1, "user", asked, at), (2, "assistant", said, then)):
            uuid = made.uuid(n, what, is_copy=is_copy)
            line = {"uuid": uuid, "sessionId": made.id, "timestamp": when, "cwd": CWD,
                    "type": kind, "message": {"parts": [{"text": words}]}}  # fmt: skip
            stamp = {"forkedFrom": {"sessionId": PARENT, "messageUuid": uuid}} if is_copy else {}
            lines.append({**line, **stamp})
    return f"-gone-harbour/chats/{made.id}.jsonl", lines


def codex(made: Made) -> tuple[str, Lines]:
    source = {"subagent": {"thread_spawn": {}}} if made.is_child else "cli"
    meta = {"id": made.id, "cwd": CWD, "source": source, "timestamp": made.began}
    of_parent = {"id": PARENT, "cwd": CWD, "source": "cli"}
    lines: Lines = [{"type": "session_meta", "timestamp": made.began, "payload": meta}]
    if made.copied:
        lines.append({"type": "session_meta", "timestamp": made.began, "payload": of_parent})
    for n, is_copy, asked, said, at, then in made:
        turn = f"019a0000-000{1 if is_copy else made.day}-7000-8000-10000000000{n}"
        at, then = (made.began, made.began) if is_copy else (at, then)
        lines += [
            {"type": "turn_context", "timestamp": at, "payload": {"turn_id": turn, "cwd": CWD}},
            {"type": "response_item", "timestamp": at, "payload": {
                "type": "message", "role": "user",
                "content": [{"type": "input_text", "text": asked}]}},
            {"type": "event_msg", "timestamp": at, "payload": {"type": "token_count"}},
            {"type": "response_item", "timestamp": then, "payload": {
                "type": "message", "role": "assistant",
                "content": [{"type": "output_text", "text": said}]}},
        ]  # fmt: skip
    return f"2026/01/0{made.day}/rollout-2026-01-0{made.day}T00-00-00-{made.id}.jsonl", lines


def pi(made: Made) -> tuple[str, Lines]:
    above = {"parentSession": f"/x/2026-01-01T00-00-00-000Z_{PARENT}.jsonl"} if made.copied else {}
    lines: Lines = [{"type": "session", "version": 3, "id": made.id, "timestamp": made.began,
                     "cwd": CWD, **above}]  # fmt: skip
    for each in made.messages(None):
        said = {"role": each.role, "content": text(each.words)}
        lines.append({"type": "message", "id": each.id[:8], "timestamp": each.at, "message": said})
    return f"--gone--/2026-01-0{made.day}T00-00-00-000Z_{made.id}.jsonl", lines


def openclaw(made: Made) -> tuple[str, Lines]:
    return f"agents/main/sessions/{made.id}.jsonl", pi(made)[1]


def copilot(made: Made) -> tuple[str, Lines]:
    start = {"sessionId": made.id, "context": {"cwd": CWD, "branch": "main"}}
    lines: Lines = [{"type": "session.start", "id": f"start-{made.id}", "timestamp": made.began,
                     "data": start}]  # fmt: skip
    for each in made.messages(None):
        lines.append({"type": f"{each.role}.message", "id": each.id,
                      "timestamp": each.at, "data": {"content": each.words}})  # fmt: skip
    return f"session-state/{made.id}/events.jsonl", lines


def gemini(made: Made) -> tuple[str, Lines]:
    lines: Lines = [{"sessionId": made.id, "startTime": made.began, "kind": "main",
                     "directories": [CWD]}]  # fmt: skip
    for each in made.messages(None):
        kind = "user" if each.is_asked else "gemini"
        line = {"id": each.id, "type": kind, "timestamp": each.at, "content": each.words}
        lines += [line] if each.is_asked else [{**line, "content": each.words[:9]}, line]
    return f"harbour/chats/session-2026-01-01T00-00-{made.id[-4:]}{made.day}.jsonl", lines


def droid(made: Made) -> tuple[str, Lines]:
    copied = made.messages(None)[: 2 * made.copied]
    fork = {"parent": PARENT, "forkedAtMessageId": copied[-1].id} if copied else {}
    caller = {"callingSessionId": PARENT} if made.is_child else {}
    start = {"type": "session_start", "id": made.id, "title": "", "version": 2, "cwd": CWD}
    lines: Lines = [{**start, **fork, **caller}]
    for each in made.messages(None):
        said = {"role": each.role, "content": text(each.words)}
        lines.append({"type": "message", "id": each.id, "timestamp": each.at, "message": said})
    return f"sessions/-gone-harbour/{made.id}.jsonl", lines


def cursor_transcript(made: Made) -> tuple[str, Lines]:
    lines: Lines = []
    for each in made.messages(None):
        at = datetime.fromisoformat(each.at)
        sent = f"<timestamp>Thursday, {at:%b %d, %Y, %I:%M %p} (UTC)</timestamp>"
        said = f"{sent}\n<user_query>\n{each.words}\n</user_query>" if each.is_asked else each.words
        ran = [] if each.is_asked else [{"type": "tool_use", "name": "Shell", "input": {
            "command": "make", "working_directory": CWD}}]  # fmt: skip
        content = [*text(said), *ran]
        lines.append({"role": each.role, "message": {"content": content}})
    return f"projects/gone-harbour/agent-transcripts/{made.id}/{made.id}.jsonl", lines


def kiro_file(made: Made) -> tuple[str, Lines]:
    lines: Lines = []
    for each in made.messages(None):
        data = {"message_id": each.id, "content": [{"kind": "text", "data": each.words}],
                "meta": {"timestamp": each.ms // 1000}}  # fmt: skip
        kind = "Prompt" if each.is_asked else "AssistantMessage"
        lines.append({"version": "v1", "kind": kind, "data": data})
    return f"sessions/cli/{made.id}.jsonl", lines


def kiro_folder(made: Made) -> tuple[str, Lines]:
    lines: Lines = [
        {"id": each.id, "timestamp": each.at,
         "payload": {"type": each.role, "content": each.words}}
        for each in made.messages(None)
    ]  # fmt: skip
    return f"sessions/0cc175b9/sess_{made.id}/messages.jsonl", lines


def antigravity(made: Made) -> tuple[str, Lines]:
    lines: Lines = []
    for n, each in enumerate(made.messages(None)):
        step = {"step_index": n, "status": "DONE", "created_at": each.at}
        call = {"name": "list_dir", "args": {"Cwd": json.dumps(CWD)}}
        asked = {"source": "USER_EXPLICIT", "type": "USER_INPUT",
                 "content": f"<USER_REQUEST>\n{each.words}\n</USER_REQUEST>"}  # fmt: skip
        said = {"source": "MODEL", "type": "PLANNER_RESPONSE", "content": each.words,
                "tool_calls": [call]}  # fmt: skip
        lines.append({**step, **(asked if each.is_asked else said)})
    return f"antigravity/brain/{made.id}/.system_generated/logs/transcript.jsonl", lines


def copilot_chat(made: Made) -> tuple[str, Lines]:
    chat = {"version": 3, "sessionId": made.id, "creationDate": ms(made.began), "requests": []}
    lines: Lines = [{"kind": 0, "v": chat}]
    for n, each in enumerate(made.messages(None)):
        if each.is_asked:
            request = {"requestId": each.id, "timestamp": each.ms, "response": [],
                       "message": {"text": each.words}}  # fmt: skip
            lines.append({"kind": 2, "k": ["requests"], "v": [request]})
        else:
            path = ["requests", n // 2, "response"]
            lines.append({"kind": 2, "k": path, "v": [{"value": each.words}]})
    return f"workspaceStorage/0a1b/chatSessions/{made.id}.jsonl", lines


LINES: Mapping[str, Callable[[Made], tuple[str, Lines]]] = {
    "claude-code": claude_code, "qwen": qwen, "codex": codex, "pi": pi, "openclaw": openclaw,
    "copilot": copilot, "gemini": gemini, "droid": droid, "cursor transcript": cursor_transcript,
    "kiro file": kiro_file, "kiro folder": kiro_folder, "antigravity": antigravity,
    "copilot-chat": copilot_chat,
}  # fmt: skip

PLACES = {
    "copilot": "session-state", "openclaw": "agents", "droid": "sessions",
    "cursor transcript": "projects", "kiro file": "sessions", "kiro folder": "sessions",
    "antigravity": "antigravity", "copilot-chat": "workspaceStorage",
}  # fmt: skip
"""The folder that is read, below that of a test."""


def write_lines(form: str, root: Path, made: Made, count: int | None) -> Path:
    """The first lines of a session, or all. Those that are there already stay."""
    place, lines = LINES[form](made)
    path = root / place
    path.parent.mkdir(parents=True, exist_ok=True)
    if form == "kiro file":
        path.with_suffix(".json").write_text(json.dumps({"session_id": made.id, "cwd": CWD}))
    if form == "kiro folder":
        state = {"id": made.id, "workspacePaths": [CWD]}
        (path.parent / "session.json").write_text(json.dumps(state))
    if form == "copilot-chat":
        (root / "workspaceStorage/0a1b/workspace.json").write_text(f'{{"folder": "file://{CWD}"}}')
    has = path.read_bytes().count(b"\n") if path.exists() else 0
    with path.open("a") as file:
        file.writelines(f"{json.dumps(line)}\n" for line in lines[has:count])
    return root / PLACES.get(form, "")


# Documents, which the program writes anew


def _document(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def cline(root: Path, made: Made, count: int | None) -> Path:
    said = [{"id": each.id, "ts": each.ms, "role": each.role, "content": text(each.words)}
            for each in made.messages(count)]  # fmt: skip
    session = PARENT if made.is_child else made.id
    place = root / "sessions" / session
    _document(place / f"{session}.json", {"version": 1, "session_id": session, "cwd": CWD})
    _document(place / f"{made.id}.messages.json", {"version": 1, "messages": said})
    return root / "sessions"


def roo_code(root: Path, made: Made, count: int | None) -> Path:
    tasks = root / "rooveterinaryinc.roo-cline" / "tasks"
    messages = made.messages(count)
    said = [{"ts": each.ms, "type": "say", "text": each.words,
             "say": "text" if n == 0 else "user_feedback" if each.is_asked else "completion_result"}
            for n, each in enumerate(messages)]  # fmt: skip
    _document(tasks / made.id / "ui_messages.json", said)
    above = {"parentTaskId": PARENT, "rootTaskId": PARENT} if made.is_child else {}
    about = {"id": made.id, "task": messages[0].words if messages else "", "workspace": CWD}
    _document(tasks / made.id / "history_item.json", {**about, **above})
    return tasks


def continue_dev(root: Path, made: Made, count: int | None) -> Path:
    history = [{"message": {"role": each.role, "content": each.words}}
               for each in made.messages(count)]  # fmt: skip
    place = root / ".continue" / "sessions"
    head = {"sessionId": made.id, "title": "", "workspaceDirectory": CWD}
    _document(place / f"{made.id}.json", {**head, "history": history})
    listed = json.loads(file.read_text()) if (file := place / "sessions.json").exists() else []
    others = [each for each in listed if each["sessionId"] != made.id]
    _document(file, [*others, {"sessionId": made.id, "dateCreated": str(ms(made.began))}])
    return place


def amp(root: Path, made: Made, count: int | None) -> Path:
    messages = [
        {"messageId": n, "role": each.role, "content": text(each.words),
         **({"meta": {"sentAt": each.ms}} if each.is_asked else {"usage": {"timestamp": each.at}})}
        for n, each in enumerate(made.messages(count))
    ]  # fmt: skip
    initial = {"trees": [{"uri": f"file://{CWD}"}]}
    thread = {"id": f"T-{made.id}", "created": ms(made.began), "env": {"initial": initial}}
    _document(root / "threads" / f"T-{made.id}.json", {**thread, "messages": messages})
    return root / "threads"


def kiro_ide(root: Path, made: Made, count: int | None) -> Path:
    encoded = base64.urlsafe_b64encode(CWD.encode()).decode().replace("=", "_")
    folder = root / hashlib.sha256(CWD.encode()).hexdigest()[:32] / "0cc1"
    history: Lines = []
    for each in made.messages(count):
        if each.is_asked:
            asked = {"role": "user", "id": each.id, "content": text(each.words)}
            history.append({"message": asked})
            continue
        said = {"role": "assistant", "id": each.id, "content": "On it."}
        history.append({"message": said, "executionId": each.id})
        action = {"actionId": "1", "actionType": "say", "emittedAt": each.ms,
                  "output": {"message": each.words}}  # fmt: skip
        _document(folder / each.id, {"executionId": each.id, "actions": [action]})
    _document(root / "workspace-sessions" / encoded / f"{made.id}.json",
              {"sessionId": made.id, "title": "", "history": history})  # fmt: skip
    return root


def gemini_document(root: Path, made: Made, count: int | None) -> Path:
    messages = [
        {"id": each.id, "type": "user" if each.is_asked else "gemini",
         "timestamp": each.at, "content": each.words}
        for each in made.messages(count)
    ]  # fmt: skip
    about = {"sessionId": made.id, "startTime": made.began, "directories": [CWD]}
    name = f"session-2026-01-01T00-00-{made.id[-4:]}{made.day}.json"
    _document(root / "harbour" / "chats" / name, {**about, "messages": messages})
    return root


def aider(root: Path, made: Made, count: int | None) -> Path:
    """All chats are one file: it has what was there, with this chat grown."""
    root = root / "harbour"
    file = root / ".aider.chat.history.md"
    began = f"# aider chat started at 2026-01-{made.day:02} 00:00:00"
    said = [f"#### {each.words}  \n" if each.is_asked else f"{each.words}\n"
            for each in made.messages(count)]  # fmt: skip
    chat = "\n".join([began, "", *said])
    chats = file.read_text().split("\n# aider") if file.exists() else []
    known = {each[:40]: f"# aider{each.removeprefix('# aider')}" for each in chats if each.strip()}
    known = {each.partition("\n")[0]: each for each in known.values()}
    if len(chat) > len(known.get(began, "")):
        known[began] = chat
    root.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(known[each] for each in sorted(known)))
    return root


# Databases, to which the program adds rows


def _rows(path: Path, schema: str, rows: Iterable[tuple[str, tuple[object, ...]]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as store, store:
        store.executescript(schema)
        for table, row in rows:
            marks = ", ".join("?" * len(row))
            store.execute(f"insert or replace into {table} values({marks})", row)


def opencode(root: Path, made: Made, count: int | None) -> Path:
    def rows() -> Iterator[tuple[str, tuple[object, ...]]]:
        above = PARENT if made.is_child else None
        yield "session", (made.id, above, CWD, "New session - 2026", ms(made.began))
        for each in made.messages(count):
            yield "message", (each.id, made.id, each.ms, json.dumps({"role": each.role}))
            part = json.dumps({"type": "text", "text": each.words})
            yield "part", (f"p{each.id}", each.id, made.id, each.ms, part)

    schema = """
        create table if not exists session(id text primary key, parent_id text, directory text,
            title text, time_created integer);
        create table if not exists message(id text primary key, session_id text,
            time_created integer, data text);
        create table if not exists part(id text primary key, message_id text, session_id text,
            time_updated integer, data text);
    """
    _rows(root / "opencode.db", schema, rows())
    return root / "opencode.db"


def opencode_2(root: Path, made: Made, count: int | None) -> Path:
    def rows() -> Iterator[tuple[str, tuple[object, ...]]]:
        above, fork = PARENT if made.is_child else None, PARENT if made.copied else None
        yield "session_v2", (made.id, above, fork, CWD, "", "2.0.14", ms(made.began), 1)
        for n, each in enumerate(made.messages(count)):
            said = {"text": each.words} if each.is_asked else {"content": text(each.words)}
            data = json.dumps({"time": {"created": each.ms}, **said})
            key = f"{made.id}-{n}"  # a fork gives its copies ids of their own
            yield "session_message", (key, made.id, each.role, n, each.ms, each.ms, data)

    schema = """
        create table if not exists session_v2(id text primary key, parent_id text,
            fork_session_id text, directory text, title text, version text, time_created integer,
            time_updated integer);
        create table if not exists session_message(id text primary key, session_id text, type text,
            seq integer, time_created integer, time_updated integer, data text);
    """
    path = root / "opencode.db"
    if made.copied:  # a fork is made where its parent is
        opencode_2(root, Made(PARENT, TURNS), 2 * COPIED)
    _rows(path, schema, rows())
    return path


def cursor(root: Path, made: Made, count: int | None) -> Path:
    def rows() -> Iterator[tuple[str, tuple[object, ...]]]:
        meta = {"agentId": made.id, "createdAt": ms(made.began), "workspacePath": CWD}
        yield "meta", ("0", json.dumps(meta).encode().hex())
        for each in made.messages(count):
            said = f"<user_query>\n{each.words}\n</user_query>" if each.is_asked else each.words
            blob = {"role": each.role, "content": text(said), "createdAt": each.ms}
            yield "blobs", (each.id, json.dumps(blob).encode())

    schema = """
        create table if not exists blobs(id text primary key, data blob);
        create table if not exists meta(key text primary key, value text);
    """
    _rows(root / "chats" / "0cc175b9" / made.id / "store.db", schema, rows())
    return root / "chats"


def cursor_editor(root: Path, made: Made, count: int | None) -> Path:
    def rows() -> Iterator[tuple[str, tuple[object, ...]]]:
        bubbles = [
            {"bubbleId": each.id, "type": 1 if each.is_asked else 2, "text": each.words,
             "createdAt": each.at, "workspaceUris": [f"file://{CWD}"]}
            for each in made.messages(count)
        ]  # fmt: skip
        above = {"subagentInfo": {"parentComposerId": PARENT}} if made.is_child else {}
        headers = [{"bubbleId": each["bubbleId"], "type": each["type"]} for each in bubbles]
        chat = {"_v": 10, "composerId": made.id, "createdAt": ms(made.began), **above,
                "fullConversationHeadersOnly": headers}  # fmt: skip
        yield "cursorDiskKV", (f"composerData:{made.id}", json.dumps(chat))
        for each in bubbles:
            yield "cursorDiskKV", (f"bubbleId:{made.id}:{each['bubbleId']}", json.dumps(each))

    schema = "".join(
        f"create table if not exists {table}(key text unique on conflict replace, value blob);"
        for table in ("ItemTable", "cursorDiskKV")
    )
    path = root / "Cursor" / "User" / "globalStorage" / "state.vscdb"
    _rows(path, schema, rows())
    return path


def crush(root: Path, made: Made, count: int | None) -> Path:
    def rows() -> Iterator[tuple[str, tuple[object, ...]]]:
        above, began = PARENT if made.is_child else None, ms(made.began) // 1000
        yield "sessions", (made.id, above, "Untitled Session", 1, began, began)
        for each in made.messages(count):
            parts, at = (
                json.dumps([{"type": "text", "data": {"text": each.words}}]),
                each.ms // 1000,
            )
            yield "messages", (each.id, made.id, each.role, parts, None, at, at, None, None, 0)

    schema = """
        create table if not exists sessions(id text primary key, parent_session_id text,
            title text not null, message_count integer, updated_at integer not null,
            created_at integer not null);
        create table if not exists messages(id text primary key, session_id text not null,
            role text not null, parts text not null default '[]', model text,
            created_at integer not null, updated_at integer not null, finished_at integer,
            provider text, is_summary_message integer default 0 not null);
    """
    _rows(root / "kept" / "crush.db", schema, rows())
    projects = [{"path": CWD, "data_dir": str(root / "kept")}]
    _document(root / "projects.json", {"projects": projects})
    return root


def goose(root: Path, made: Made, count: int | None) -> Path:
    def rows() -> Iterator[tuple[str, tuple[object, ...]]]:
        messages = made.messages(count)
        changed = messages[-1].at if messages else made.began
        yield "sessions", (made.id, "", "", False, "user", CWD, made.began, changed)
        for n, each in enumerate(messages):
            content = json.dumps(text(each.words))
            yield "messages", (made.day * 100 + n, made.id, each.role, content, each.ms // 1000,
                               each.at, None, "{}")  # fmt: skip

    schema = """
        create table if not exists sessions(id text primary key, name text, description text,
            user_set_name boolean, session_type text, working_dir text, created_at timestamp,
            updated_at timestamp);
        create table if not exists messages(id integer primary key autoincrement, session_id text,
            role text, content_json text, created_timestamp integer, timestamp timestamp,
            tokens integer, metadata_json text);
    """
    _rows(root / "goose" / "sessions" / "sessions.db", schema, rows())
    return root / "goose" / "sessions"


def goose_file(root: Path, made: Made, count: int | None) -> Path:
    place = root / "goose" / "sessions"
    place.mkdir(parents=True, exist_ok=True)
    lines: Lines = [{"working_dir": CWD, "description": ""}]
    lines += [{"role": each.role, "created": each.ms // 1000, "content": text(each.words)}
              for each in made.messages(count)]  # fmt: skip
    (place / f"{made.id}.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in lines))
    return place


def zed(root: Path, made: Made, count: int | None) -> Path:
    messages = made.messages(count)
    said = [
        {"User": {"id": each.id, "content": [{"Text": each.words}]}} if each.is_asked
        else {"Agent": {"content": [{"Text": each.words}], "tool_results": {}}}
        for each in messages
    ]  # fmt: skip
    changed = messages[-1].at if messages else made.began
    thread = {"title": "", "messages": said, "updated_at": changed, "version": "0.3.0"}
    above = PARENT if made.is_child else None
    row = (made.id, "", changed, "json", json.dumps(thread), above, CWD, "0", made.began)
    schema = """
        create table if not exists threads(id text primary key, summary text not null,
            updated_at text not null, data_type text not null, data blob not null,
            parent_id text, folder_paths text, folder_paths_order text, created_at text);
    """
    _rows(root / "threads" / "threads.db", schema, [("threads", row)])
    return root / "threads" / "threads.db"


def kiro(root: Path, made: Made, count: int | None) -> Path:
    history: Lines = []
    for each in made.messages(count):
        if each.is_asked:
            meta = {"message_id": f"r{each.id}", "request_start_timestamp_ms": each.ms}
            user = {"content": {"Prompt": {"prompt": each.words}}, "timestamp": each.at}
            history.append({"user": user, "assistant": {}, "request_metadata": meta})
        else:
            turn = history[-1]
            turn["assistant"] = {"Response": {"message_id": turn["request_metadata"]["message_id"],
                                              "content": each.words}}  # fmt: skip
            turn["request_metadata"]["stream_end_timestamp_ms"] = each.ms
    value = {"conversation_id": made.id, "history": history}
    row = (CWD, made.id, json.dumps(value), ms(made.began), len(history) * 2 + (count or 99))
    schema = """
        create table if not exists conversations(key text primary key, value text);
        create table if not exists conversations_v2(key text not null,
            conversation_id text not null, value text not null, created_at integer not null,
            updated_at integer not null, primary key(key, conversation_id));
    """
    _rows(root / "kiro-cli" / "data.sqlite3", schema, [("conversations_v2", row)])
    return root / "kiro-cli" / "data.sqlite3"


Writer = Callable[[Path, Made, int | None], Path]


def _of_lines(form: str) -> Writer:
    return lambda root, made, count: write_lines(form, root, made, count)


WRITERS: Mapping[str, Writer] = {
    **{form: _of_lines(form) for form in LINES},
    "cline": cline, "roo-code": roo_code, "continue": continue_dev, "amp": amp,
    "kiro-ide": kiro_ide, "gemini document": gemini_document, "aider": aider,
    "opencode": opencode, "opencode 2": opencode_2, "cursor": cursor,
    "cursor-editor": cursor_editor, "crush": crush, "goose": goose, "goose file": goose_file,
    "zed": zed, "kiro": kiro,
}  # fmt: skip
"""Returns what is read: the folder or the database."""

FORKS = ("claude-code", "qwen", "codex", "pi", "openclaw", "copilot", "gemini", "gemini document",
         "droid")  # fmt: skip
"""Forms in which a fork says that it is one, or has the messages of its parent with their ids."""
OWN_IDS = ("claude-code", "qwen", "copilot", "gemini", "droid", "pi", "openclaw")
"""Forms in which messages have ids of their own, so a session may go on in another file."""
COPYING_CHILDREN = ("claude-code", "qwen", "codex", "pi", "openclaw", "copilot", "gemini",
                    "gemini document")  # fmt: skip
"""Of which the file of a subagent is tried with copied history."""
CHILDREN = ("droid", "cline", "roo-code", "opencode", "opencode 2", "cursor-editor", "crush", "zed")
"""Forms in which a subagent's work lies apart, and says whose it is."""


def sessions_of(form: str) -> dict[str, Made]:
    """The sessions that make sense in a form."""
    found = {
        "parent": Made(PARENT, TURNS),
        "other": Made(FORK, NEW, copied=COPIED if form in (*FORKS, "opencode 2") else 0, day=3),
    }
    if form in COPYING_CHILDREN:
        found["child"] = Made(CHILD, ORDER, copied=1, day=5, is_child=True)
    elif form in CHILDREN:
        found["child"] = Made(CHILD, ORDER, day=5, is_child=True)
    return found


def write(form: str, root: Path, made: Made, count: int | None = None) -> tuple[str, str]:
    """Write it; the source and the path that is read."""
    return form.partition(" ")[0], str(WRITERS[form](root, made, count))
