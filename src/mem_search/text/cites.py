"""Where a report cites a page: links, reference lists, footnotes, addresses, DOIs, arXiv. Pure.

``find`` gives each place with its span and the span of its context, the sentence around it. A
marker such as ``[3]`` cites what the entry 3 of the list of references names. The time is linear:
each expression is possessive or bounded, and what looks back does so for a bounded length.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Final

from mem_search.model.graph import Cite, CiteForm
from mem_search.patterns import pattern
from mem_search.text.urls import ENDS, without_trailing_marks

MAX_PLACES: Final = 5_000
"""Most places of one text; a report with more is a list of addresses."""

CONTEXT: Final = 400
"""Characters of a context before and after its place, at most."""

_MAX_LABEL_CHARS: Final = 500
"""Characters of the words of a link, at most."""

_FENCE: Final = pattern(
    r"^[ ]{0,3}(```++|~~~++)[^\n]*+\n.*?(?:^[ ]{0,3}\1|\Z)", re.DOTALL | re.MULTILINE
)
_IMAGE: Final = pattern(r"!\[[^\[\]\n]{0,500}\]\([^()\s]{1,2000}(?:[ ][^()\n]{0,200})?\)")
_STOP: Final = rf"\s<>\"`{{}}|\\^\[\]{ENDS}"
_WORDS: Final = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fff\u3040-\u9fff\uac00-\ud7af"
"""Letters of languages in which words follow an address without a space."""

_LINKED: Final = rf"https?://[^{_STOP}]++"
_URL: Final = rf"https?://(?:[^{_STOP}{_WORDS},;]|[,;](?!https?://)|(?<![A-Za-z0-9])[{_WORDS}])++"
_PLACE: Final = pattern(
    rf"""
    (?P<link>(?<=\]\()[ \t]*+<?+(?P<linked>{_LINKED}))
    | (?P<anchor><a\s[^<>]{{0,500}}?href\s*=\s*["']?\s*(?P<target>{_LINKED})[^<>]{{0,500}}>)
    | (?P<url>{_URL})
    | (?<![\w/.])(?:doi:[ ]?)?(?P<doi>10\.[0-9]{{4,9}}/[^\s<>"`{{}}|\\^\[\]\u3000-\uffff]++)
    | (?<![\w/.])arxiv:[ ]?
      (?P<arxiv>[0-9]{{4}}\.[0-9]{{4,5}}|[a-z-]{{2,20}}(?:\.[A-Z]{{2}})?/[0-9]{{7}})
      (?:v[0-9]{{1,3}})?(?![\w/])
    """,
    re.VERBOSE | re.IGNORECASE,
)
_ESCAPED: Final = pattern(r"&(?:quot|[gl]t|#39);", re.IGNORECASE)
"""Marks around an address, as HTML escapes them."""

_LABEL: Final = pattern(
    r"^[ \t>|*-]{0,8}(?:"
    r"\[\^(?P<note>[^\[\]\s]{1,60})\]:"
    r"|\[(?P<defined>[^\[\]\n]{1,100})\]:"
    r"|[\[【［](?P<number>[0-9]{1,4})[\]】］](?![(\[])"
    r"|(?P<listed>(?P<plain>[0-9]{1,4})[.)、．][ \t]|[-*+•][ \t])"
    r")",
    re.MULTILINE,
)
_MARKER: Final = pattern(
    r"\[\^(?P<note>[^\[\]\s]{1,60})\](?!:)"
    r"|[\[【［](?P<numbers>[0-9]{1,4}(?:[ ]?[,，、;–-][ ]?[0-9]{1,4}){0,30})"
    r"(?:†[^\[\]【】\n]{0,60})?[\]】］](?![(:])"
    r"|<sup>\s{0,3}(?P<raised>[0-9]{1,4}(?:[ ]?[,–-][ ]?[0-9]{1,4}){0,30})\s{0,3}</sup>"
    r"|\]\[(?P<label>[^\[\]\n^][^\[\]\n]{0,99})\]"
)
_NAME: Final = r"[^\W\d_a-z][\w'\u2019-]{1,40}"
_YEAR: Final = r"(?P<year>(?:19|20)[0-9]{2}[a-z]?)(?![0-9])"
_AUTHORED: Final = pattern(
    rf"^[ \t>*•-]{{0,8}}(?:[\[【［]?[0-9]{{1,4}}[\]】］.)][ \t]{{0,3}})?"
    rf"(?P<name>{_NAME})(?=[,. ;&])[^\n]{{0,300}}?[^\w/.-]{_YEAR}",
    re.MULTILINE,
)
"""An entry of a list of references that begins with an author and names a year: APA, Harvard."""
_AUTHOR_YEAR: Final = pattern(
    rf"(?<![\w'\u2019-])(?P<name>{_NAME})(?:,?[ ](?:et[ ]al\.?|(?:and|&|und|et|y|e)[ ]{_NAME}))?"
    rf"(?:'s|\u2019s)?,?[ ]?[(\[]?{_YEAR}"
)
"""A marker such as ``(Smith, 2020)``, ``Smith et al. (2020)`` or ``Smith & Lee 2020b``."""
_HEADING: Final = pattern(
    r"^[ \t]{0,3}(?:\#{1,6}[ \t]*|\*\*|__)?(?:[0-9IVX]{1,5}[.)、][ \t]*)?(?P<words>"
    r"references?(?:[ ]list|[ ]and[ ]notes)?|(?:works|literature|sources)[ ]cited|bibliography"
    r"|sources|citations|endnotes|footnotes|notes|further[ ]reading"
    r"|参考文献|参考资料|參考文獻|參考資料|参考来源|参考链接|资料来源|資料來源|引用来源|引用文献|引用|来源|文献"
    r"|参照|出典|参考|참고[ ]?문헌|참고[ ]?자료|출처"
    r"|literatur(?:verzeichnis)?|quellen(?:verzeichnis|angaben)?|einzelnachweise|belege"
    r"|références(?:[ ]bibliographiques)?|bibliographie|referencias(?:[ ]bibliográficas)?|fuentes"
    r"|bibliografía|referências|bibliografia|fontes|riferimenti|fonti|referenties|bronnen"
    r"|källor|referenser|kilder|referanser|źródła|kaynaklar|kaynakça|список[ ]литературы|источники"
    r"|литература|ссылки|المراجع|المصادر"
    r")[ \t]*[:：]?[ \t]*(?:\*\*|__)?[ \t]*[:：]?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_ANY_HEADING: Final = pattern(r"^[ ]{0,3}#{1,6}[ \t]", re.MULTILINE)
_FULL_STOPS: Final = ".!?\u061f\u06d4\u0964\u0965\u0589\u1362"
_FULL_STOPS_CJK: Final = "。！？"
_END: Final = pattern(
    rf"[{_FULL_STOPS}][\'\")\]*_]{{0,3}}(?=\s)|[{_FULL_STOPS_CJK}][\'\")\]」』”]{{0,3}}"
    r"|\n(?=[ \t]{0,8}(?:\n|[-*+#>|•]|[0-9]{1,3}[.)、]|\Z))"
)
_TAIL: Final = pattern(rf"(?:[ \t]|\[[^\[\]\n]{{1,60}}\]|[{_FULL_STOPS}{_FULL_STOPS_CJK}])*+\Z")
_MARKS: Final = pattern(r"(?:\s|\[[0-9^][^\[\]\n]{0,60}\](?!\())*+")
_STOPS: Final = frozenset(_FULL_STOPS + _FULL_STOPS_CJK)
_LOCAL: Final = pattern(r"https?://(?:[^/.]*(?:[/:?#]|\Z)|127\.|0\.0\.0\.0|\[)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry of a list of references, or a definition, and its places."""

    label: str
    start: int
    end: int
    cites: tuple[Cite, ...]


def find(text: str) -> tuple[Cite, ...]:
    """Every place of ``text`` that cites a page, in the order of the text. Never raises."""
    plain = _IMAGE.sub(_blank, _FENCE.sub(_blank, text))
    places = _without_shown(_places(plain))
    is_listed = _sections(plain)
    entries = _entries(plain, places, is_listed)
    within = {(cite.start, cite.target) for entry in entries for cite in entry.cites}
    cites = [cite for cite in places if (cite.start, cite.target) not in within]
    cites += (cite for entry in entries for cite in entry.cites)
    cites += _marked(plain, entries)
    cites += _by_author(plain, places, is_listed)
    return tuple(sorted(cites, key=lambda cite: (cite.start, cite.target))[:MAX_PLACES])


def is_heading(line: str) -> bool:
    """Whether a line is the heading of a list of references, in any of 15 languages."""
    return bool(_HEADING.fullmatch(line[:200]))


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _places(text: str) -> list[Cite]:
    """The places that have their target with them."""
    cites: list[Cite] = []
    for match in _PLACE.finditer(text):
        form: CiteForm
        if match["doi"] is not None:
            form, start, written = "doi", match.start("doi"), _balanced(match["doi"])
            target = f"https://doi.org/{written}"
        elif match["arxiv"] is not None:
            form, start, written = "arxiv", match.start("arxiv"), match["arxiv"]
            target = f"https://arxiv.org/abs/{written}"
        else:
            name, form = next(
                (group, form) for group, form in _ADDRESSED.items() if match[group] is not None
            )
            start, written = match.start(name), match[name]
            written = _address(written, text[start - 1 : start], form)
            target = written
            if _LOCAL.match(written):
                continue
        if not written:
            continue
        end = start + len(written)
        if form == "link":
            start, end = _linked(text, match.start() - 2, end)
        elif form == "anchor":
            close = text.find("</a>", match.end(), match.end() + _MAX_LABEL_CHARS)
            start, end = match.start(), (close + 4 if close >= 0 else match.end())
        cites.append(Cite(target, form, start, end, *context_of(text, start, end)))
    return cites


_ADDRESSED: Final[dict[str, CiteForm]] = {"linked": "link", "target": "anchor", "url": "url"}


def _address(written: str, before: str, form: CiteForm) -> str:
    """An address without what follows it in a sentence."""
    if mark := _ESCAPED.search(written):
        written = written[: mark.start()]
    if before == "'":
        written = written.partition("'")[0]
    written = _balanced(written)
    return written if form == "link" else without_trailing_marks(written).rstrip("'")


def _balanced(written: str) -> str:
    """``written`` up to a bracket that it does not open, without marks of the sentence."""
    depth = 0
    for at, letter in enumerate(written):
        if letter == "(":
            depth += 1
        elif letter == ")":
            depth -= 1
            if depth < 0:
                written = written[:at]
                break
    return without_trailing_marks(written)


def _linked(text: str, at: int, end: int) -> tuple[int, int]:
    """The span of a link whose words end at ``at``, from ``[`` to ``)``."""
    close = text.find(")", end, end + _MAX_LABEL_CHARS)
    end = close + 1 if close >= 0 else end
    depth = 0
    for opening in range(at, max(-1, at - _MAX_LABEL_CHARS), -1):
        depth += {"]": 1, "[": -1}.get(text[opening], 0)
        if depth == 0:
            return opening, end
    return at, end


def _without_shown(places: list[Cite]) -> list[Cite]:
    """Without addresses that are the words of a link."""
    kept: list[Cite] = []
    for cite in places:
        while cite.form in ("link", "anchor") and kept and kept[-1].start >= cite.start:
            kept.pop()
        if kept and kept[-1].form in ("link", "anchor") and cite.end <= kept[-1].end:
            continue
        kept.append(cite)
    return kept


def _entries(text: str, places: list[Cite], is_listed: Callable[[int], bool]) -> list[_Entry]:
    """The entries of lists of references, and definitions, that name a target."""
    labels = [f for f in _LABEL.finditer(text) if f["listed"] is None or is_listed(f.start())]
    starts = [cite.start for cite in places]
    entries: list[_Entry] = []
    for match, following in zip_longest(labels, labels[1:]):
        ends = following.start() if following else len(text)
        if (blank := text.find("\n\n", match.end(), ends)) >= 0:
            ends = blank
        inside = places[bisect_left(starts, match.end()) : bisect_left(starts, ends)]
        if not inside:
            continue
        label = match["number"] or match["plain"] or match["defined"] or ""
        label = f"^{match['note']}" if match["note"] else label.casefold()
        head = match.start() + len(match[0]) - len(match[0].lstrip(" \t>|*-"))
        tail = min(head + len(text[head:ends].rstrip()), head + 2 * CONTEXT)
        cites = tuple(
            replace(cite, form="entry", context_start=head, context_end=max(tail, cite.end))
            for cite in inside
        )
        entries.append(_Entry(label, match.start(), ends, cites))
    return entries


def _sections(text: str) -> Callable[[int], bool]:
    """Whether a place is in a list of references: after its heading and before the next one."""
    listed = {match.start() for match in _HEADING.finditer(text)}
    headings = sorted(listed | {match.start() for match in _ANY_HEADING.finditer(text)})

    def is_listed(at: int) -> bool:
        before = bisect_left(headings, at) - 1
        return before >= 0 and headings[before] in listed

    return is_listed


def _marked(text: str, entries: list[_Entry]) -> Iterator[Cite]:
    """The places that name an entry by its label."""
    by_label: dict[str, list[_Entry]] = defaultdict(list)
    for entry in entries:
        if entry.label:
            by_label[entry.label].append(entry)
    places = {label: [entry.start for entry in known] for label, known in by_label.items()}
    starts = [entry.start for entry in entries]
    made = 0
    for marker in _MARKER.finditer(text):
        at = marker.start()
        inside = bisect_right(starts, at) - 1
        if inside >= 0 and at < entries[inside].end:
            continue
        context = context_of(text, at, marker.end())
        for label in _labels(marker):
            if not (known := by_label.get(label)):
                continue
            # Each part of a text that was joined may have a list of its own, after it.
            entry = known[min(bisect_right(places[label], at), len(known) - 1)]
            for cite in entry.cites:
                yield Cite(cite.target, "marker", at, marker.end(), *context)
                if (made := made + 1) >= MAX_PLACES:
                    return


def _by_author(text: str, places: list[Cite], is_listed: Callable[[int], bool]) -> Iterator[Cite]:
    """The places that name an entry by its first author and its year."""
    starts = [cite.start for cite in places]
    known: dict[tuple[str, str], tuple[Cite, ...]] = {}
    authored = [author for author in _AUTHORED.finditer(text) if is_listed(author.start())]
    for author, following in zip_longest(authored, authored[1:]):
        ends = following.start() if following else len(text)
        if (blank := text.find("\n\n", author.end(), ends)) >= 0:
            ends = blank
        inside = places[bisect_left(starts, author.start()) : bisect_left(starts, ends)]
        if inside:  # the first of an author and a year: others have a letter after the year
            known.setdefault((author["name"].casefold(), author["year"]), tuple(inside))
    made = 0
    for marker in _AUTHOR_YEAR.finditer(text) if known else ():
        cited = known.get((marker["name"].casefold(), marker["year"]))
        if cited is None or is_listed(marker.start()):
            continue
        context = context_of(text, marker.start(), marker.end())
        for cite in cited:
            yield Cite(cite.target, "marker", marker.start(), marker.end(), *context)
            if (made := made + 1) >= MAX_PLACES:
                return


def _labels(marker: re.Match[str]) -> list[str]:
    """The labels that a marker names: ``[1, 3-5]`` names four."""
    if marker["note"]:
        return [f"^{marker['note']}"]
    if marker["label"]:
        return [marker["label"].casefold()]
    labels: list[str] = []
    for part in re.split(r"[,，、;]", marker["numbers"] or marker["raised"]):
        first, _, last = part.replace("–", "-").partition("-")
        low, high = int(first), int(last or first)
        labels += map(str, range(low, min(high, low + 50) + 1))
    return labels


def context_of(text: str, start: int, end: int) -> tuple[int, int]:
    """The sentence around a place; a marker after the full stop belongs to the sentence before."""
    low = max(0, start - CONTEXT)
    head = text[low:start]
    tail = _TAIL.search(head, max(0, len(head) - 80))
    within = tail.start() if tail else len(head)
    is_after = not _STOPS.isdisjoint(head[within:])
    begins = low + max((match.end() for match in _END.finditer(head, 0, within)), default=0)
    after = None if is_after else _END.search(text, end, end + CONTEXT)
    ends = after.end() if after else end if is_after else min(len(text), end + CONTEXT)
    if marks := _MARKS.match(text, begins, start):
        begins = marks.end()
    return begins, max(end, end + len(text[end:ends].rstrip()))
