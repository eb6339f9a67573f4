"""One session in the files of each agent, as its own program writes them.

The person asks for a lamp; a command fails with exit code 3, a file is written, and
the agent says that it is done. The forms are those of pi 0.74.2, Qwen Code 0.15.10, Copilot CLI
1.0.102, OpenCode 1.18.33, Codex CLI 0.169.0 and Gemini CLI 0.61.0; those of Cursor and OpenClaw
are what others describe.
"""

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

CWD = "/gone/harbour"
ASKED = "Light the lamp, please"
SAID = "The lamp burns again now."
RUN = {"command": "cat lamp.log; exit 3"}
ERROR = "cat: lamp.log: No such file or directory"
LAMP = f"{CWD}/lamp.py"


def _stamp(second: int) -> str:
    return f"2026-01-01T00:00:{second:02}.000Z"


def _written(path: Path, lines: Iterable[Any]) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def pi_lines(session: str) -> list[dict[str, Any]]:
    def text(words: str) -> dict[str, str]:
        return {"type": "text", "text": words}

    def call(key: str, name: str, **arguments: str) -> dict[str, Any]:
        return {"type": "toolCall", "id": key, "name": name, "arguments": arguments}

    def answer(key: str, words: str, *, wrong: bool = False) -> dict[str, Any]:
        given = {"role": "toolResult", "toolCallId": key, "content": [text(words)]}
        return {**given, "isError": wrong}

    messages = [
        {"role": "user", "content": [text(ASKED)]},
        {"role": "assistant", "content": [text("I look first."), call("1", "bash", **RUN)]},
        answer("1", f"{ERROR}\n\n\nCommand exited with code 3", wrong=True),
        {"role": "assistant", "content": [call("2", "write", path=LAMP, content="LAMP = 1")]},
        answer("2", "Successfully wrote 8 bytes"),
        {"role": "assistant", "content": [text(SAID)]},
    ]
    header = {"type": "session", "version": 3, "id": session, "timestamp": _stamp(0), "cwd": CWD}
    return [header] + [
        {"type": "message", "id": f"e{n}", "parentId": f"e{n - 1}", "timestamp": _stamp(n),
         "message": message}
        for n, message in enumerate(messages, 1)
    ]  # fmt: skip


def pi(folder: Path) -> Path:
    name = "2026-01-01T00-00-00-000Z_p1.jsonl"
    _written(folder / "sessions" / "--gone-harbour--" / name, pi_lines("p1"))
    return folder / "sessions"


def openclaw(folder: Path) -> Path:
    _written(folder / "agents" / "main" / "sessions" / "o1.jsonl", pi_lines("o1"))
    return folder / "agents"


def qwen(folder: Path) -> Path:
    def call(key: str, name: str, **arguments: str) -> dict[str, Any]:
        return {"functionCall": {"id": key, "name": name, "args": arguments}}

    def answer(key: str, output: str, shown: str) -> dict[str, Any]:
        part = {"functionResponse": {"id": key, "name": "x", "response": {"output": output}}}
        result = {"callId": key, "status": "success", "resultDisplay": shown}
        return {"type": "tool_result", "message": {"parts": [part]}, "toolCallResult": result}

    output = f"Command: cat\nDirectory: (root)\nOutput: {ERROR}\nError: (none)\nExit Code: 3"
    said: list[dict[str, Any]] = [
        {"type": "user", "message": {"role": "user", "parts": [{"text": ASKED}]}},
        {"type": "system", "subtype": "ui_telemetry", "systemPayload": {"response_text": "no"}},
        {"type": "assistant", "message": {"parts": [
            {"text": "It is dark, I think", "thought": True}, {"text": "I look first."},
            call("1", "run_shell_command", **RUN)]}},
        answer("1", output, ERROR),
        {"type": "assistant", "message": {"parts": [
            call("2", "write_file", file_path=LAMP, content="LAMP = 1")]}},
        answer("2", "Successfully created", "diff"),
        {"type": "user", "subtype": "cron", "message": {"parts": [{"text": "Wake up"}]}},
        {"type": "assistant", "message": {"parts": [{"text": SAID}]}},
    ]  # fmt: skip
    lines = [
        {"uuid": f"q{n}", "sessionId": "q", "timestamp": _stamp(n), "cwd": CWD, **line}
        for n, line in enumerate(said, 1)
    ]
    _written(folder / "projects" / "-gone-harbour" / "chats" / "q.jsonl", lines)
    return folder / "projects"


