"""What the words and the commands of an agent are evidence of: a type of work. Pure.

Observations have claude-mem's six types. Each type needs evidence: files that changed, a check that
failed and then passed, words such as "extract" or "instead of". All expressions take linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from mem_search.patterns import pattern
from mem_search.sources.agent_work.text import one_line

CHECKS: Final = "checks"
DELIVERS: Final = "delivers"
LOOKS: Final = "looks"
VERSIONS: Final = "versions"

_CHECK = pattern(
    r"\b(?:tests?|spec|pytest|unittest|vitest|jest|rspec|tox|nox|lint|credo|dialyzer|mypy|pyright"
    r"|ruff|flake8|eslint|prettier|tsc|clippy|compile|build|check|verify|typecheck"
    r"|make|ninja|gradlew?|mvn|bazel|go vet|dotnet)\b"
)
_STYLE = pattern(
    r"\b(?:lint\w*|credo|ruff|flake8|eslint|prettier|clippy|rubocop|gofmt|black|stylelint)\b"
)
_PREPARES = pattern(
    r"\b(?:install|add|init|clone|mkdir|touch|cp|mv|rm|chmod|tee|apply|push|checkout|switch|start"
    r"|up)\b|>"
)
_LOOK = pattern(
    r"\s*(?:cd [^&;]{1,200}&& *)?"
    r"(?:ls|cat|head|tail|grep|rg|find|fd|wc|tree|pwd|which|file|stat|less|sed -n|jq|curl -s|ps"
    r"|df|du"
    r"|env|diff|awk|journalctl|systemctl status|kubectl (?:get|logs|describe|top|explain)|dig"
    r"|nslookup"
    r"|docker (?:ps|logs|images|inspect|stats)|gh \w+ (?:list|view|status|checks))\b"
)
_COMMIT = pattern(r"\bgit (?:-\S+ )*commit\b")
_GIT = pattern(r"\s*(?:cd [^&;]{1,200}&& *)?git\b")


_REMOVED = pattern(r"\s*(?:git )?(?:rm|mv)((?: -\w+)*(?: [\w./@+-]+){1,8})\s*")


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


def is_style_check(command: str) -> bool:
    """Whether a check is of the form of the code: what it finds is untidy, not broken."""
    return bool(_STYLE.search(command[:2000]))


def explores(command: str) -> bool:
    """Whether a command, before anything was changed, tells the agent something."""
    sort = command_class(command)
    return sort == LOOKS or (not sort and not _PREPARES.search(command[:2000]))


_TEST_FILE = pattern(
    r"(?:^|[/\\])(?:tests?|specs?|__tests__|fixtures)[/\\]|[._-](?:test|spec)\.\w+$|_test\.\w+$"
    r"|(?:^|[/\\])test_[^/\\]*$|(?:^|[/\\])conftest\.py$",
    re.IGNORECASE,
)
_DOCUMENT = pattern(r"\.(?:md|mdx|rst|txt|adoc)$|(?:^|[/\\])(?:docs?|LICENSE)\b", re.IGNORECASE)
_SETTING = pattern(
    r"\.(?:toml|ya?ml|json|ini|cfg|conf|lock|env|properties)$|(?:^|[/\\])\.[^/\\]+$"
    r"|(?:^|[/\\])(?:config|\.github|\.circleci)[/\\]|(?:^|[/\\])(?:Makefile|Dockerfile|mix\.exs)$",
    re.IGNORECASE,
)


def sort_of_file(path: str) -> str:
    """``tests``, ``docs``, ``settings`` or ``code``."""
    for sort, form in (("tests", _TEST_FILE), ("docs", _DOCUMENT), ("settings", _SETTING)):
        if form.search(path):
            return sort
    return "code"


_REPAIR = pattern(
    r"\b(?:fix(?:es|ed|ing)?|bugs?|broken|crash(?:es|ed|ing)?|regressions?|wrong"
    r"|the (?:issue|problem|culprit|cause) (?:is|was)|root cause|incorrect(?:ly)?|deadlocks?"
    r"|(?:mem(?:ory)?|connection|goroutine) leaks?|race condition|off[- ]by[- ]one)\b",
    re.IGNORECASE,
)
_COMPLAINT = pattern(
    r"\b(?:(?:is|are|get|gets|got|being|stays?) (?:\w+ )?(?:red|stuck|lost|twice|duplicated"
    r"|corrupted)"
    r"|twice(?: sometimes)?$|(?:doesn't|does not|don't|doesnt|won't|can't|cannot) "
    r"(?:work|start|load|open|log|run|build|compile|show|save|find|connect)|(?:is|are)n't working"
    r"|not working|stop(?:s|ped)? working|no longer works?|fail(?:s|ing|ed)? |hangs?\b|throws?\b"
    r"|(?:is|are|get|gets|got|being) logged out|leaks?\b|find out why|why (?:does|do|is"
    r"|are) .{1,80}"
    r"(?:fail|crash|hang|red|empty|wrong)"
    r"|shows? nothing|nothing (?:happens|shows)|finds? nothing|no results?\b|every few (?:minutes"
    r"|seconds|hours)"
    r"|(?:is|are|gets?) (?:restarted|killed|rejected|ignored|missing|invisible|cut off|hard to \w+)"
    r"|out of memory|OOM\w*)",
    re.IGNORECASE,
)
"""What a person says of something that does not do what it should."""

_REFACTOR = pattern(
    r"\b(?:refactor(?:s|ed|ing)?|(?<!'s )renam(?:e|es|ed|ing)|clean(?:s|ed|ing)? ?up|simplif(?:y"
    r"|ies|ied)"
    r"|(?:split(?:s|ting)?|break(?:s|ing)?) (?:it|this|that|them|the [\w` -]{1,40}?) (?:up|into"
    r"|apart)"
    r"|tid(?:y|ies|ied|ying)\b|restructur(?:e|es|ed|ing)|copied from|duplicate code|dead code"
    r"|without changing (?:what|how|the behaviou?r|behaviou?r)"
    r"|mov(?:e|es|ed|ing) (?:the |a |an |this |that )?[\w`/. -]{1,60}? (?:in)?to"
    r"|extract(?:s|ed|ing)? (?:the |a |an |this |that )?[\w` -]{0,60}?\b(?:in)?to"
    r"|deduplicat(?:e|es|ed|ing) (?:the |this |some )?(?:code|logic|helpers?|tests?)|too (?:deep"
    r"|complex|long|many conditionals)|complexity"
    r"|(?:fix|address|resolve)\w* .{0,40}\b(?:credo|lint\w*|style|readability|warnings?)"
    r"|(?:credo|linter|clippy|ruff|eslint|rubocop) (?:reports|complains|warning|issue))\b",
    re.IGNORECASE,
)
_FEATURE = pattern(
    r"\b(?:implement(?:s|ed|ing)?|add(?:s|ed|ing)?|create[sd]?|creating|build(?:s|ing)?|built"
    r"|introduc(?:e|es|ed|ing)|supports?|instrument(?:s|ed|ing)?|wire|integrat(?:e|es|ed|ing))\b",
    re.IGNORECASE,
)


def requested_change(prompt: str) -> str:
    """The type of change that a prompt asks for: bugfix, refactor, feature, or empty."""
    found = [
        (match.start(), name)
        for name, pattern in (
            ("bugfix", _REPAIR),
            ("bugfix", _COMPLAINT),
            ("refactor", _REFACTOR),
            ("feature", _FEATURE),
        )
        if (match := pattern.search(prompt[:8000]))
    ]
    return min(found)[1] if found else ""


def type_of_change(
    texts: Sequence[str],
    modified: Iterable[str],
    *,
    repairing: bool,
    mended: bool,
    tidied: bool,
    created: bool,
    request: str,
) -> str:
    """The type of a step that modified files.

    ``texts`` are what the agent said in it. ``repairing``: something was found broken before;
    ``mended``: a check that failed passes now; ``tidied``: one of style did; ``created``: files of
    code are new; ``request``: what the prompt asked for.
    """
    refactors, repairs = _votes(texts)
    if mended or (repairing and not refactors) or repairs > refactors:
        return "bugfix"
    if refactors or tidied:
        return "refactor"
    sorts = {sort_of_file(path) for path in modified}
    if sorts <= {"tests", "docs", "settings"}:
        # A service is mended in its settings; tests and documents mend nothing.
        return "bugfix" if request == "bugfix" and sorts == {"settings"} else "change"
    words = "\n".join(texts)[:_READ]
    return request or ("feature" if created or _FEATURE.search(words) else "change")


def purpose(text: str) -> str:
    """``refactor`` or ``bugfix`` if ``text`` says that this is what comes now, else empty."""
    refactors, repairs = _votes([text])
    return "bugfix" if repairs > refactors else "refactor" if refactors else ""


def _votes(texts: Iterable[str]) -> tuple[int, int]:
    """How many sentences speak of tidying, and how many of the others of repairing."""
    refactors = repairs = 0
    for sentence in SENTENCE.split("\n".join(texts)[:_READ]):
        if _REFACTOR.search(sentence):
            refactors += 1
        elif _REPAIR.search(sentence):
            repairs += 1
    return refactors, repairs


_READ: Final = 8000
"""Characters of what the agent said in a step that are read as evidence."""

SENTENCE = pattern(r"(?<=[.!?:])\s+|\n+")
"""Between two sentences."""

INTENT: Final = (
    r"(?:let me|let's|i'll|i will|we'll|we will|i need to|we need to|i should|we should"
    r"|i'm going to|we're going to)"
)
_PREAMBLE = pattern(
    r"(?:(?:ok(?:ay)?|good|great|perfect|excellent|alright|right|clean|expected|now|so|first|next"
    r"|then|all green|yes)\b[\s,.!:;—–-]*)+",
    re.IGNORECASE,
)
_ANNOUNCES = pattern(rf"{INTENT} (?:(?:also|now|just|first|then) )*", re.IGNORECASE)
_MARKS = pattern(r"^[#>*+•\s-]+|\*\*")
_ENOUGH_WORDS = 3


def statement(sentence: str, limit: int = 100) -> str:
    """A sentence as a title: "Now let me add the route:" is "Add the route"."""
    line = _MARKS.sub("", one_line(sentence, 2 * limit)).rstrip(" :")
    for form, enough in ((_PREAMBLE, _ENOUGH_WORDS), (_ANNOUNCES, _ENOUGH_WORDS - 1)):
        if match := form.match(line):
            rest = line[match.end() :]
            line = rest if len(rest.split()) >= enough else line
    first = line.partition(" ")[0].rstrip(",;:.")
    # A name such as ``spotter-4te.1`` stays as it is written.
    return one_line(line[:1].upper() + line[1:] if first.isalpha() else line, limit)


def intent_in(text: str) -> str:
    """The sentence of ``text`` that says what comes now, else the first with some words."""
    sentences = [s for s in SENTENCE.split(text[:4000]) if len(s.split()) >= _ENOUGH_WORDS]
    announced = next((s for s in sentences if _ANNOUNCES.search(s)), "")
    return statement(announced or next(iter(sentences), ""))


def finding_in(line: str) -> str:
    """The sentence of ``line`` that says what was found, else what comes now."""
    for sentence in re.split(r"(?<=[.!?])\s+", line):
        if len(sentence.split()) >= _ENOUGH_WORDS and not _ANNOUNCES.search(sentence):
            return statement(sentence)
    return intent_in(line)


_TELLING = pattern(
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
