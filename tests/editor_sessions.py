"""The session of ``agent_sessions`` in the files of agents that keep documents, or live in editors.

The forms of Aider 0.86.2, Cline 3.0.65, Continue 1.5.47 and Droid 0.215.0 are those of files of
these programs; those of Amp, Roo Code and VS Code are what their code or others' say.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from agent_sessions import ASKED, CWD, ERROR, LAMP, RUN, SAID

MS = 1_767_225_600_000
"""2026-01-01, in ms since 1970."""


def written(path: Path, *values: Any) -> Path:
    """A file with each value on a line of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return path


def _text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def _use(key: str, name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": key, "name": name, "input": given}


def amp_thread(key: str) -> dict[str, Any]:
    def result(call: str, **run: Any) -> dict[str, Any]:
        part = {"type": "tool_result", "toolUseID": call, "run": run}
        return {"role": "user", "content": [part]}

    done = {"output": ERROR, "exitCode": 3}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [_text(ASKED)], "meta": {"sentAt": MS + 1000}},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "It is dark"}, _text("I look first."),
            _use("1", "Bash", cmd=RUN["command"])], "state": {"type": "complete"}},
        result("1", status="done", result=done),
        {"role": "assistant", "content": [_use("2", "create_file", path=LAMP, content="LAMP = 1")]},
        result("2", status="done", result="Created"),
        {"role": "assistant", "content": [_text(SAID)]},
    ]  # fmt: skip
    tree = {"uri": f"file://{CWD}", "repository": {"ref": "refs/heads/main", "type": "git"}}
    initial = {"trees": [tree], "platform": {"clientVersion": "0.0.1768178000"}}
    return {
        "v": 9, "id": key, "created": MS, "env": {"initial": initial},
        "messages": [{**each, "messageId": n} for n, each in enumerate(messages)],
    }  # fmt: skip


def amp(folder: Path) -> Path:
    written(folder / "threads" / "T-1.json", amp_thread("T-1"))
    return folder / "threads"


def continue_dev(folder: Path) -> Path:
    def worked(call: str, name: str, status: str, output: str, **given: Any) -> dict[str, Any]:
        function = {"name": name, "arguments": json.dumps(given)}
        made = {"id": call, "type": "function", "function": function}
        state = {"toolCallId": call, "toolCall": made, "status": status, "parsedArgs": given,
                 "output": [{"content": output, "name": "Tool Result"}]}  # fmt: skip
        said = {"role": "assistant", "content": "" if call == "2" else "I look first."}
        return {"message": {**said, "toolCalls": [made]}, "toolCallStates": [state]}

    failed = f"Error executing tool Bash: Error (exit code 3): {ERROR}\n"
    history = [
        {"message": {"role": "user", "content": ASKED}, "editorState": ASKED},
        {"message": {"role": "thinking", "content": "It is dark"}},
        worked("1", "Bash", "errored", failed, **RUN),
        worked("2", "Write", "done", "Created", filepath=LAMP, content="LAMP = 1"),
        {"message": {"role": "assistant", "content": SAID}},
    ]
    head = {"sessionId": "c1", "title": "Untitled Session", "workspaceDirectory": CWD}
    sessions = (
        folder / ".continue" / "sessions" if folder.name != ".continue" else folder / "sessions"
    )
    written(sessions / "c1.json", {**head, "history": history})
    written(sessions / "sessions.json", [{**head, "dateCreated": str(MS)}])
    return sessions


