"""Write the generated parts of the documents, or check that they are current.

``--check`` writes nothing, prints what would change, and exits with 1 when something would.
``--story`` runs the commands of the stories again and writes what they print (``story``);
``--site [FOLDER]`` builds a site of all documents (``website``); ``--messages`` prints what the
program says to people (``messages``). A
Markdown file requests a block with ``<!-- generated: NAME -->`` … ``<!-- /generated -->``;
the names are in ``blocks.BLOCKS``. All of docs/openapi.json is generated. A module that a
document names and the tree does not have is an error in both cases.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from blocks import BLOCKS, filled, has_blocks
from checkout import ROOT, documents, unknown_modules
from messages import table as table_of_messages
from story import written as written_stories
from website import build as build_site

from mem_search.http.openapi import written
from mem_search.http.routes import ROUTES


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/docs", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; print what would change"
    )
    parser.add_argument(
        "--story", action="store_true", help="run the stories again, and write what they print"
    )
    parser.add_argument(
        "--site", type=Path, nargs="?", const=ROOT / "build" / "site", metavar="FOLDER",
        help="build a site with search; a broken link is an error",
    )  # fmt: skip
    parser.add_argument(
        "--messages", action="store_true", help="print a table of all messages, to be read aloud"
    )
    given = parser.parse_args()
    if given.messages:
        print(table_of_messages(ROOT / "src" / "mem_search"))
        return 0
    if given.story:
        print("\n".join(f"wrote {name}" for name in written_stories()))
    if given.site:
        wrong = build_site(given.site)
        print("\n".join(wrong) or f"wrote {given.site / 'index.html'}")
        return 1 if wrong else 0
    check = given.check
    differences = [difference for file in generated() if (difference := bring_up(file, check))]
    sys.stdout.writelines(differences)
    if check and differences:
        print("\nout of date; run: scripts/docs", file=sys.stderr)
    unknown = [
        f"{file.relative_to(ROOT)}: there is no module {name}"
        for file in documents(ROOT)
        for name in unknown_modules(file.read_text("utf-8"), ROOT)
    ]
    print("\n".join(unknown), end="\n" * bool(unknown), file=sys.stderr)
    return 1 if unknown or (check and differences) else 0


def generated() -> Iterator[tuple[Path, str]]:
    """(file, expected content) of every document with generated parts."""
    for file in documents(ROOT):
        text = file.read_text("utf-8")
        if has_blocks(text):
            try:
                yield file, filled(text, BLOCKS)
            except ValueError as error:
                raise SystemExit(f"{file.relative_to(ROOT)}: {error}") from None
    yield ROOT / "docs" / "openapi.json", written(ROUTES)


def bring_up(wanted: tuple[Path, str], check: bool) -> str:
    """Write the file unless only checking; return the difference, empty when there is none."""
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
