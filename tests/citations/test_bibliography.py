"""References for each kind and each style, written out as a reader expects them.

These texts also hold the mended defects of citeproc-py (``citations/processor.py``) in place.
"""

# ruff: noqa: E501 - a reference is compared as it is read, on one line
from __future__ import annotations

import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest
from cited_records import BARE, KNOWN, item, record
from hypothesis import given, settings
from hypothesis import strategies as st

from mem_search.features.citations.formats import STYLES, as_html, as_text, references
from patience import PATIENCE

WORDS = st.text(st.sampled_from("aB <>&\"'“”.?!,:;-_\\{}$%#[]()é漢\n\ufdd0\ufdd2"), min_size=1)


REFERENCES = {
    ("apa", "with authors"): """\
Lovelace, A. (2025, November 17). Added login endpoint [Observation]. mem-search (observation:1).
Claude. (2025, November 17). Implemented JWT authentication [Session summary]. mem-search (session_summary:2).
Lovelace, A. (2025, November 17). How do we handle auth? [Prompt]. mem-search (user_prompt:3).
van Beethoven, L. (2025, November 17). Reading list [Note]. mem-search (note:4).
Lovelace, A., & Turing, A. (2024, February 1). JWT handbook. example.org. https://example.org/jwt?a=1&b=2
King, M., Jr. (2025, November 17). src/auth.py [File]. mem-search (file:6).
Lovelace, A., & Claude. (2025, November 17). A talk about auth [Conversation]. mem-search (conversation:7).
ada@example.org. (2025, November 17). Prefers tabs [Memory]. mem-search (memory:8).
Lovelace, A. (2025, November 16). Re: budget [Email to Alan Turing & grace@example.org]. mem-search (email:9).
Example Research Institute. (2025). The state of auth [Research report]. mem-search (report:10).
""",
    ("apa", "without authors"): """\
Added login endpoint. (2025, November 17). [Observation]. mem-search (observation:11).
Implemented JWT authentication. (2025, November 17). [Session summary]. mem-search (session_summary:12).
How do we handle auth? (2025, November 17). [Prompt]. mem-search (user_prompt:13).
Reading list. (2025, November 17). [Note]. mem-search (note:14).
JWT handbook. (n.d.). example.org. Retrieved November 17, 2025, from https://example.org/jwt
src/auth.py. (2025, November 17). [File]. mem-search (file:16).
A talk about auth. (2025, November 17). [Conversation]. mem-search (conversation:17).
Prefers tabs. (2025, November 17). [Memory]. mem-search (memory:18).
Re: budget. (2025, November 17). [Email]. mem-search (email:19).
The state of auth. (2025). [Research report]. mem-search (report:20).
""",
    ("mla", "with authors"): """\
Lovelace, Ada. “Added login endpoint.” Observation. 17 Nov. 2025, mem-search, observation:1.
Claude. “Implemented JWT authentication.” Session summary. 17 Nov. 2025, mem-search, session_summary:2.
Lovelace, Ada. “How do we handle auth?” Prompt. 17 Nov. 2025, mem-search, user_prompt:3.
van Beethoven, Ludwig. “Reading list.” Note. 17 Nov. 2025, mem-search, note:4.
Lovelace, Ada, and Alan Turing. “JWT handbook.” example.org, 1 Feb. 2024, https://example.org/jwt?a=1&b=2.
King, Martin, Jr. “src/auth.py.” File. 17 Nov. 2025, mem-search, file:6.
Lovelace, Ada, and Claude. “A talk about auth.” Conversation. 17 Nov. 2025, mem-search, conversation:7.
ada@example.org. “Prefers tabs.” Memory. 17 Nov. 2025, mem-search, memory:8.
Lovelace, Ada. “Re: budget.” Email. 16 Nov. 2025, mem-search, email:9.
Example Research Institute. The state of auth. Research report. 17 Nov. 2025, mem-search, report:10.
""",
    ("mla", "without authors"): """\
“Added login endpoint.” Observation. 17 Nov. 2025, mem-search, observation:11.
“Implemented JWT authentication.” Session summary. 17 Nov. 2025, mem-search, session_summary:12.
“How do we handle auth?” Prompt. 17 Nov. 2025, mem-search, user_prompt:13.
“Reading list.” Note. 17 Nov. 2025, mem-search, note:14.
“JWT handbook.” example.org, https://example.org/jwt. Accessed 17 Nov. 2025.
“src/auth.py.” File. 17 Nov. 2025, mem-search, file:16.
“A talk about auth.” Conversation. 17 Nov. 2025, mem-search, conversation:17.
“Prefers tabs.” Memory. 17 Nov. 2025, mem-search, memory:18.
“Re: budget.” Email. 17 Nov. 2025, mem-search, email:19.
The state of auth. Research report. 17 Nov. 2025, mem-search, report:20.
""",
    ("chicago", "with authors"): """\
Lovelace, Ada. 2025. “Added login endpoint.” Observation. November 17. observation:1. mem-search.
Claude. 2025. “Implemented JWT authentication.” Session summary. November 17. session_summary:2. mem-search.
Lovelace, Ada. 2025. “How do we handle auth?” Prompt. November 17. user_prompt:3. mem-search.
Beethoven, Ludwig van. 2025. “Reading list.” Note. November 17. note:4. mem-search.
Lovelace, Ada, and Alan Turing. 2024. “JWT handbook.” example.org, February 1. https://example.org/jwt?a=1&b=2.
King, Martin, Jr. 2025. “src/auth.py.” File. November 17. file:6. mem-search.
Lovelace, Ada, and Claude. 2025. “A talk about auth.” Conversation. November 17. conversation:7. mem-search.
ada@example.org. 2025. “Prefers tabs.” Memory. November 17. memory:8. mem-search.
Lovelace, Ada. 2025. “Re: budget.” Email to Alan Turing and grace@example.org. November 16. email:9. mem-search.
Example Research Institute. 2025. The state of auth. Research report. report:10. mem-search.
""",
    ("chicago", "without authors"): """\
“Added login endpoint.” 2025. Observation. November 17. observation:11. mem-search.
“Implemented JWT authentication.” 2025. Session summary. November 17. session_summary:12. mem-search.
“How do we handle auth?” 2025. Prompt. November 17. user_prompt:13. mem-search.
“Reading list.” 2025. Note. November 17. note:14. mem-search.
example.org. n.d. “JWT handbook.” Accessed November 17, 2025. https://example.org/jwt.
“src/auth.py.” 2025. File. November 17. file:16. mem-search.
“A talk about auth.” 2025. Conversation. November 17. conversation:17. mem-search.
“Prefers tabs.” 2025. Memory. November 17. memory:18. mem-search.
“Re: budget.” 2025. Email. November 17. email:19. mem-search.
The state of auth. 2025. Research report. report:20. mem-search.
""",
}
"""Without authors, a reference begins with the title and says it once."""