def droid_lines(session: str) -> list[dict[str, Any]]:
    def result(call: str, answer: str, *, wrong: bool) -> list[dict[str, Any]]:
        return [{"type": "tool_result", "tool_use_id": call, "content": answer, "is_error": wrong}]

    failed = f"Error: Command failed (exit code: 3)\n{ERROR}\n\n\n[Process exited with code 3]"
    said: list[tuple[str, Any]] = [
        ("user", [_text("<system-reminder>It is dark</system-reminder>")]),
        ("user", [_text(ASKED)]),
        ("assistant", [_text("I look first."), _use("1", "Execute", **RUN)]),
        ("user", result("1", failed, wrong=True)),
        ("assistant", [_use("2", "Create", file_path=LAMP, content="LAMP = 1")]),
        ("user", result("2", '{"success":true}', wrong=False)),
        ("assistant", [_text(SAID)]),
    ]
    start = {"type": "session_start", "id": session, "title": "", "version": 2, "cwd": CWD}
    messages = [
        {"type": "message", "id": f"m{n}", "timestamp": f"2026-01-01T00:00:{n:02}.000Z",
         "message": {"role": role, "content": content}}
        for n, (role, content) in enumerate(said)
    ]  # fmt: skip
    end = {"type": "agent_turn_outcome", "turnId": "m1", "reason": "completed"}
    return [start, *messages, end]


DROID = "42fcc73f-fa09-457b-85f3-b5f385d95274"


def droid(folder: Path) -> Path:
    written(folder / "sessions" / "-gone-harbour" / f"{DROID}.jsonl", *droid_lines(DROID))
    return folder / "sessions"


def cline(folder: Path) -> Path:
    def result(call: str, content: Any) -> dict[str, Any]:
        part = {"type": "tool_result", "tool_use_id": call, "content": content}
        return {"role": "user", "content": [part]}

    ran = {"query": RUN["command"], "success": False, "error": "Command exited with code 3",
           "result": f"[Command exited with code 3]\n\n[stderr]\n{ERROR}\n"}  # fmt: skip
    edited = json.dumps({"query": f"edit:{LAMP}", "result": "File created", "success": True})
    said: list[dict[str, Any]] = [
        {"role": "user", "content": [_text(f'<user_input mode="act">{ASKED}</user_input>')]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "It is dark"}, _text("I look first."),
            _use("1", "run_commands", commands=[RUN["command"]])]},
        result("1", [ran]),
        {"role": "assistant", "content": [_use("2", "editor", path=LAMP, new_text="LAMP = 1")]},
        result("2", edited),
        {"role": "assistant", "content": [_text(SAID)]},
    ]  # fmt: skip
    messages = [{**each, "id": f"m{n}", "ts": MS + n * 1000} for n, each in enumerate(said)]
    place = folder / "sessions" / "1767_ab"
    found = {"version": 1, "sessionId": "1767_ab", "origin": {"version": "3.0.65"}}
    written(place / "1767_ab.messages.json", {**found, "messages": messages})
    written(place / "1767_ab.json", {"version": 1, "session_id": "1767_ab", "cwd": CWD})
    return folder / "sessions"


def task_messages() -> list[dict[str, Any]]:
    def tool(name: str, **given: Any) -> str:
        return json.dumps({"tool": name, **given})

    said: list[tuple[str, str, str]] = [
        ("say", "text", ASKED),
        ("say", "api_req_started", json.dumps({"request": "<task>It is dark</task>"})),
        ("say", "reasoning", "It is dark"),
        ("say", "text", "I look first."),
        ("ask", "command", RUN["command"]),
        ("say", "command_output", f"{ERROR}\nExit code: 3"),
        ("ask", "tool", tool("newFileCreated", path=LAMP, content="LAMP = 1")),
        ("say", "checkpoint_saved", "0a1b"),
        ("say", "completion_result", SAID),
        ("ask", "completion_result", ""),
    ]
    return [
        {"ts": MS + n * 1000, "type": sort, sort: name, "text": text}
        for n, (sort, name, text) in enumerate(said)
    ]


def roo_code(folder: Path) -> Path:
    tasks = folder / "rooveterinaryinc.roo-cline" / "tasks"
    written(tasks / "r1" / "ui_messages.json", task_messages())
    written(tasks / "r1" / "history_item.json", {"id": "r1", "task": ASKED, "workspace": CWD})
    return tasks