def copilot(folder: Path) -> Path:
    def call(key: str, name: str, **arguments: str) -> tuple[str, dict[str, Any]]:
        given = {"toolCallId": key, "toolName": name, "arguments": arguments}
        return "tool.execution_start", given

    events: list[tuple[str, dict[str, Any]]] = [
        ("session.start", {"sessionId": "g", "context": {"cwd": CWD, "branch": "main"}}),
        ("user.message", {"content": ASKED, "transformedContent": f"<now></now>{ASKED}"}),
        ("system.message", {"role": "system", "content": "You are the GitHub Copilot CLI"}),
        ("assistant.message", {"content": "I look first.", "toolRequests": []}),
        call("1", "bash", **RUN),
        ("tool.execution_complete", {"toolCallId": "1", "success": True,
         "shellExecution": {"exitCode": 3}, "result": {"content": ERROR}}),
        call("2", "apply_patch", input="*** Begin Patch"),
        ("tool.execution_complete", {"toolCallId": "2", "success": True,
         "fileEdits": [{"path": LAMP, "kind": "create"}], "result": {"content": "Created"}}),
        ("user.message", {"content": "skill", "source": "skill-x"}),
        ("assistant.message", {"content": SAID, "toolRequests": []}),
    ]  # fmt: skip
    lines = [
        {"type": sort, "data": data, "id": f"c{n}", "timestamp": _stamp(n)}
        for n, (sort, data) in enumerate(events, 1)
    ]
    _written(folder / "session-state" / "g" / "events.jsonl", lines)
    return folder / "session-state"


def opencode(folder: Path) -> Path:
    def tool(name: str, status: str, **state: Any) -> dict[str, Any]:
        return {"type": "tool", "tool": name, "callID": name, "state": {"status": status, **state}}

    parts: list[tuple[str, list[dict[str, Any]]]] = [
        ("user", [{"type": "text", "text": ASKED},
                  {"type": "text", "text": "<file>", "synthetic": True}]),
        ("assistant", [
            {"type": "text", "text": "I look first."},
            tool("bash", "completed", input=RUN, output=ERROR, metadata={"exit": 3}),
            tool("apply_patch", "completed", output="Done",
                 input={"patchText": f"*** Begin Patch\n*** Add File: {LAMP}\n+LAMP = 1"}),
            {"type": "reasoning", "text": "It is dark"},
            {"type": "text", "text": SAID}]),
    ]  # fmt: skip
    path = folder / "opencode.db"
    with closing(sqlite3.connect(path)) as store, store:
        store.executescript(
            """
            create table session(id text primary key, parent_id text, directory text, title text,
                                 time_created integer);
            create table message(id text primary key, session_id text, time_created integer,
                                 data text);
            create table part(id text primary key, message_id text, session_id text,
                              time_updated integer, data text);
            insert into session values('ses_1', null, '/gone/harbour', 'New session - 2026', 1);
            """
        )
        for n, (role, its) in enumerate(parts, 1):
            message = json.dumps({"role": role})
            store.execute("insert into message values(?, 'ses_1', ?, ?)", (f"m{n}", n, message))
            for m, part in enumerate(its):
                row = (f"p{n}{m}", f"m{n}", n, json.dumps(part))
                store.execute("insert into part values(?, ?, 'ses_1', ?, ?)", row)
    return path


