"""Run the examples of docs/citations.md as they are written."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from urllib.request import urlopen

from homes import Home
from patience import PATIENCE

DOCUMENT = (Path(__file__).parents[2] / "docs" / "citations.md").read_text("utf-8")
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
ANYTHING = re.escape("…")


def test_every_example_prints_what_the_document_says(mem: Home) -> None:
    records = re.search(r"^```json\n(.*?)^```", DOCUMENT, re.MULTILINE | re.DOTALL)
    assert records is not None
    mem.ok("import", "jsonl", "-", given=records[1])
    examples = [each for block in CONSOLE.findall(DOCUMENT) for each in EXAMPLE.findall(block)]
    assert len(examples) > 5
    for command, printed in examples:
        pattern = re.escape(printed).replace(ANYTHING, r"[-.\de]+")
        assert re.fullmatch(pattern, answer(mem, command)), command


def answer(mem: Home, command: str) -> str:
    program, *arguments = shlex.split(command)
    if program == "mem-search":
        return mem.ok(*arguments)
    assert (program, arguments[0]) == ("curl", "-s")
    url = arguments[1].replace("$W", f"http://127.0.0.1:{mem.worker()['port']}")
    with urlopen(url, timeout=PATIENCE) as reply:
        return str(reply.read().decode()).replace("\r\n", "\n")