def chat(session: str) -> dict[str, Any]:
    terminal = {
        "kind": "terminal", "commandLine": {"original": RUN["command"]},
        "terminalCommandState": {"exitCode": 3}, "terminalCommandOutput": {"text": ERROR},
    }  # fmt: skip
    call = {"kind": "toolInvocationSerialized", "isConfirmed": {"type": 1}, "isComplete": True}
    response: list[dict[str, Any]] = [
        {"kind": "thinking", "value": "It is dark"},
        {"value": "I look "},
        {"value": "first."},
        {**call, "toolId": "run_in_terminal", "toolCallId": "1__vscode-9",
         "toolSpecificData": terminal},
        {**call, "toolId": "copilot_createFile", "toolCallId": "2",
         "pastTenseMessage": {"value": f"Created [](file://{LAMP})"}},
        {"kind": "textEditGroup", "uri": {"fsPath": LAMP, "scheme": "file"}, "edits": []},
        {"value": SAID},
    ]  # fmt: skip
    request = {"requestId": "q1", "timestamp": MS, "message": {"text": ASKED}}
    return {"version": 3, "sessionId": session, "creationDate": MS,
            "requests": [{**request, "response": response}]}  # fmt: skip


def copilot_chat(folder: Path) -> Path:
    place = folder / "workspaceStorage" / "0a1b"
    whole = chat("v1")
    (request,) = whole["requests"]
    log = [
        {"kind": 0, "v": {**whole, "requests": []}},
        {"kind": 2, "k": ["requests"], "v": [{**request, "response": []}]},
        {
            "kind": 2,
            "k": ["requests", 0, "response"],
            "v": [*request["response"][:4], {"value": "?"}],
        },
        {"kind": 2, "k": ["requests", 0, "response"], "v": request["response"][4:], "i": 4},
        {"kind": 1, "k": ["requests", 0, "result"], "v": {}},
        {"kind": 3, "k": ["customTitle"]},
    ]
    written(place / "chatSessions" / "v1.jsonl", *log)
    written(place / "workspace.json", {"folder": f"file://{CWD}"})
    return folder / "workspaceStorage"


HISTORY = f"""
# aider chat started at 2026-01-01 00:00:00

> /usr/bin/aider --model openai/stub\x20\x20
> Aider v0.86.2\x20\x20
> Added wick.py to the chat.\x20\x20

#### {ASKED}\x20\x20
#### # at once\x20\x20

I look first.
#### a heading of the model
> a quote of the model

> Tokens: 2.5k sent, 67 received.\x20\x20
> new/lamp.py\x20\x20
> Create new file? (Y)es/(N)o [Yes]: y\x20\x20
> Applied edit to new/lamp.py\x20\x20
> Applied edit to wick.py\x20\x20
> Commit 1ad679c Light the lamp\x20\x20
> ## Running: flake8 wick.py\x20\x20
>\x20\x20\x20
> wick.py:1:2: E999 SyntaxError: invalid syntax\x20\x20
> Attempt to fix lint errors? (Y)es/(N)o [Yes]: y\x20\x20

{SAID}

> Tokens: 885 sent, 20 received.\x20\x20

#### /run make lamp\x20\x20
> Added 2 lines of output to the chat.\x20\x20

#### /ask why?\x20\x20

#### why?\x20\x20

Because it was dark.

#### /exit\x20\x20
"""


def aider(folder: Path) -> Path:
    (folder / "harbour").mkdir(parents=True, exist_ok=True)
    (folder / "harbour" / ".aider.chat.history.md").write_text(HISTORY)
    return folder / "harbour"


MADE: Mapping[str, Callable[[Path], Path]] = {
    "aider": aider,
    "cline": cline,
    "roo-code": roo_code,
    "copilot-chat": copilot_chat,
    "continue": continue_dev,
    "amp": amp,
    "droid": droid,
}