@pytest.mark.parametrize(("style", "of"), REFERENCES)
def test_references_of_each_kind_are_as_the_style_has_them(style: str, of: str) -> None:
    cited = KNOWN if of == "with authors" else BARE
    assert as_text([item(each) for each in cited], style) == REFERENCES[style, of]


def test_html_has_the_markup_of_the_style_and_escapes_the_rest() -> None:
    hostile = record("note", 21, "<script>alert(1)</script> & co", metadata={"author": "<b>Me</b>"})
    assert (
        as_html([item(KNOWN[4]), item(hostile)], "apa")
        == """\
<div class="csl-bib-body">
  <div class="csl-entry">Lovelace, A., &amp; Turing, A. (2024, February 1). <i>JWT handbook</i>. example.org. https://example.org/jwt?a=1&amp;b=2</div>
  <div class="csl-entry">&lt;b&gt;Me&lt;/b&gt;. (2025, November 17). <i>&lt;script&gt;alert(1)&lt;/script&gt; &amp; co</i> [Note]. mem-search (note:21).</div>
</div>
"""
    )


@pytest.mark.parametrize(
    ("title", "reference"),
    [
        ("Use a?.b, then c!.", "“Use a?.b, then c!.”"),
        ("Read etc.", "“Read etc.”"),
        ("What now…", "“What now…”"),
        ('The "new" login', "“The ‘new’ login.”"),
        ("The “new” login", "“The ‘new’ login.”"),
        ('<span class="nocase">x</span>', "“<span class=‘nocase’>x</span>.”"),
        ("über die grenze", "“über die grenze.”"),
        ("npm run build -- src/App.tsx", "“npm run build -- src/App.tsx.”"),
    ],
)
def test_a_title_is_cited_letter_for_letter_between_right_quotes(
    title: str, reference: str
) -> None:
    cited = item(record("note", 1, title, metadata={"author": "Ada Lovelace"}))
    (text,) = references([cited], "mla")
    assert text == f"Lovelace, Ada. {reference} Note. 17 Nov. 2025, mem-search, note:1."


def test_many_authors_are_shortened_as_each_style_does() -> None:
    people = "; ".join(f"{given} Lovelace" for given in ("Ada", "Bea", "Cleo", "Dora"))
    many = item(record("note", 1, "A", metadata={"author": people}))
    heads = {style: references([many], style)[0].split("A ")[0] for style in STYLES}
    assert references([many], "apa")[0].startswith(
        "Lovelace, A., Lovelace, B., Lovelace, C., & Lovelace, D. (2025"
    )
    assert references([many], "mla")[0].startswith("Lovelace, Ada, et al. “A.”")
    assert heads["chicago"].startswith(
        "Lovelace, Ada, Bea Lovelace, Cleo Lovelace, and Dora Lovelace. 2025."
    )


@pytest.mark.parametrize("style", STYLES)
@settings(max_examples=40, deadline=None)
@given(title=WORDS, author=WORDS)
def test_html_has_the_words_of_the_text_and_no_active_content(
    style: str, title: str, author: str
) -> None:
    cited = item(record("note", 1, title, "Words.", metadata={"author": author}))
    (text,), (html,) = references([cited], style), references([cited], style, html=True)
    bare = re.sub("</?i>", "", html)
    assert "<" not in bare
    assert unescape(bare) == text
    assert not re.search("[\ufdd0-\ufdef]", text)
    if style == "apa":  # the one without quotes around it
        assert " ".join(re.sub("[\ufdd0-\ufdef]", "", cited.get("title", "")).split()) in text


def test_the_processor_is_loaded_with_the_first_reference() -> None:
    code = (
        "import sys, mem_search.http.core.app, mem_search.cli.app\n"
        "print(sorted({'citeproc', 'lxml'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={"PYTHONPATH": str(Path(__file__).parents[2] / "src")},
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")