def cursor(folder: Path) -> Path:
    def call(key: str, name: str, **arguments: str) -> dict[str, Any]:
        return {"type": "tool-call", "toolCallId": key, "toolName": name, "args": arguments}

    def answer(key: str, name: str, result: str) -> dict[str, Any]:
        part = {"type": "tool-result", "toolCallId": key, "toolName": name, "result": result}
        return {"role": "tool", "content": [part]}

    blobs: list[object] = [
        {"role": "system", "content": "You are an agent"},
        {"role": "user", "content": "<user_info>OS: linux</user_info>"},
        b"\x0a\x20\xff\x00",
        {"role": "user", "content": [
            {"type": "text", "text": f"<user_query>\n{ASKED}\n</user_query>"}]},
        {"role": "assistant", "content": [
            {"type": "reasoning", "text": "It is dark"}, {"type": "text", "text": "I look first."},
            call("1", "Shell", **RUN)]},
        answer("1", "Shell", f"Exit code: 3\n\n{ERROR}"),
        {"role": "assistant", "content": [call("2", "Write", path=LAMP, contents="LAMP = 1")]},
        answer("2", "Write", "Wrote contents to lamp.py"),
        {"role": "assistant", "content": [{"type": "text", "text": SAID}]},
    ]  # fmt: skip
    path = folder / "chats" / "0cc175b9c0f1b6a831c399e269772661" / "u1" / "store.db"
    path.parent.mkdir(parents=True)
    meta = {"agentId": "u1", "name": "", "createdAt": 1767225600000, "workspacePath": CWD}
    with closing(sqlite3.connect(path)) as store, store:
        store.executescript(
            "create table blobs(id text primary key, data blob);"
            "create table meta(key text primary key, value text);"
        )
        store.execute("insert into meta values('0', ?)", (json.dumps(meta).encode().hex(),))
        for n, blob in enumerate(blobs):
            data = blob if isinstance(blob, bytes) else json.dumps(blob).encode()
            store.execute("insert into blobs values(?, ?)", (f"b{n}", data))
    return folder / "chats"


def cursor_transcript(folder: Path) -> Path:
    """What CLI and editor write beside the database: no times, no answers of tools."""

    def said(role: str, *parts: dict[str, Any]) -> dict[str, Any]:
        return {"role": role, "message": {"content": list(parts)}}

    def text(words: str) -> dict[str, Any]:
        return {"type": "text", "text": words}

    def call(name: str, **given: str) -> dict[str, Any]:
        return {"type": "tool_use", "name": name, "input": given}

    sent = "<timestamp>Thursday, Jan 1, 2026, 2:00 AM (UTC+2)</timestamp>"
    lines = [
        said("user", text(f"{sent}\n<user_query>\n{ASKED}\n</user_query>")),
        said("assistant", text("I look first.\n\n[REDACTED]"),
             call("Shell", **RUN, working_directory=CWD)),
        said("assistant", text("[REDACTED]"), call("Write", path=LAMP, contents="LAMP = 1")),
        said("assistant", text(SAID)),
        {"type": "turn_ended", "status": "success"},
    ]  # fmt: skip
    place = folder / "projects" / "gone-harbour" / "agent-transcripts"
    _written(place / "u2" / "u2.jsonl", lines)
    return folder / "projects"


