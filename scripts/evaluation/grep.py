"""What an agent without an index does: grep for the words of the query, most words first.

The real ``grep`` over one file a record (title and text) and one folder a project:

    grep -r -a -i -o -F --null -e WORD -e WORD … FOLDER

Any word may match, also inside a longer one, in any case. Stop words of the keyword leg are left
out unless nothing else remains. Files are ranked by the number of different words, then by the
number of matches, then by the order of the corpus. Of the recipes tried (whole words or not, stop
words or not, ranked by words, matches or both) this one did best on average.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

from dataset import Dataset

from mem_search.text.words import STOP_WORDS

_SUFFIX = ".txt"


class Grep:
    """The records as files in a temporary folder. Raises FileNotFoundError without a grep."""

    def __init__(self, data: Dataset) -> None:
        program = shutil.which("grep")
        if program is None:
            raise FileNotFoundError("there is no grep on PATH; leave it out with --modes")
        self._program = program
        self._ids = [document["source_id"] for document in data.judged]
        self._temporary = tempfile.TemporaryDirectory(prefix="mem-search-grep-")
        self._root = Path(self._temporary.name)
        # Names of projects may be no names of files.
        self._folders: dict[str, str] = {}
        for number, document in enumerate(data.judged):
            folder = self._folders.setdefault(document["project"], str(len(self._folders)))
            (self._root / folder).mkdir(exist_ok=True)
            file = self._root / folder / f"{number}{_SUFFIX}"
            file.write_text(f"{document['title']}\n{document['text']}", "utf-8")

    async def search(self, text: str, project: str) -> list[str]:
        wanted = words(text)
        if not wanted or (project and project not in self._folders):
            return []
        patterns = [part for word in wanted for part in ("-e", word)]
        process = await asyncio.create_subprocess_exec(
            self._program, "-r", "-a", "-i", "-o", "-F", "--null", *patterns,
            self._folders[project] if project else ".",
            cwd=self._root,
            # Case beyond ASCII is only folded where the locale knows it.
            env={**os.environ, "LC_ALL": "C.UTF-8"},
            stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        output, _ = await process.communicate()
        if process.returncode not in (0, 1):  # 1: nothing found
            raise RuntimeError(f"grep ended with {process.returncode}")
        return [self._ids[number] for number in ranked(output.decode("utf-8", "replace"))[:10]]

    def close(self) -> None:
        self._temporary.cleanup()


def words(question: str) -> list[str]:
    """The words to search for: letters and digits in lower case, each word once."""
    found = list(dict.fromkeys(re.findall(r"[^\W_]+", question.lower())))
    return [word for word in found if word not in STOP_WORDS] or found


def ranked(output: str) -> list[int]:
    """Numbers of the files in what ``grep -o --null`` printed, a match a line, best first."""
    matches: dict[int, Counter[str]] = defaultdict(Counter)
    for line in output.splitlines():
        path, _, match = line.partition("\0")
        matches[int(Path(path).name.removesuffix(_SUFFIX))][match.lower()] += 1
    return sorted(matches, key=lambda n: (-len(matches[n]), -matches[n].total(), n))
