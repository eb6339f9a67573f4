"""What the words and the commands of an agent are evidence of: a type of work. Pure.

Observations have claude-mem's six types. Each type needs evidence: files that changed, a check that
failed and then passed, words such as "extract" or "instead of". All expressions take linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

from mem_search.patterns import pattern
from mem_search.sources.agent_work.text import any_of
from mem_search.text.shortening import cut, one_line

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
            return command_name(command)
    return ""


def command_name(command: str) -> str:
    """A command without the arguments of each call: its program, and the file that it runs."""
    words = command[:2000].rpartition("&& ")[2].split()
    return " ".join(word for word in words[:2] if word[:1] not in "-|>2")


_SUBJECT = pattern(
    r"\bgit (?:-\S+ )*commit\b[^\n]{0,200}?(?:\s-[a-z]*m|\s--message)[ =]"
    r"(?:\"\$\(cat <<-?\s?['\"]?\w+['\"]?\s*\n|['\"]|(?=\w))\s*([^\n'\"]{3,200})"
)


def commit_subject(command: str) -> str:
    """The first line of the message that a command commits with; empty if it names none."""
    match = _SUBJECT.search(command[:20_000])
    return match[1].strip() if match else ""


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


_REPAIR = any_of("repair")
_REFACTOR = any_of("refactor")
_FEATURE = any_of("feature")
_REQUESTS: Final = (
    ("bugfix", _REPAIR),
    ("bugfix", any_of("complaint")),
    ("refactor", _REFACTOR),
    ("feature", _FEATURE),
    ("change", any_of("upkeep")),
)


def requested_change(prompt: str, *, chooses: bool = False) -> str:
    """The type of change that a prompt asks for by its first words that say so; empty for none.

    One that ``chooses`` a way weighs what may break, and complains of nothing.
    """
    requests = [
        (match.start(), place, name)
        for place, (name, pattern) in enumerate(_REQUESTS)
        if not (chooses and name == "bugfix") and (match := pattern.search(prompt[:8000]))
    ]
    return min(requests)[2] if requests else ""


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
    """The type of a step that modified files, by the strongest evidence that there is.

    What programs said counts most, then what sort of files changed, what the agent said that it
    does, what the prompt asked for, and last that code changed at all. ``texts`` are what the agent
    said in the step. ``repairing``: something was found broken before; ``mended``: a check that
    failed passes now; ``tidied``: one of style did; ``created``: files are new; ``request``: what
    the prompt asked for.
    """
    sorts = {sort_of_file(path) for path in modified}
    refactors, repairs = _votes("\n".join(texts)[:_READ])
    if mended:
        return "bugfix"
    if sorts and sorts <= {"tests", "docs"} and not (repairing and "tests" in sorts):
        return "change"  # they mend nothing, unless a test had failed
    if (repairing and not refactors) or (repairs > refactors and request != "refactor"):
        return "bugfix"
    if refactors or tidied:
        return "refactor"
    if sorts <= {"tests", "docs", "settings"}:
        return request or ("feature" if created else "change")
    return request or "feature"


def purpose(text: str) -> str:
    """``refactor`` or ``bugfix`` if ``text`` says that this is what comes now, else empty."""
    refactors, repairs = _votes(text[:_READ])
    return "bugfix" if repairs > refactors else "refactor" if refactors else ""


@lru_cache(16)  # a step is asked for its type once for each thing that it says of itself
def _votes(text: str) -> tuple[int, int]:
    """How many sentences speak of tidying, and how many of the others of repairing."""
    refactors = repairs = 0
    for sentence in SENTENCE.split(text):
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
ANNOUNCES: Final = pattern(rf"{INTENT} (?:(?:also|now|just|first|then) )*", re.IGNORECASE)
"""Says what comes now."""
_MARKS = pattern(r"^[#>*+•\s-]+|\*\*")
_ENOUGH_WORDS = 3


def statement(sentence: str, limit: int = 100) -> str:
    """A sentence as a title: "Now let me add the route:" is "Add the route"."""
    line = _MARKS.sub("", one_line(sentence, 2 * limit)).rstrip(" :")
    for form, enough in ((_PREAMBLE, _ENOUGH_WORDS), (ANNOUNCES, _ENOUGH_WORDS - 1)):
        if match := form.match(line):
            rest = line[match.end() :]
            line = rest if len(rest.split()) >= enough else line
    first = line.partition(" ")[0].rstrip(",;:.")
    # A name such as ``spotter-4te.1`` stays as it is written.
    return one_line(line[:1].upper() + line[1:] if first.isalpha() else line, limit)


_TELLING = pattern(
    r"^[\s│|>*•×✖✘✗●-]*(?:E\s{2,}\S|\*\* \(|(?:fatal|error|ERROR)\b[\[: ]|\[?ERROR\]? (?!Tests run)"
    r"|[A-Z]\w*(?:Error|Exception|Expired)\b|Error from server|Error: |CMake Error|Caused by:"
    r"|Failure/Error:|Failed asserting|(?:PHP )?(?:Fatal|Parse) error:|CONFLICT \(|! \[rejected\]"
    r"|[\w.]+\.(?:\w*Error|\w*Exception):|Assertion with|AssertionError|panic:|FAILED\b"
    r"|assertion .{0,120}\bfailed|expect\(.{1,120}\)\.|error(?:\[\w+\])?:"
    r"|npm (?:ERR!|error) (?!code|errno|syscall|path|A complete)"
    r"|\S{1,200}[:)]\s{0,4}(?:fatal )?[Ee]rror\b(?! ?\()|\d+:\d+\s+error\b|psql: "
    r"|.{0,80}\b(?:permission denied|command not found|No such file"
    r"|are ignored by one of|validation failed|cannot find|could not resolve)\b)"
)  # fmt: skip

_SAYS_LITTLE = pattern(
    r"^[\s=*#>-]*(?:$|FAIL\b|exit status|make(?:\[\d+\])?: \*\*\*.{0,80}Error \d|BUILD FAILED"
    r"|ELIFECYCLE"
    r"|(?:tests?|test suites|test files|tasks?|snapshots|time|duration|start at|ran all|finished in"
    r"|done in|failures|passed|failed|total|results?)\b"
    r"|(?:process|command|script|build|compilation)\b.{0,60}\b(?:code|fail\w*|error\w*))",
    re.IGNORECASE,
)
"""The last lines of many programs say no more than that they failed."""


def error_line(output: str, limit: int = 240) -> str:
    """The line of a failed command's output that says best what is wrong: else the last one."""
    last = said = ""
    for raw in output[:200_000].splitlines():
        line = cut(raw, 2000)
        if _TELLING.match(line):
            return one_line(line, limit)
        last = line if line.strip() else last
        said = said if _SAYS_LITTLE.match(line) else line
    return one_line(said or last, limit)
