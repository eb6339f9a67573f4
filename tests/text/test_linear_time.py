"""Every function that reads stored or typed text takes time in proportion to its length.

One quadratic expression froze the worker for hours over a single record, holding the
interpreter's lock. So each function is run over texts that make backtracking expressions slow, and
its time must grow with the text. Sizes grow step by step: a quadratic function fails early.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import string
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from types import ModuleType

import pytest

import mem_search.text
import mem_search.text.query
from growth import check_growth
from mem_search.extractors import main_text
from mem_search.ingest import edges, prepare
from mem_search.metadata import extraction, values
from mem_search.model import Draft
from mem_search.records.registry import installed_kinds
from mem_search.renderers import safe_text, unasked
from mem_search.sources.agent_work import choices, evidence, session, titles, tools
from mem_search.sources.agent_work import text as claude_code_text
from mem_search.sources.claude_mem import drafts as claude_mem_drafts
from mem_search.sources.mail import bodies, headers
from mem_search.sources.mail import message as mail_message
from mem_search.text import (
    addressed,
    addresses,
    charsets,
    cites,
    content_lines,
    dates,
    decoding,
    disguises,
    embedded_data,
    exclusions,
    file_names,
    highlight,
    identifiers,
    instructions,
    intents,
    json_reading,
    languages,
    outline,
    page_names,
    passages,
    plain_facts,
    plain_words,
    platforms,
    question_times,
    record_ids,
    redaction,
    related_questions,
    secret_columns,
    secret_finders,
    secret_places,
    secret_rules,
    secret_values,
    shared_phrases,
    shortening,
    sketch,
    spelling,
    stems,
    token_count,
    urls,
    word_forms,
    wordpieces,
    words,
)
from mem_search.text.markdown_code import CodeSpans
from mem_search.text.query import field_values, parse, wild

NOW = datetime(2026, 3, 4, tzinfo=UTC)
SIZES = (3_000, 30_000)
GROWTH = 15.0
"""Ten times the text takes at most so many times as long; a quadratic function takes 100 times."""

LARGE_SIZES = (100_000, 1_000_000)
LARGE_GROWTH = 15.0
LARGE_NOTICEABLE = 1.5

NOTICEABLE = 0.01
"""Seconds of processor time; what is quicker is not told apart from noise."""


def _draft(text: str) -> Draft:
    return Draft("note", "test", "1", text, title=text[:200])


PAGES = outline.Layout(has_pages=True, recognised=frozenset({2}), speakers=("you",))


FUNCTIONS: dict[str, Callable[[str], object]] = {
    "addressed.is_addressed": addressed.is_addressed,
    "exclusions.find": lambda text: [*exclusions.find(text)],
    "intents.find": lambda text: intents.find(text, has_time=True),
    "related_questions.find": related_questions.find,
    "related_questions.find_moment": related_questions.find_moment,
    "safe_text.after_title": lambda text: safe_text.after_title(text, text[:50]),
    "safe_text.without_title": lambda text: safe_text.without_title(text, text[:50]),
    "addresses.addresses": lambda text: addresses.addresses([text]),
    "charsets.codec_of": charsets.codec_of,
    "charsets.decoded": lambda text: charsets.decoded(
        text.encode("cp1252", "ignore") + b"\xfc\xdf"
    ),
    "charsets.decoded of UTF-8": lambda text: charsets.decoded(f"{text}ä".encode() + b"\xff x"),
    "charsets.decoded of a label": lambda text: charsets.decoded(
        text.encode("utf-8", "ignore"), "euc-jp", "iso-2022-jp", "big5"
    ),
    "charsets.decoded_page": lambda text: charsets.decoded_page(f"<meta {text}".encode()),
    "stems.language_of": stems.language_of,
    "stems.of_text": lambda text: stems.of_text(text, "de"),
    "stems.of_text in Cyrillic": lambda text: stems.of_text(text.replace("a", "я"), "ru"),
    "stems.stemmed": lambda text: stems.stemmed(text.split(), "es"),
    "stems.of_word": lambda text: stems.of_word(text, stems.SNOWBALL),
    "word_forms.plain": word_forms.plain,
    "word_forms.view": lambda text: word_forms.view(f"{text}\u00ad"),
    "word_forms.seen": word_forms.seen,
    "word_forms.folded": word_forms.folded,
    "word_forms.has_forms": word_forms.has_forms,
    "word_forms.joined": lambda text: word_forms.joined(text.replace(" ", "-\n") + "-\n"),
    "words.extra_terms in another form": lambda text: words.extra_terms(text.replace("a", "a\xad")),
    "cites.find": cites.find,
    "shared_phrases.sampled_phrases": shared_phrases.sampled_phrases,
    "shared_phrases.shared": lambda text: shared_phrases.shared(
        text, text, [(at, at) for at in range(0, len(text), len(text) // 50 + 1)]
    ),
    "cites.find in a list": lambda text: cites.find(f"References\n{text.replace(':', ':[1] ')}"),
    "page_names.doi_name": page_names.doi_name,
    "page_names.page_name": lambda text: page_names.page_name(f"https://{text}"),
    "dates.normalised": dates.normalised,
    "markdown_code.CodeSpans": CodeSpans,
    "field_values.parts_of": field_values.parts_of,
    "file_names.as_text": file_names.as_text,
    "file_names.is_text": file_names.is_text,
    "field_values.values_at": lambda text: field_values.values_at(text, 0, inside=True),
    "field_values.written": field_values.written,
    "spelling.closest": lambda text: spelling.closest(text, ["claude-mem", "mem-search"]),
    "decoding.without_escapes": decoding.without_escapes,
    "decoding.without_folds": decoding.without_folds,
    "question_times.find_times": lambda text: question_times.find_times(text, NOW, UTC),
    "plain_facts.find": plain_facts.find,
    "platforms.platform_named": platforms.platform_named,
    "languages.foreign_times": languages.foreign_times,
    "plain_words.listed_in": lambda text: plain_words.listed_in(text, installed_kinds().vocabulary),
    "plain_words.find": lambda text: plain_words.find(text, installed_kinds().vocabulary),
    "highlight.highlight": lambda text: highlight.highlight(text, ["auth", "a", "漢"]),
    "highlight.word_matcher": lambda text: highlight.WordMatcher(("auth", "a")).count_in(text),
    "disguises.folded": disguises.folded,
    "disguises.is_joined_order": disguises.is_joined_order,
    "disguises.is_order": lambda text: disguises.is_order([text]),
    "disguises.readings": lambda text: [*disguises.readings(text)],
    "instructions.flags_in": instructions.flags_in,
    "unasked.plain_name": unasked.plain_name,
    "literals.Rules.matches": lambda text: [*addressed.agents().matches(text)],
    "literals.Rules.met": lambda text: instructions.rules().met(text),
    "json_reading.open_path": json_reading.open_path,
    "embedded_data.without_data": embedded_data.without_data,
    "embedded_data.plain_words": embedded_data.plain_words,
    "embedded_data.begins_alike": lambda text: embedded_data.begins_alike(text, text[:-1]),
    "edges.find_mentions": lambda text: edges.find_mentions(text, installed_kinds().names),
    "edges.folded_title": edges.folded_title,
    "edges.normal_path": edges.normal_path,
    "identifiers.find": identifiers.find,
    "extraction.facts": lambda text: extraction.facts(text, text, kind="file", given={}),
    "values.addresses": lambda text: [*values.addresses(text)],
    "values.companies": lambda text: [*values.companies(text)],
    "values.dollars_of": values.dollars_of,
    "values.letterhead": values.letterhead,
    "values.money": values.money,
    "values.order_of": values.order_of,
    "values.phones": lambda text: [*values.phones(text)],
    "values.urls": lambda text: [*values.urls(text)],
    "record_ids.alias_of": lambda text: record_ids.alias_of("claude-mem", text),
    "record_ids.find": record_ids.find,
    "record_ids.is_of_default_store": record_ids.is_of_default_store,
    "Name.held": lambda text: identifiers.Name("a_a.a", ("a", "a", "a")).held(text),
    "passages.cut": passages.cut,
    "passages.cut of pages": lambda text: passages.cut(text.replace(":", "\n\f"), layout=PAGES),
    "passages.summary": lambda text: passages.summary(text, "", 3),
    "outline.outline": lambda text: outline.outline(text, PAGES).above(len(text)),
    "outline.place_in": lambda text: outline.place_in(text, (0, 1, text[:100]), len(text)),
    "passages.embedded_texts": lambda text: passages.embedded_texts(text[:200], text),
    "main_text.with_headings": lambda text: main_text.with_headings(f"<h1 {text}>{text}"),
    "main_text.with_headings of tags": lambda text: main_text.with_headings(
        text.replace(":", "<h1><b></h2>")
    ),
    "prepare.prepare": lambda text: prepare.prepare(_draft(text)),
    "prepare.is_code": prepare.is_code,
    "edges.key_of_link": edges.key_of_link,
    "bodies.html_text": bodies.html_text,
    "bodies.new_lines": lambda text: bodies.new_lines(text[:-1], text),
    "bodies.read_html": bodies.read_html,
    "bodies.stated_words": bodies.stated_words,
    "bodies.html_text of lines": lambda text: bodies.html_text(text.replace(":", "<b><p></i>")),
    "bodies.take_apart": bodies.take_apart,
    "bodies.take_apart of quotes": lambda text: bodies.take_apart(text.replace(":", ":\n>")),
    "bodies.unflowed": bodies.unflowed,
    "bodies.without_footer": lambda text: bodies.without_footer(text, "base64"),
    "bodies.without_footer of lines": lambda text: bodies.without_footer(text, "quoted-printable"),
    "headers.ids": headers.ids,
    "headers.people": lambda text: headers.people([text]),
    "headers.read_words": headers.read_words,
    "headers.sent_at": headers.sent_at,
    "message.read_events": mail_message.read_events,
    "content_lines.unescaped": content_lines.unescaped,
    "message.read_message": lambda text: mail_message.read_message(
        f"Content-Type: multipart/mixed; boundary={text}\nTo: {text}\n\n{text}".encode()
    ),
    "text.without_injected": claude_code_text.without_injected,
    "text.command_words": claude_code_text.command_words,
    "text.headline": claude_code_text.headline,
    "evidence.command_class": evidence.command_class,
    "evidence.check_name": evidence.check_name,
    "evidence.command_name": evidence.command_name,
    "evidence.removed_files": evidence.removed_files,
    "evidence.sort_of_file": evidence.sort_of_file,
    "evidence.requested_change": evidence.requested_change,
    "evidence.purpose": evidence.purpose,
    "evidence.is_style_check": evidence.is_style_check,
    "evidence.explores": evidence.explores,
    "choices.decision_in": choices.decision_in,
    "choices.decision_of_person": lambda text: choices.decision_of_person(text, text),
    "choices.answers_in": choices.answers_in,
    "evidence.statement": evidence.statement,
    "evidence.commit_subject": lambda text: evidence.commit_subject(f"git commit -m {text}"),
    "titles.weight_of": titles.weight_of,
    "titles.wanted": titles.wanted,
    "titles.decision_title": lambda text: titles.decision_title("Use it.", f"Use it. {text}"),
    "tools.interpret": lambda text: tools.interpret("Edit", {"new_string": text}),
    "evidence.error_line": evidence.error_line,
    "session.still_open": lambda text: session.still_open(f"- {text}", ["a-1"], [text]),
    "parse.read": lambda text: parse.read(text, now=NOW, kinds=installed_kinds()),
    "parse.is_pasted": parse.is_pasted,
    "parse.is_plain": parse.is_plain,
    "safe_text.harmless": safe_text.harmless,
    "safe_text.fenced": safe_text.fenced,
    "safe_text.fenced_title": safe_text.fenced_title,
    "safe_text.marked": safe_text.marked,
    "safe_text.fenced_by": lambda text: safe_text.fenced_by("records", text),
    "safe_text.without_tags": safe_text.without_tags,
    "safe_text.cut": lambda text: safe_text.cut(text, 500),
    "safe_text.cut_to_cost": lambda text: safe_text.cut_to_cost(text, 500),
    "safe_text.cost": safe_text.cost,
    "redaction.redact": redaction.redact,
    "redaction.refuse_secret": lambda text: redaction.refuse_secret(text, "field"),
    "drafts.without_injected": claude_mem_drafts.without_injected,
    "shortening.beginning": lambda text: shortening.beginning(text, 500),
    "shortening.cut": lambda text: shortening.cut(text, 500),
    "shortening.one_line": lambda text: shortening.one_line(text, 500),
    "secret_rules.spans": secret_rules.spans,
    "secret_finders.options": lambda text: [*secret_finders.options(text)],
    "secret_places.addresses": lambda text: [*secret_places.addresses(text)],
    "secret_places.headers": lambda text: [*secret_places.headers(text)],
    "secret_places.kubernetes": lambda text: [*secret_places.kubernetes(text)],
    "secret_places.wallets_and_pins": lambda text: [*secret_places.wallets_and_pins(text)],
    "secret_columns.columns": lambda text: [
        *secret_columns.columns(text, secret_finders._names, secret_finders.name_of_secret)
    ],
    "secret_columns.html_tables": lambda text: [
        *secret_columns.html_tables(text, secret_finders._names, secret_finders.name_of_secret)
    ],
    "secret_columns.lines": lambda text: [*secret_columns.lines(text)],
    "secret_columns.statements": lambda text: [
        *secret_columns.statements(text, secret_finders._names, secret_finders.name_of_secret)
    ],
    "safe_text.one_line": safe_text.one_line,
    "secret_places.with_breaks": secret_places.with_breaks,
    "secret_values.is_credential": secret_values.is_credential,
    "secret_values.is_phrase": secret_values.is_phrase,
    "secret_values.is_placeholder": secret_values.is_placeholder,
    "sketch.sketch": lambda text: sketch.sketch("", text),
    "highlight.snippet": lambda text: highlight.snippet(text, 0, len(text), ["auth", "a"]),
    "highlight.around": lambda text: highlight.around(text, len(text) // 2, 160),
    "spelling.edits_allowed": spelling.edits_allowed,
    "token_count.count": token_count.count,
    "token_count.cut": lambda text: token_count.cut(text, 500),
    "urls.normal_url": lambda text: urls.normal_url(f"https://{text}"),
    "urls.without_trailing_marks": urls.without_trailing_marks,
    "urls.is_loopback": urls.is_loopback,
    "urls.message_id": lambda text: urls.message_id(f"<{text}@{text}>"),
    "urls.of_message": urls.of_message,
    "urls.of_note": urls.of_note,
    "wordpieces.count": wordpieces.count,
    "wordpieces.is_word": wordpieces.is_word,
    "words.indexed": words.indexed,
    "wordpieces.spans": wordpieces.spans,
    "wild.of_value": wild.of_value,
    "wild.read": wild.read,
    "words.folded": words.folded,
    "words.hashes_alone": words.hashes_alone,
    "words.mostly_foreign": words.mostly_foreign,
    "words.extra_terms": words.extra_terms,
    "words.said_by": lambda text: words.said_by([text]),
    "words.read": words.read,
}

BOUNDED = {
    "decoding.replaced": "run by the other functions of decoding and by word_forms.view",
    "disguises.alternatives": "a form of a rule",
    "disguises.compiled": "a form of a rule",
    "literals.literals_of": "a form of a rule",
    "languages.words": "the name of a list of words",
    "cites.context_of": "run by cites.find",
    "cites.is_heading": "cuts to a fixed length first",
    "dates.clipped": "cuts to a fixed length first",
    "dates.from_iso": "a date in a parameter of at most 4000 characters",
    "dates.parse_bound": "a date in a parameter of at most 4000 characters",
    "dates.parse_range": "a date in a parameter of at most 4000 characters",
    "calendar_words.month_number": "one word",
    "calendar_words.read": "a phrase that the bounded pattern of dates found",
    "dates.read_moment": "a date in a parameter of at most 4000 characters",
    "passages.heading_of": "a title and headings, which are joined",
    "dates.read_rfc3339": "a date in a parameter of at most 4000 characters",
    "highlight.stem": "one word that was found by a linear scan",
    "headers.mailbox": "a name and an address that headers.people found",
    "message.attachment": "run by parts.read_message",
    "message.leaves": "the parts of a message, which are limited",
    "message.text_of": "run by parts.read_message",
    "message.too_deep": "run by parts.read_message",
    "query_attacks.flags": "cuts to a fixed length first",
    "schedules.seconds": "an interval in a parameter of bounded length",
    "schedules.parts": "a schedule that was read",
    "schedules.next_run": "a schedule of five fields in a parameter of bounded length",
    "schedules.runs_an_hour": "a schedule that was read",
    "search_fields.holding": "the name of a field",
    "secret_finders.says_password": "a name that was found",
    "secret_places.after_name": "run by redact, with bounded patterns",
    "secret_values.is_evident": "run by redact",
    "secret_values.is_secret": "run by redact",
    "secret_values.is_told": "a value of metadata that was read already",
    "spelling.distance": "two words of the vocabulary, of bounded length",
    "spelling.nearest": "a word of the question, compared with words of bounded length",
    "spelling.other_beginnings": "its first letters only",
    "spelling.edits_allowed": "a word",
    "stems.question_language": "the first words of a question",
    "stems.mark": "the code of a language",
    "stems.language_counts": "words of a sample, or of a question",
    "urls.commit_of": "run by edges.find_mentions",
    "urls.issue_of": "run by edges.find_mentions",
    "wordpieces.encode": "texts of passages, of bounded length",
    "words.known_word": "one word",
    "words.unmarked": "one word",
    "words.is_cjk": "one character or run",
    "words.is_hash": "one word",
    "words.is_phrase": "one word",
    "words.bigrams": "one run, read by words.read",
    "words.runs_of": "run by words.read",
    "words.unquoted": "run by words.read",
    "text.any_of": "the name of a list of words",
    "text.worded": "a pattern of ours",
}
"""Functions of a text that are not run here, with the reason."""

RUNS = {
    "one letter": "a",
    "one digit": "1",
    "letters and digits": "a1",
    "underscores": "_a",
    "ACGT": "ACGT",
    "base64": "aGVsbG8gd29ybGQ",
    "full stops": ".",
    "hyphens": "-",
    "number signs": "#",
    "slashes": "a/",
    "colons": "a:",
    "quotes": '"',
    "backslashes": "\\",
    "backticks": "`",
    "opening brackets": "(",
    "braces": '{"a":',
    "combining marks": "e\u0301",
    "ideographs": "漢",
    "spaces": " ",
    "lines": "\n",
    "percent signs": "%41",
    "addresses": "http://",
    "links": "[a](https://a.org/b) [1] ",
    "headings": "References\n",
    "entries": "[1] https://a.org\n",
    "mail addresses": "a@",
    "issues": "#1 ",
    "private blocks": "<private>",
    "assigned passwords": "password=",
    "keys": "-----BEGIN ",
    "escaped brackets": "%5B&#x5b;",
    "keys of services": "AKIAABCDEFGHIJKLMNOP ",
    "lines of words": "a1b2c3d4e5f6\n",
    "tokens": "eyJ",
    "names in tags": "<password ",
    "options": "mysql -h login -p curl -u net use ",
    "cookies": "Cookie: a=b; Authorization: ",
    "tables": "|password|\n|---|\n",
    "heads of columns": "password,token\n",
    "wide tables": "| user | password | token |\n|---|---|---|\n| a | b | c |\n",
    "cells": "<tr><th>password</th><td>a</td>",
    "statements": "into users (id, password) values ('a', 'b'), (",
    "kubernetes": "kind: Secret\ndata:\n  a: b\n",
    "names and braces": 'password" { value, ',
    "escaped quotes": 'token\\\\\\"\\n',
    "base64 of keys": "LS0tLS1CRUdJTi",
    "password hashes": "$2b$12$",
    "fields": "tag:",
    "words": "word ",
}


def _of_length(run: str, length: int) -> str:
    return (run * (length // len(run) + 1))[:length]


def _nested(length: int) -> str:
    return "[" * (length // 2) + "]" * (length // 2)


TEXTS: dict[str, Callable[[int], str]] = {
    **{name: lambda length, run=run: _of_length(run, length) for name, run in RUNS.items()},  # type: ignore[misc]
    "nested brackets": _nested,
}


LARGE_KINDS = (
    "one letter", "one digit", "full stops", "ACGT", "base64", "nested brackets",
    "combining marks", "words",
)  # fmt: skip
"""Texts that are tried with a megabyte, too: all of them would take minutes."""


def _check(
    name: str,
    sizes: tuple[int, ...],
    growth: float,
    noticeable: float,
    kinds: Iterable[str] = tuple(TEXTS),
) -> None:
    """Each size takes at most ``growth`` times as long as the one before, for every text."""
    secret_rules.load()  # once for all: it takes a third of a second, whatever the text
    for kind in kinds:
        of_kind = f"{name} over {kind}"
        check_growth(of_kind, FUNCTIONS[name], TEXTS[kind], sizes, growth, noticeable)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_its_time_grows_with_the_text(name: str) -> None:
    _check(name, SIZES, GROWTH, NOTICEABLE)


MARKED = ("instructions.flags_in", "disguises.readings", "redaction.redact", "secret_rules.spans")
"""Functions of many rules: most rules begin or end with a mark."""


@pytest.mark.parametrize("name", MARKED)
def test_a_function_of_many_rules_takes_linear_time_over_each_mark(name: str) -> None:
    secret_rules.load()
    for mark in string.punctuation:
        for run in (mark, f"{mark * 3}\n"):
            check_growth(
                f"{name} over {run!r}",
                FUNCTIONS[name],
                lambda length, run=run: _of_length(run, length),  # type: ignore[misc]
                SIZES,
                GROWTH,
                NOTICEABLE,
            )


@pytest.mark.worker  # not for its worker, but for its minutes
@pytest.mark.parametrize("name", FUNCTIONS)
def test_its_time_grows_with_the_text_up_to_a_megabyte(name: str) -> None:
    _check(name, LARGE_SIZES, LARGE_GROWTH, LARGE_NOTICEABLE, LARGE_KINDS)


def _modules() -> Iterator[ModuleType]:
    """Every module whose functions see stored or asked text."""
    for package in (mem_search.text, mem_search.text.query):
        for module in pkgutil.iter_modules(package.__path__):
            yield importlib.import_module(f"{package.__name__}.{module.name}")
    yield from (prepare, edges, safe_text, claude_code_text, evidence, claude_mem_drafts)
    yield from (bodies, headers, mail_message, extraction, values)


def test_every_function_of_a_text_is_run_or_explained() -> None:
    known = {*FUNCTIONS, *BOUNDED}
    unknown = []
    for module in _modules():
        for name, function in vars(module).items():
            if name.startswith("_") or not inspect.isroutine(function):
                continue
            if function.__module__ != module.__name__:
                continue
            parameters = [*inspect.signature(function).parameters.values()]
            if parameters and parameters[0].annotation == "str":
                unknown.append(f"{module.__name__.rpartition('.')[2]}.{name}")
    assert sorted(set(unknown) - known) == []
