"""Transcripts as Claude Code writes them, line by line."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SESSION = "5e551040-0000-4000-8000-000000000001"
CWD = "/gone/projects/harbour"
START = 1_767_225_600_000  # 2026-01-01T00:00:00Z


@dataclass
class Script:
    """Writes the lines that Claude Code would write."""

    session: str = SESSION
    cwd: str = CWD
    lines: list[dict[str, Any]] = field(default_factory=list)
    common: dict[str, Any] = field(default_factory=dict)

    def line(self, kind: str, **more: Any) -> Script:
        number = len(self.lines)
        self.lines.append(
            {
                "type": kind,
                "uuid": f"u{number}",
                "sessionId": self.session,
                "timestamp": f"2026-01-01T00:{number // 60:02}:{number % 60:02}.000Z",
                "cwd": self.cwd,
                "gitBranch": "tide",
                **self.common,
                **more,
            }
        )
        return self

    def asks(self, content: Any, **more: Any) -> Script:
        return self.line("user", message={"role": "user", "content": content}, **more)

    def says(self, text: str, message: str = "") -> Script:
        block = {"type": "text", "text": text}
        message = message or f"m{len(self.lines)}"
        return self.line("assistant", message={"id": message, "content": [block]})

    def does(self, tool: str, answer: str = "ok", failed: bool = False, **given: Any) -> Script:
        call = f"t{len(self.lines)}"
        use = {"type": "tool_use", "id": call, "name": tool, "input": given}
        self.line("assistant", message={"id": "m", "content": [use]})
        result = {"type": "tool_result", "tool_use_id": call, "content": answer}
        return self.asks([{**result, "is_error": failed}])

    def write(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(line) + "\n" for line in self.lines), "utf-8")
        return path
