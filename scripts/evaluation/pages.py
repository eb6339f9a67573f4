"""Read saved web pages, and report how much of the article is kept and of the furniture dropped.

The pages in ``saved_pages`` were written for this. A file of ``pages`` is what one author wrote,
``sites`` has what the site puts around it. The article stands between ⟦ and ⟧, which no reader
sees. With ``--set DIR``, pages ``NAME.html`` (``.mhtml``, ``.htm``) are compared with ``NAME.txt``,
the text of the article; a folder as WCXB has them, ``html/ID.html.gz`` with
``ground-truth/ID.json``, is measured by type of page as well.
"""

from __future__ import annotations

import gzip
import json
import re
import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import EmailMessage
from html import unescape
from pathlib import Path

from stores import folder, options

from mem_search.extractors import extract
from mem_search.extractors.refusal import Unreadable
from mem_search.model.ingest import Extracted
from mem_search.text.dates import from_iso

HERE = Path(__file__).parent / "saved_pages"
WORSE = 0.9
"""The F1 below which a page is named in the report."""

_FIELD = re.compile(r"\{(\w+)\}")
_MARKED = re.compile(r"⟦(.*?)⟧", re.DOTALL)
_TAG = re.compile(r"<[^>]+>")
_WORD = re.compile(r"[぀-ヿ一-鿿]|[^\W぀-ヿ一-鿿]+")
"""A word; each character of Japanese and Chinese."""

_SAVED = "Sat Mar 02 2024 10:14:33 GMT+0000 (Coordinated Universal Time)"


@dataclass(frozen=True, slots=True)
class SavedPage:
    """A file as a browser saves it. ``expected`` has the title, author, published time and url."""

    name: str
    file: str
    data: bytes
    article: str
    expected: dict[str, str]
    type: str = ""


@dataclass(frozen=True, slots=True)
class Read:
    """How much of the words of an article were read, and which metadata is ``wrong``."""

    page: SavedPage
    precision: float
    recall: float
    wrong: tuple[str, ...]

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def own() -> Iterator[SavedPage]:
    """The pages that were written for this."""
    for path in sorted((HERE / "pages").glob("*.html")):
        head, _, body = path.read_text("utf-8").partition("\n")
        about = json.loads(head)
        chrome = (HERE / "sites" / f"{about['site']}.html").read_text("utf-8")
        values = {**about, "site": about["name"], "body": body}
        marked = _FIELD.sub(lambda field: values.get(field[1], field[0]), chrome)  # noqa: B023
        marked = marked.replace("{{", "{").replace("}}", "}")
        article = " ".join(_MARKED.findall(marked))
        page = marked.replace("⟦", "").replace("⟧", "")
        file, data = saved_as(about["form"], page, about["url"], about["title"])
        expected = {key: about[key] for key in ("title", "author", "url")}
        expected["published"] = about.get("day", about["published"])
        yield SavedPage(path.stem, file, data, unescape(_TAG.sub(" ", article)), expected)


def saved_as(form: str, page: str, url: str, title: str) -> tuple[str, bytes]:
    """The name and content of a file: ``page`` as the server sent it, ``folder`` as browsers save
    it with a folder of pictures, ``single`` as SingleFile and ``mhtml`` as Chrome do."""
    bare = re.sub(r'<link rel="canonical"[^>]*>', "", page)
    start = re.search(r"<html[^>]*>", bare, re.IGNORECASE)
    assert start is not None
    match form:
        case "folder":
            mark = f"<!-- saved from url=({len(url):04}){url} -->\n"
            bare = bare[: start.start()] + mark + bare[start.start() :]
            return f"{title}.html", re.sub('src="(?!data)', 'src="./page_files/', bare).encode()
        case "single":
            mark = f"<!--\n Page saved with SingleFile \n url: {url} \n saved date: {_SAVED}\n-->"
            return f"{title}.html", (bare[: start.end()] + mark + bare[start.end() :]).encode()
        case "mhtml":
            message = EmailMessage()
            message["From"] = "<Saved by Blink>"
            message["Snapshot-Content-Location"] = url
            message["Subject"] = title
            message["Date"] = "Sat, 02 Mar 2024 10:14:33 -0000"
            message.set_content(bare, subtype="html", cte="quoted-printable")
            message["Content-Location"] = url
            style = "p { margin: 0; } .menu::before { content: 'not text'; }"
            message.add_related(style.encode(), "text", "css", headers=["Content-Location: cid:a"])
            return f"{title}.mhtml", message.as_bytes()
    return f"{title}.html", page.encode()


