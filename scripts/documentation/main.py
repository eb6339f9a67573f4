"""Keep the parts of the documents that follow from the code in step with it.

Without arguments they are written; ``--check`` shows what would change and exits with 1. A
Markdown file asks for a block with ``<!-- generated: NAME -->`` … ``<!-- /generated -->``;
the names are in ``blocks.BLOCKS``. docs/openapi.json is generated whole.
"""

from __future__ import annotations

import argparse
import difflib
import io
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from blocks import BLOCKS
from checkout import ROOT, documents

from mem_search.http import openapi

_BLOCK = re.compile(r"(<!-- generated: ([\w-]+) -->\n).*?(<!-- /generated -->)", re.DOTALL)
_OPENING = re.compile(r"<!-- generated\b")


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/docs", description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing, say what would")
    check = parser.parse_args().check
    differences = [difference for file in generated() if (difference := bring_up(file, check))]
    sys.stdout.writelines(differences)
    if check and differences:
        print("\nout of date; run: scripts/docs", file=sys.stderr)
        return 1
    return 0


def generated() -> Iterator[tuple[Path, str]]:
    """(file, what it should hold) of every document that has generated parts."""
    for file in documents(ROOT):
        text = file.read_text("utf-8")
        if _OPENING.search(text):
            try:
                yield file, filled(text, BLOCKS)
            except ValueError as error:
                raise SystemExit(f"{file.relative_to(ROOT)}: {error}") from None
    description = io.StringIO()
    with redirect_stdout(description):
        openapi.main()
    yield ROOT / "docs" / "openapi.json", description.getvalue()


def filled(text: str, blocks: Mapping[str, Callable[[], str]]) -> str:
    """``text`` with the content of every block made anew.

    Raises ValueError for a block that is not closed, or whose name nobody knows.
    """
    if len(_BLOCK.findall(text)) != len(_OPENING.findall(text)):
        raise ValueError("a generated block is not closed, or has no name")

    def fill(block: re.Match[str]) -> str:
        if block[2] not in blocks:
            raise ValueError(f"no block is called {block[2]!r}; known are {', '.join(blocks)}")
        return f"{block[1]}{blocks[block[2]]().rstrip()}\n{block[3]}"

    return _BLOCK.sub(fill, text)


def bring_up(wanted: tuple[Path, str], check: bool) -> str:
    """Write the file unless only checking; the difference, empty when there is none."""
    file, text = wanted
    before = file.read_text("utf-8") if file.exists() else ""
    if before == text:
        return ""
    name = str(file.relative_to(ROOT))
    if not check:
        file.write_text(text, "utf-8")
        return f"wrote {name}\n"
    lines = (before.splitlines(keepends=True), text.splitlines(keepends=True))
    return "".join(difflib.unified_diff(*lines, f"{name} (is)", f"{name} (should be)", n=1))


if __name__ == "__main__":
    sys.exit(main())