def codex_lines(*turns: str) -> list[dict[str, Any]]:
    """One work after each of the prompts."""

    def said(role: str, words: str) -> tuple[str, dict[str, Any]]:
        content = [{"type": "input_text", "text": words}]
        return "response_item", {"type": "message", "role": role, "content": content}

    def call(key: str, command: str) -> tuple[str, dict[str, Any]]:
        arguments = json.dumps({"cmd": command})
        given = {"name": "exec_command", "arguments": arguments, "call_id": key}
        return "response_item", {"type": "function_call", **given}

    def answer(key: str, output: str) -> tuple[str, dict[str, Any]]:
        given = {"type": "function_call_output", "call_id": key, "output": output}
        return "response_item", given

    def head(*lines: str) -> str:
        return "\n".join(("Chunk ID: 9a19f5", "Wall time: 0.0000 seconds", *lines, "Output:", ""))

    patch = (
        f"apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: {LAMP}\n+LAMP = 1\n*** End Patch\nEOF"
    )
    done = "Success. Updated the following files:\nA lamp.py\n"
    payloads: list[tuple[str, dict[str, Any]]] = [
        ("session_meta", {"id": "x1", "session_id": "x1", "cwd": CWD, "source": "exec",
                          "base_instructions": {"text": "You are a coding agent"}}),
        ("world_state", {"full": True, "state": {}}),
        said("developer", "<skills_instructions>dark</skills_instructions>"),
        said("user", "<environment_context>\n<cwd>/gone/harbour</cwd>\n</environment_context>"),
        ("turn_context", {"cwd": CWD, "model": "stub"}),
    ]  # fmt: skip
    for asked in turns:
        payloads += [
            said("user", asked),
            ("event_msg", {"type": "user_message", "message": asked}),
            ("response_item", {"type": "reasoning", "summary": [], "content": "It is dark"}),
            said("assistant", "I look first."),
            call("1", RUN["command"]),
            answer("1", head("Process exited with code 3") + f"{ERROR}\n"),
            call("2", patch),
            answer("2", head() + f"Exit code: 0\nWall time: 0 seconds\nOutput:\n{done}"),
            said("assistant", SAID),
        ]
    return [
        {"timestamp": _stamp(n), "ordinal": n, "type": sort, "payload": payload}
        for n, (sort, payload) in enumerate(payloads)
    ]


def codex(folder: Path) -> Path:
    name = "rollout-2026-01-01T00-00-00-x1.jsonl"
    _written(folder / "sessions" / "2026" / "01" / "01" / name, codex_lines(ASKED))
    return folder / "sessions"


def gemini(folder: Path) -> Path:
    def call(key: str, name: str, output: str, **arguments: str) -> dict[str, Any]:
        response = {"functionResponse": {"id": key, "name": name, "response": {"output": output}}}
        done = {"result": [response], "status": "success"}
        return {"id": key, "name": name, "args": arguments, **done}

    run = call("1", "run_shell_command", f"Output: {ERROR}\nExit Code: 3\nPGID: 7", **RUN)
    run["resultDisplay"] = ERROR
    write = call("2", "write_file", "Successfully created", file_path=LAMP, content="LAMP = 1")
    thoughts = [{"subject": "It is dark", "description": "I think"}]
    said = {"type": "gemini", "thoughts": thoughts, "content": "I look first."}
    context = [{"text": "<session_context>\nThis is the Gemini CLI.\n</session_context>"}]
    first = {"id": "c", "timestamp": _stamp(0), "type": "user", "content": context}
    lines = [
        {"sessionId": "g1", "projectHash": "h", "kind": "main", "directories": [CWD]},
        {"$set": {"messages": [first]}},
        {"id": "a", "type": "user", "content": "Forget this"},
        {"$rewindTo": "a"},
        {"id": "b", "type": "user", "content": [{"text": ASKED}]},
        {"id": "d", **said},
        {"id": "d", **said, "toolCalls": [run, write]},
        {"id": "e", "type": "user", "content": [*run["result"], *write["result"]]},
        {"id": "f", "type": "gemini", "content": SAID},
        {"$set": {"lastUpdated": _stamp(9)}},
    ]
    stamped = [{**line, "timestamp": _stamp(n)} if "id" in line else line
               for n, line in enumerate(lines)]  # fmt: skip
    _written(folder / "tmp" / "harbour" / "chats" / "session-2026-01-01T00-00-g1.jsonl", stamped)
    return folder / "tmp"
