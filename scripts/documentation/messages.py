"""All messages of the program in one table, so that they can be read in one go.

A message is what an error of ours says, what a command prints, a notice of a search, and what
``doctor`` finds: the texts among the arguments of ``SPEAKING``, of a ``raise``, and in generators
that a listing takes. Parts that are filled in stand in braces.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

SPEAKING: Final = frozenset("note say fail Finding tell confirm offer Refused Unreadable".split())
"""Functions and classes whose arguments people read, beside errors."""
_MIN_WORDS: Final = 2
"""Words of a message; one word is a name of a field."""


def messages(package: Path) -> Iterator[tuple[str, str]]:
    """(place, text) of each message below ``package``, in the order of the files."""
    for file in sorted(package.rglob("*.py")):
        tree = ast.parse(file.read_text("utf-8"))
        found: dict[int, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                found |= _texts(node.exc.args)
            elif isinstance(node, ast.Call) and _name(node.func) in SPEAKING:
                found |= _texts(node.args)
            elif isinstance(node, ast.Yield | ast.Return) and node.value and _says(file):
                found |= _texts([node.value])
        for line, text in sorted(found.items()):
            yield f"{file.relative_to(package)}:{line}", text


def _says(file: Path) -> bool:
    """Whether what functions of the file give is printed: commands, and the notes of searches."""
    return file.name == "cli.py" or file.parent.name in ("cli", "renderers")


def _name(function: ast.expr) -> str:
    match function:
        case ast.Name():
            return function.id
        case ast.Attribute():
            return function.attr
    return ""


def _texts(values: list[ast.expr]) -> dict[int, str]:
    texts = {
        value.lineno: _written(value)
        for value in values
        if isinstance(value, ast.JoinedStr | ast.Constant | ast.BinOp)
    }
    return {line: text for line, text in texts.items() if len(text.split()) >= _MIN_WORDS}


def _written(value: ast.expr) -> str:
    """The text with the names of what is filled in."""
    match value:
        case ast.Constant():
            return " ".join(str(value.value).split()) if isinstance(value.value, str) else ""
        case ast.JoinedStr():
            parts = (
                str(part.value)
                if isinstance(part, ast.Constant)
                else f"{{{ast.unparse(part.value)}}}"
                for part in value.values
                if isinstance(part, ast.Constant | ast.FormattedValue)
            )
            return " ".join("".join(parts).split())
        case ast.BinOp():
            return f"{_written(value.left)}{_written(value.right)}"
    return ""


def table(package: Path) -> str:
    """The messages as a table of Markdown."""
    rows = (
        f"| `{place}` | {text.replace('|', chr(92) + '|')} |" for place, text in messages(package)
    )
    return "\n".join(("| place | message |", "|---|---|", *rows))
