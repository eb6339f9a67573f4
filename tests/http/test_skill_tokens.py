"""What the skill of the plugin says about tokens is what the worker's replies cost."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from urllib.parse import quote

from http_worker import TOKEN, Client, lifecycle_of

from mem_search.model import Location
from mem_search.text.token_count import count
from runtimes import settled

SKILL = Path(__file__).parents[2] / "plugin" / "skills" / "mem-search" / "SKILL.md"
TEXT = {"Accept": "text/plain"}


def figure(pattern: str) -> int:
    """The number in the skill that ``pattern`` has as its group."""
    found = re.search(pattern, SKILL.read_text("utf-8"))
    assert found is not None, pattern
    return int(found[1])


async def bare(client: Client, path: str) -> str:
    reply = await client.get(path, headers=TEXT)
    assert reply.status == 200
    return await reply.text()


async def test_a_line_of_the_index_costs_what_the_skill_says(client: Client) -> None:
    listing = await bare(client, "/api/search/unified?query=auth&limit=20")
    costs = [count(line) for line in listing.splitlines() if re.match(r"\S+ .*#\d+ - ", line)]
    assert len(costs) > 3
    said = figure(r"one line a record, some (\d+) tokens each")
    assert said / 2 <= median(costs) <= said * 1.2


async def test_no_record_costs_more_than_the_skill_allows(client: Client) -> None:
    text = "The tide rises in the harbour. " * 2_000
    headers = {"Authorization": f"Bearer {TOKEN}"}
    body = {"kind": "note", "title": "Long", "text": text}
    reply = await client.post("/api/records", json=body, headers=headers)
    ref = (await reply.json())["ref"]
    most = figure(r"give `max_tokens=(\d+)`")
    cut = await bare(client, f"/api/records/{ref}?max_tokens={most}")
    assert most / 2 < count(cut) <= most
    assert count(await bare(client, f"/api/records/{ref}")) > most


def test_a_search_of_everything_is_the_unified_one() -> None:
    assert "search everything" in SKILL.read_text("utf-8")
    assert "| anything, newest first" in SKILL.read_text("utf-8")


QUESTIONS = (
    # what the agent asks; the record with the answer: its kind, its title, and the words
    ("token refresh loop", "observation", "Token refresh no longer loops", "a skew of 90 seconds"),
    ("why sqlite instead of postgres", "observation", "We choose SQLite instead of Postgres",
     "no server has to be installed"),
    ("release checklist", "note", "Checklist of a release", "tag only after the smoke test"),
    ("flaky upload test", "observation", "The upload test is no longer flaky", "the wrong event"),
    ("what did we do about the memory leak", "session_summary",
     "Find the memory leak of the indexer", "the cache of spellings had no limit"),
    ("invoice rounding bug", "observation", "Invoices round each line once", "half a cent"),
    ("deploy to staging command", "note", "How to deploy to staging", "make ship ENV=staging"),
    ("rate limit of the mail provider", "memory", "Limits of the mail provider",
     "300 messages a minute"),
    ("dark mode colours", "observation", "Colours of the dark mode are tokens", "contrast of 4.5"),
    ("which port does the metrics server use", "memory", "Ports of the services",
     "metrics answer on 9464"),
)  # fmt: skip
NOISE = (
    "The {0} was read first, and its tests were run before anything was changed.",
    "A helper of the {0} had two callers; one of them passed the arguments in the wrong order.",
    "The review asked for a smaller change of the {0}, so the second half became its own commit.",
    "Nothing else in the repository depends on the {0}, as a search for its name shows.",
    "The documentation of the {0} names the option, its default, and when it is needed.",
    "Afterwards the whole suite passed in four minutes, and the {0} was merged.",
)
THINGS = (
    "token",
    "sqlite",
    "release",
    "upload",
    "memory",
    "invoice",
    "deploy",
    "mail",
    "mode",
    "port",
)
AT_MOST = 1_200


def store() -> Iterator[dict[str, object]]:
    """The records with the answers among others about the same things, some hundred tokens each."""
    for number, (_, kind, title, answer) in enumerate(QUESTIONS):
        about = [line.format(f"{THINGS[number]} module") for line in NOISE * 3]
        about.insert(9, f"What matters: {answer}.")
        yield {"kind": kind, "source_id": f"a{number}", "title": title, "text": "\n".join(about)}
        for other in range(12):
            text = " ".join(line.format(f"{THINGS[number]} part {other}") for line in NOISE * 4)
            kind = ("observation", "session_summary", "note")[other % 3]
            title = f"Part {other} of the {THINGS[number]} was tidied"
            yield {"kind": kind, "source_id": f"n{number}.{other}", "title": title, "text": text}


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))


async def test_ten_questions_are_answered_in_few_tokens(empty: Client, tmp_path: Path) -> None:
    """The steps of the skill: an index of 5, then the record whose title has most of the words.

    What the agent writes counts, with the line that finds the worker, and what it reads. The skill
    is loaded once for all ten, so a tenth of it counts for each.
    """
    skill = SKILL.read_text("utf-8")
    found_worker = re.search(r"^mem\(\).*$", skill, re.MULTILINE)
    assert found_worker is not None
    share = count(skill) / len(QUESTIONS)
    file = tmp_path / "records.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in store()), "utf-8")
    runtime = lifecycle_of(empty).runtime
    await runtime.ingest.reader.read(Location("jsonl", str(file)))
    await settled(runtime)
    most = figure(r"give `max_tokens=(\d+)`")
    costs = []
    for question, _, title, answer in QUESTIONS:
        listing = await bare(empty, f"/api/search?query={quote(question)}&limit=5")
        asks = f"""mem -G localhost/api/search -H 'Accept: text/plain' \\
            --data-urlencode 'query={question}' -d limit=5"""
        cost = share + count(f"{found_worker[0]}\n{asks}") + count(listing)
        found = re.findall(r"^\S+ (.*?) #(\d+) - (.*) \(", listing, re.MULTILINE)
        asked = words(question)
        by_title = sorted(
            found, key=lambda each: -len(asked & set(re.findall(r"\w+", each[2].lower())))
        )
        for _, number, shown in by_title:
            path = f"/api/records/{number}?max_tokens={most}"
            text = await bare(empty, path)
            opens = f"""mem 'localhost{path}' -H 'Accept: text/plain'"""
            cost += count(f"{found_worker[0]}\n{opens}") + count(text)
            if answer in text:
                assert shown == title
                break
        else:
            raise AssertionError(f"{question}: no answer in\n{listing}")
        costs.append(cost)
    assert median(costs) <= AT_MOST, costs
    print(median(costs), costs)