def of_set(folder: Path) -> Iterator[SavedPage]:
    """The pages of ``folder`` that have a text beside them."""
    for path in sorted(folder.iterdir()):
        label = path.with_suffix(".txt")
        if path.suffix in (".html", ".htm", ".mhtml") and label.is_file():
            yield SavedPage(path.stem, path.name, path.read_bytes(), label.read_text("utf-8"), {})


def of_types(folder: Path) -> Iterator[SavedPage]:
    """The pages of ``folder/html`` whose main text is stated in ``folder/ground-truth``."""
    for path in sorted((folder / "ground-truth").glob("*.json")):
        stated = json.loads(path.read_text("utf-8"))
        article = stated["ground_truth"].get("main_content") or ""
        packed = folder / "html" / f"{path.stem}.html.gz"
        if article.strip() and packed.is_file():
            data = gzip.decompress(packed.read_bytes())
            named = (stated.get("_internal") or {}).get("page_type") or "article"
            type_ = named if isinstance(named, str) else named.get("primary", "article")
            yield SavedPage(path.stem, f"{path.stem}.html", data, article, {}, type_)


def read(page: SavedPage, folder: Path) -> Read:
    """Read one page from a file in ``folder`` and compare it with its article."""
    path = folder / f"page{Path(page.file).suffix}"
    path.write_bytes(page.data)
    try:
        found = extract(path, page.file)
    except Unreadable:
        found = Extracted("")
    wanted, got = (Counter(_WORD.findall(text.casefold())) for text in (page.article, found.text))
    both = (wanted & got).total()
    precision, recall = both / max(1, got.total()), both / max(1, wanted.total())
    said = {
        "title": found.title,
        "author": str(found.metadata.get("author", "")),
        "published": found.created_at,
        "url": found.url,
    }
    right = {name: from_iso(value) if name == "published" else value
             for name, value in page.expected.items() if value}  # fmt: skip
    wrong = (name for name, value in right.items() if said[name] != value)
    return Read(page, precision, recall, tuple(wrong))


def main() -> int:
    parser = options("pages", __doc__)
    parser.add_argument("--set", type=Path, metavar="DIR", help="pages with texts; default our own")
    given = parser.parse_args()
    if given.set and not given.set.is_dir():
        parser.error(f"--set: {given.set} is no folder")
    with folder() as place:
        is_typed = given.set and (given.set / "ground-truth").is_dir()
        pages = own() if not given.set else (of_types if is_typed else of_set)(given.set)
        done = [read(page, place) for page in pages]
    if not done:
        parser.error("--set: there is no page with a text beside it")
    types = sorted({each.page.type for each in done} - {""})
    for each in () if types else sorted(done, key=lambda each: each.f1):
        if each.f1 < WORSE or each.wrong:
            wrong = f"  wrong: {', '.join(each.wrong)}" if each.wrong else ""
            figures = f"F1 {each.f1:.3f}  P {each.precision:.3f}  R {each.recall:.3f}"
            print(f"{each.page.name:24} {figures}{wrong}")
    for name in types:
        of_type = [each for each in done if each.page.type == name]
        f1, precision, recall = (
            statistics.mean(getattr(each, figure) for each in of_type)
            for figure in ("f1", "precision", "recall")
        )
        print(f"{name:16} {len(of_type):4}  F1 {f1:.3f}  P {precision:.3f}  R {recall:.3f}")
    mean = statistics.mean(each.f1 for each in done)
    worse = sum(each.f1 < WORSE for each in done)
    print(f"{len(done)} pages: mean F1 {mean:.3f}, {worse} below {WORSE}")
    for name in ("title", "author", "published", "url"):
        stated = [each for each in done if each.page.expected.get(name)]
        if stated:
            right = sum(name not in each.wrong for each in stated)
            print(f"  {name}: {right} of {len(stated)} right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
