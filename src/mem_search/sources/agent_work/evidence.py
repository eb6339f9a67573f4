"""What the words and the commands of an agent are evidence of: a type of work, a decision. Pure.

Observations have claude-mem's six types. Each type needs evidence: files that changed, a check that
failed and then passed, words such as "extract" or "instead of". All expressions take linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from mem_search.sources.agent_work.text import one_line

CHECKS: Final = "checks"
DELIVERS: Final = "delivers"
LOOKS: Final = "looks"
VERSIONS: Final = "versions"

_CHECK = re.compile(
    r"\b(?:tests?|spec|pytest|unittest|vitest|jest|rspec|tox|nox|lint|credo|dialyzer|mypy|pyright"
    r"|ruff|flake8|eslint|prettier|tsc|clippy|compile|build|check|verify|typecheck)\b"
)
_LOOK = re.compile(
    r"\s*(?:cd [^&;]{1,200}&& *)?"
    r"(?:ls|cat|head|tail|grep|rg|find|fd|wc|tree|pwd|which|file|stat|less|sed -n|jq|curl -s)\b"
)
_COMMIT = re.compile(r"\bgit (?:-\S+ )*commit\b")
_GIT = re.compile(r"\s*(?:cd [^&;]{1,200}&& *)?git\b")


_REMOVED = re.compile(r"\s*(?:git )?(?:rm|mv)((?: -\w+)*(?: [\w./@+-]+){1,8})\s*")


def removed_files(command: str) -> list[str]:
    """The paths that a plain ``rm`` or ``mv`` names; none for any other command."""
    match = _REMOVED.fullmatch(command[:2000])
    return [part for part in match[1].split() if part[:1] != "-"] if match else []


def check_name(command: str) -> str:
    """What a command checks, the same for each way to call it; empty if it checks nothing.

    ``mix test a_test.exs`` and ``mix test | tail`` are both ``mix test``.
    """
    match command_class(command):
        case "delivers":
            return "git commit"
        case "checks":
            words = command.rpartition("&& ")[2].split()
            return " ".join(word for word in words[:2] if word[:1] not in "-|>2")
    return ""


def command_class(command: str) -> str:
    """What a command is for: DELIVERS a commit, CHECKS, VERSIONS (other git), LOOKS, or empty."""
    command = command[:2000]
    if _COMMIT.search(command):
        return DELIVERS
    if _GIT.match(command):
        return VERSIONS
    if _LOOK.match(command):
        return LOOKS
    return CHECKS if _CHECK.search(command) else ""


_TEST_FILE = re.compile(
    r"(?:^|[/\\])(?:tests?|specs?|__tests__|fixtures)[/\\]|[._-](?:test|spec)\.\w+$|_test\.\w+$"
    r"|(?:^|[/\\])test_[^/\\]*$|(?:^|[/\\])conftest\.py$",
    re.IGNORECASE,
)
_DOCUMENT = re.compile(r"\.(?:md|mdx|rst|txt|adoc)$|(?:^|[/\\])(?:docs?|LICENSE)\b", re.IGNORECASE)
_SETTING = re.compile(
    r"\.(?:toml|ya?ml|json|ini|cfg|conf|lock|env|properties)$|(?:^|[/\\])\.[^/\\]+$"
    r"|(?:^|[/\\])(?:config|\.github|\.circleci)[/\\]|(?:^|[/\\])(?:Makefile|Dockerfile|mix\.exs)$",
    re.IGNORECASE,
)


def sort_of_file(path: str) -> str:
    """``tests``, ``docs``, ``settings`` or ``code``."""
    for sort, pattern in (("tests", _TEST_FILE), ("docs", _DOCUMENT), ("settings", _SETTING)):
        if pattern.search(path):
            return sort
    return "code"


_REPAIR = re.compile(
    r"\b(?:fix(?:es|ed|ing)?|bugs?|broken|crash(?:es|ed|ing)?|regressions?|wrong"
    r"|the (?:issue|problem) (?:is|was))\b",
    re.IGNORECASE,
)
_REFACTOR = re.compile(
    r"\b(?:refactor(?:s|ed|ing)?|renam(?:e|es|ed|ing)|clean(?:s|ed|ing)? ?up|simplif(?:y|ies|ied)"
    r"|extract(?:s|ed|ing)? (?:the |a |an |this |that )?[\w` -]{0,60}?\b(?:in)?to"
    r"|deduplicat(?:e|es|ed)|too (?:deep|complex|long|many conditionals)|complexity"
    r"|(?:fix|address|resolve)\w* .{0,40}\b(?:credo|lint\w*|style|readability|warnings?)"
    r"|(?:credo|linter|clippy|ruff|eslint|rubocop) (?:reports|complains|warning|issue))\b",
    re.IGNORECASE,
)
_FEATURE = re.compile(
    r"\b(?:implement(?:s|ed|ing)?|add(?:s|ed|ing)?|create[sd]?|creating|build(?:s|ing)?|built"
    r"|introduc(?:e|es|ed|ing)|supports?|instrument(?:s|ed|ing)?|wire|integrat(?:e|es|ed|ing))\b",
    re.IGNORECASE,
)


def requested_change(prompt: str) -> str:
    """The type of change that a prompt asks for: bugfix, refactor, feature, or empty."""
    found = [
        (match.start(), name)
        for name, pattern in (("bugfix", _REPAIR), ("refactor", _REFACTOR), ("feature", _FEATURE))
        if (match := pattern.search(prompt[:8000]))
    ]
    return min(found)[1] if found else ""


def type_of_change(
    texts: Sequence[str], modified: Iterable[str], *, repairing: bool, mended: bool, request: str
) -> str:
    """The type of a step that modified files.

    ``texts`` are what the agent said in it. ``repairing``: something was found broken before;
    ``mended``: a check that failed passes now; ``request``: what the prompt asked for.
    """
    refactors, repairs = _votes(texts)
    if mended or (repairing and not refactors) or repairs > refactors:
        return "bugfix"
    if refactors:
        return "refactor"
    if {sort_of_file(path) for path in modified} <= {"tests", "docs", "settings"}:
        return "change"
    words = "\n".join(texts)[:_READ]
    return request or ("feature" if _FEATURE.search(words) else "change")


def purpose(text: str) -> str:
    """``refactor`` or ``bugfix`` if ``text`` says that this is what comes now, else empty."""
    refactors, repairs = _votes([text])
    return "bugfix" if repairs > refactors else "refactor" if refactors else ""


def _votes(texts: Iterable[str]) -> tuple[int, int]:
    """How many sentences speak of tidying, and how many of the others of repairing."""
    refactors = repairs = 0
    for sentence in _SENTENCE.split("\n".join(texts)[:_READ]):
        if _REFACTOR.search(sentence):
            refactors += 1
        elif _REPAIR.search(sentence):
            repairs += 1
    return refactors, repairs


_READ: Final = 8000
"""Characters of what the agent said in a step that are read as evidence."""

_SENTENCE = re.compile(r"(?<=[.!?:])\s+|\n+")
_INTENT: Final = (
    r"(?:let me|let's|i'll|i will|we'll|we will|i need to|we need to|i should|we should"
    r"|i'm going to|we're going to)"
)
_CHOOSES = re.compile(
    r"\b(?:(?:we|i)(?:'ve| have)? (?:decided|chose|opted|settled)|(?:decided|opted|opting) "
    r"(?:to|for|against)|settl(?:ed|ing) on|(?:we|i)(?:'ll| will|'re|'m)? (?:go|going) with"
    r"|the decision (?:is|was)|(?:out of|beyond the) scope|not something (?:i|we) should"
    r"|should do the same|different approach ?[-–—:] ?\w+"
    r"|(?:use[sd]?|using|keep|keeping|choos(?:e|ing)|chose|prefer(?:s|red)?|pick(?:ed|ing)?"
    r"|switch(?:ed|ing)?|go)\b.{1,160}\b(?:instead of|rather than|over using))\b",
    re.IGNORECASE,
)
_CHOOSES_BY_INTENT = re.compile(
    rf"\b{_INTENT} .{{1,200}}\b(?:instead|rather than|without \w+ing|to avoid|no longer needed"
    r"|so (?:that|both|it|we|they|all) |following the same|following the existing)"
    rf"|\bno longer need|\b(?:since|because) .{{3,200}}, {_INTENT} "
    rf"|\bfor now,? {_INTENT} .{{0,20}}\b(?:skip|ignor|leav|keep|us|disabl)",
    re.IGNORECASE,
)
_CAUSE = re.compile(
    r"\b(?:doesn't|does not|don't|can't|cannot|won't|will fail|isn't|is not|aren't|wasn't"
    r"|there(?:'s| is) no|the (?:issue|problem|blocker) (?:is|was)|already|no \w+ module)\b",
    re.IGNORECASE,
)
_REMEDY = re.compile(
    r"\b(?:(?:i'll|i will|we'll|we will) (?:completely |also |just )?(?:add|put|keep|store|make)"
    rf"|{_INTENT} (?:completely |also |just )?(?:use|reuse|rewrite|replace it|replace them|switch"
    r"|restructure|go with|adopt|stick|drop))\b",
    re.IGNORECASE,
)
_LONGEST_DECISION: Final = 1500


def decision_in(text: str) -> tuple[str, str]:
    """The sentence of ``text`` that chooses one way, and its paragraph; empty if none does.

    A sentence chooses by its words ("we chose … instead of …"), or it says what will be done after
    a sentence that says what is in the way.
    """
    for paragraph in text[:20_000].split("\n\n"):
        before = ""
        for sentence in _SENTENCE.split(paragraph):
            said = sentence[:600]
            if (
                _CHOOSES.search(said)
                or _CHOOSES_BY_INTENT.search(said)
                or (_REMEDY.search(said) and _CAUSE.search(f"{before} {said}"))
            ):
                return statement(said), paragraph.strip()[:_LONGEST_DECISION]
            before = said
    return "", ""


_ANSWERED = re.compile(r'"([^"\n]{1,400})"="([^"\n]{0,400})"')


def answers_in(result: str) -> str:
    """The person's answers to the agent's questions, one a line; empty if it has none."""
    return "\n".join(f"{asked} {said}" for asked, said in _ANSWERED.findall(result[:20_000]))


_PREAMBLE = re.compile(
    r"(?:(?:ok(?:ay)?|good|great|perfect|excellent|alright|right|clean|expected|now|so|first|next"
    r"|then|all green|yes)\b[\s,.!:;—–-]*)+",
    re.IGNORECASE,
)
_ANNOUNCES = re.compile(rf"{_INTENT} (?:(?:also|now|just|first|then) )*", re.IGNORECASE)
_MARKS = re.compile(r"^[#>*+•\s-]+|\*\*")
_ENOUGH_WORDS = 3


def statement(sentence: str, limit: int = 100) -> str:
    """A sentence as a title: "Now let me add the route:" is "Add the route"."""
    line = _MARKS.sub("", one_line(sentence, 2 * limit)).rstrip(" :")
    for pattern, enough in ((_PREAMBLE, _ENOUGH_WORDS), (_ANNOUNCES, _ENOUGH_WORDS - 1)):
        if match := pattern.match(line):
            rest = line[match.end() :]
            line = rest if len(rest.split()) >= enough else line
    first = line.partition(" ")[0].rstrip(",;:.")
    # A name such as ``spotter-4te.1`` stays as it is written.
    return one_line(line[:1].upper() + line[1:] if first.isalpha() else line, limit)


def intent_in(text: str) -> str:
    """The sentence of ``text`` that says what comes now, else the first with some words."""
    sentences = [s for s in _SENTENCE.split(text[:4000]) if len(s.split()) >= _ENOUGH_WORDS]
    announced = next((s for s in sentences if _ANNOUNCES.search(s)), "")
    return statement(announced or next(iter(sentences), ""))


def finding_in(line: str) -> str:
    """The sentence of ``line`` that says what was found, else what comes now."""
    for sentence in re.split(r"(?<=[.!?])\s+", line):
        if len(sentence.split()) >= _ENOUGH_WORDS and not _ANNOUNCES.search(sentence):
            return statement(sentence)
    return intent_in(line)


_TELLING = re.compile(
    r"^\s*(?:E\s{2,}\S|\*\* \(|(?:fatal|error|ERROR)\b[\[: ]|[✘✗×] ?\[?ERROR"
    r"|[A-Z]\w*(?:Error|Exception)\b"
    r"|[\w.]+\.(?:\w*Error|\w*Exception):|Assertion with|AssertionError|panic:|FAILED\b"
    r"|error(?:\[\w+\])?:|.{0,80}\b(?:permission denied|command not found|No such file"
    r"|are ignored by one of|validation failed|cannot find|could not resolve)\b)"
)  # fmt: skip


def error_line(output: str, limit: int = 240) -> str:
    """The line of a failed command's output that says best what is wrong: else the last one."""
    last = ""
    for raw in output[:200_000].splitlines():
        line = raw[:2000]
        if _TELLING.match(line):
            return one_line(line, limit)
        last = line if line.strip() else last
    return one_line(last, limit)
