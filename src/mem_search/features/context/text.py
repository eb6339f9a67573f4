"""What an agent gets from memory: recent sessions on request, a briefing without asking.

All of it is rendered by ``unasked``: records stand in a fence that states that they are recalled
data, so that stored text cannot pass for instructions. Around it are only words of our own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mem_search.features.context.service import Briefing, Candidate
from mem_search.model import Record
from mem_search.records.origin import is_given
from mem_search.renderers.record_line import DisplayOptions, index_line
from mem_search.renderers.safe_text import cut
from mem_search.renderers.token_budget import fits, most_that
from mem_search.renderers.unasked import plain_name, quoted, unasked
from mem_search.text import instructions, token_count
from mem_search.text.search_fields import FROM_MODEL

_SHARE_OF_SESSIONS = 0.6
_SUMMARY_FIELDS = ("learned", "completed", "next_steps")
_SUMMARY_LENGTH = 240


def render_context(
    sessions: Sequence[Record],
    observations: Sequence[Record],
    *,
    project: str,
    display: DisplayOptions,
    max_chars: int,
) -> str:
    """The block, at most ``max_chars`` long; empty when there are no records or none fits.

    Records are taken in the given order until the room is used. Sessions leave a share of it to
    observations.
    """
    about = plain_name(project) if project else ""
    sessions, observations = (list(filter(is_given, each)) for each in (sessions, observations))
    newest = next(iter((*sessions, *observations)), None)
    room = max_chars - len(unasked("", about, ["-"], newest)) + len("-")
    share = int(room * _SHARE_OF_SESSIONS) if observations else room
    recent = _fitting("### Sessions", (_session(record, display) for record in sessions), share)
    room -= len(recent) + (2 if recent else 0)
    lines = (index_line(record, display) for record in observations)
    return unasked("", about, [recent, _fitting("### Observations", lines, room)], newest)


def _session(record: Record, display: DisplayOptions) -> str:
    return "\n".join([index_line(record, display), *_summary(record)])


def _summary(record: Record) -> Iterator[str]:
    for field in _SUMMARY_FIELDS:
        words, by_model = _briefer(record, field, record.metadata.get(field))
        if isinstance(words, str) and words.strip():
            label = field.replace("_", " ").capitalize() + by_model
            yield f"  {label}: {cut(words, _SUMMARY_LENGTH)}"


def _briefer(record: Record, field: str, words: object) -> tuple[object, str]:
    """``words``, or what a model made of them where they would be cut, with a mark."""
    said = record.metadata.get(FROM_MODEL)
    if isinstance(words, str) and len(words) > _SUMMARY_LENGTH and isinstance(said, dict):
        briefer = said.get(field)
        if isinstance(briefer, str) and len(briefer) < len(words):
            return briefer, " (by a model)"
    return words, ""


def _fitting(title: str, entries: Iterable[str], room: int) -> str:
    """``title`` and the first entries that fit into ``room`` characters; empty if none fits.

    An entry that reads like instructions is left out: a version without these rules stored it.
    """
    lines = [title]
    room -= len(title)
    for entry in filter(lambda text: not instructions.flags_in(text), entries):
        room -= len(entry) + 1
        if room < 0:
            break
        lines.append(entry)
    return "\n".join(lines) if len(lines) > 1 else ""


_MOMENTS: Final = (
    "before you plan a change, when an error appears, when a decision is needed, and when the user"
    " refers to something earlier: the tool `search` of the MCP server mem-search, or the skill"
    " mem-search"
)
_SECTIONS: Final = (
    ("prompt", "### For this prompt", 5),
    ("session_summary", "### Sessions", 3),
    ("file", "### About the files at hand", 6),
    ("decision", "### Decisions", 5),
    ("", "### Latest work", 5),
)
"""The reason that puts a record into a section, its heading, and the most records in it. More of
them would look like everything that is known."""


@dataclass(frozen=True, slots=True)
class RenderedBriefing:
    """A briefing as ``text`` that costs ``tokens``; ``shown`` are the records in it."""

    text: str = ""
    tokens: int = 0
    shown: tuple[Candidate, ...] = ()


def render_briefing(
    briefing: Briefing, display: DisplayOptions, max_tokens: int, *, more: int = 1
) -> RenderedBriefing:
    """The guide, and the best candidates that fit into ``max_tokens`` with it.

    Sections have up to ``more`` times their usual records. Empty when nothing is known, or when not
    even the guide fits.
    """
    guide, alone = (_start_guide(briefing, display, follows) for follows in (_FOLLOWS, ""))
    if not briefing.total or (tokens := token_count.count(alone)) > max_tokens:
        return RenderedBriefing()
    places = {name: most * more for name, _, most in _SECTIONS}
    block = _block(briefing, guide, _chosen(briefing.candidates, display, places), max_tokens)
    return block if block.shown else RenderedBriefing(alone, tokens)


def render_matches(
    briefing: Briefing, display: DisplayOptions, max_tokens: int, most: int
) -> RenderedBriefing:
    """The block of the ``most`` best candidates that match the prompt, within ``max_tokens``."""
    chosen = _chosen(briefing.candidates, display, {"prompt": most})
    return _block(briefing, "", chosen, max_tokens)


_Chosen = tuple[Candidate, str, str]
"""A candidate with its section and its text."""


def _block(
    briefing: Briefing, guide: str, chosen: Sequence[_Chosen], max_tokens: int
) -> RenderedBriefing:
    """``guide`` and the first of ``chosen`` that fit; empty if none does."""
    if not chosen:
        return RenderedBriefing()
    about = ", ".join(plain_name(each) for each in briefing.situation.projects if each)

    def written(kept: int) -> str:
        shown = chosen[:kept]
        blocks = [
            "\n".join([heading, *[text for _, section, text in shown if section == name]])
            for name, heading, _ in _SECTIONS
            if any(section == name for _, section, _ in shown)
        ]
        return unasked(guide, about, blocks, chosen[0][0].record)

    kept = most_that(lambda count: fits(written(count), max_tokens), len(chosen))
    if not kept:
        return RenderedBriefing()
    text = written(kept)
    return RenderedBriefing(
        text, token_count.count(text), tuple(each for each, _, _ in chosen[:kept])
    )


def render_prompt_guide(briefing: Briefing) -> str:
    """Two lines for a prompt: how many records match it, and when to search; empty for none."""
    if not briefing.matching:
        return ""
    return unasked(
        f"mem-search: {briefing.matching} of {_records(briefing.total)}{_about(briefing)} match"
        f" this prompt.\nSearch them {_MOMENTS}.", "", ()
    )  # fmt: skip


_FOLLOWS: Final = " What follows is a small part of them."


def _start_guide(briefing: Briefing, display: DisplayOptions, follows: str) -> str:
    situation = briefing.situation
    branch = quoted(situation.branch, "this branch")
    on_branch = f", {briefing.on_branch} of them on {branch}" if briefing.on_branch else ""
    newest = "" if briefing.newest is None else f", the newest from {display.date(briefing.newest)}"
    return (
        f"mem-search holds {_records(briefing.total)} of earlier work{_about(briefing)}"
        f"{on_branch}{newest}.{follows}\n"
        f"Search them {_MOMENTS}. Open only what you need."
    )


def _records(count: int) -> str:
    return f"{count} record{'' if count == 1 else 's'}"


def _about(briefing: Briefing) -> str:
    """`` on "NAME"``; empty without one."""
    name = next(iter(briefing.situation.projects), "")
    return f" on {quoted(name)}" if name else ""


def _chosen(
    candidates: Iterable[Candidate], display: DisplayOptions, places: Mapping[str, int]
) -> list[_Chosen]:
    """Each candidate that its section has one of ``places`` for."""
    taken = Counter[str]()
    chosen = []
    for candidate in candidates:
        section = next(name for name, _, _ in _SECTIONS if not name or name in candidate.reasons)
        if taken[section] < places.get(section, 0):
            text = _briefly(candidate.record, section, display)
            if not is_given(candidate.record) or instructions.flags_in(text):
                continue  # the rules also for what a version without them stored
            taken[section] += 1
            chosen.append((candidate, section, text))
    return chosen


def _briefly(record: Record, section: str, display: DisplayOptions) -> str:
    """The line of a record, and the words of it that earn their tokens."""
    if record.kind == "session_summary":
        return _session(record, display)
    line = index_line(record, display)
    if section not in ("prompt", "decision"):
        return line
    own = display.kinds(record.kind).own_text(record)
    # Only a whole line repeats the title: a sentence that begins with it stays a sentence.
    words, by_model = _briefer(record, "narrative", f"{own}\n".removeprefix(f"{record.title}\n"))
    shown = cut(str(words), _SUMMARY_LENGTH)
    return f"{line}\n  {shown}{by_model}" if shown else line
