from datetime import UTC, datetime

import pytest

from mem_search.model import (
    AllOf,
    AnyOf,
    Condition,
    DateRange,
    Filters,
    MetadataTest,
    Not,
    Term,
)
from mem_search.records.registry import installed_kinds
from mem_search.text import words
from mem_search.text.dates import from_iso
from mem_search.text.query.demands import canonical
from mem_search.text.query.parse import Reading, read

NOW = datetime(2025, 11, 20, 12, tzinfo=UTC)


def reading(text: str, **more: object) -> Reading:
    return read(text, now=NOW, kinds=installed_kinds(), **more)  # type: ignore[arg-type]


def demanded(text: str) -> str:
    return reading(text).analyzed.demanded


def word(text: str) -> Term:
    return Term((text,))


@pytest.mark.parametrize(
    "text",
    [
        "How do we handle auth?",
        "C++ and --flag with -w or -1, cats and dogs or not, -q/--quiet -S, -i",
        "http://x.org a::b 12:30 std::vec file:///home/x type::T",
        "fix the crash (on start) in main(int argc) :-)",
        'stop treating the "magic trailing commas" of collections as `a AND b -c type:x`',
        "a - b -> c - d",
        "登录问题 ABC-123 don't snake_case CamelCase x/y.py",
        "**bold** *.py ~/x HEAD~1 2*x",
    ],
)
def test_plain_text_is_unchanged(text: str) -> None:
    found = reading(text)
    assert found.text == text
    assert found.words == words.read(text)
    assert found.demand is None
    assert not found.analyzed.warnings


@pytest.mark.parametrize(
    ("text", "demand"),
    [
        ("login page AND token", "page AND token"),
        ("rust OR go error", "rust OR go"),
        ("a1 OR b1 AND c1", "a1 OR (b1 AND c1)"),
        ("(a1 OR b1) AND c1", "(a1 OR b1) AND c1"),
        ("(a1 b1) AND c1", "(a1 OR b1) AND c1"),
        ("auth NOT jwt token", "NOT jwt"),
        ("auth -jwt -saml", "NOT jwt AND NOT saml"),
        ("auth +jwt", "+jwt"),
        ("NOT (a1 OR b1)", "NOT (a1 OR b1)"),
        ("NOT NOT a1", "+a1"),
        ("+x/y.py", '+"x y py"'),
        ("+12", ""),
        ("auth AND 12", 'auth AND "12"'),
        ('"vector index"', '+"vector index"'),
        ('"vector index" chroma', '+"vector index"'),
        ("登录 AND 问题", "登录 AND 问题"),
        ("问题 -登录", "NOT 登录"),
        ("+auth* +tokn~", "auth* AND tokn~"),
        ("+mem*rch", "+mem*rch"),
        ("+*Tion", "*tion AND *tion"),
        ("login -*tion*", "NOT *tion*"),
        ("fix (crash) -windows", "NOT windows"),
        ("AND(auth OR jwt)", "auth OR jwt"),
        ("tag:x,y Type:Bugfix", "tag:x,y AND type:Bugfix"),
        ("tags:x", "tag:x"),
        ('file:"a b.py",c.py', 'file:"a b.py",c.py'),
        ("(type:bugfix auth) OR (tag:x NOT jwt)", "(auth AND type:bugfix) OR (tag:x AND NOT jwt)"),
        ("since:last week auth", 'since:"last week"'),
        ("in:2024 AND since:2023 OR auth", "(in:2024 AND since:2023) OR auth"),
        ('file:":a" file:"//b" file:/c', 'file:":a" AND file:"//b" AND file:/c'),
    ],
)
def test_operators_and_fields_demand(text: str, demand: str) -> None:
    assert demanded(text) == demand
    assert demanded(demand) == demand


def test_the_demand_is_a_tree_of_terms_and_conditions() -> None:
    found = reading('auth AND NOT "json web" (type:bugfix OR kind:notes)')
    assert found.demand == AllOf(
        (
            word("auth"),
            Not(Term(("json", "web"))),
            AnyOf(
                (
                    Condition("type:bugfix", (Filters(types=("bugfix",)),)),
                    Condition("kind:notes", (Filters(kinds=("note",)),)),
                )
            ),
        )
    )


def test_wanted_words_rank_and_excluded_ones_do_not() -> None:
    found = reading('login AND (token OR "json web token") -cookie type:bugfix')
    assert found.text == 'login token "json web token"'
    assert "cookie" not in found.words.all
    assert "bugfix" not in found.words.all
    assert {"login", "token"} <= set(found.words.words)
    assert found.words.phrases == (("json", "web", "token"),)
    assert not found.words.demanded  # one of the alternatives is enough
    assert found.analyzed.excluded == ("cookie",)
    assert found.analyzed.filters == ("type:bugfix",)


def test_fields_leave_the_other_words_as_they_would_be_without_them() -> None:
    found = reading('"vector index" is:note rebuilt -chroma')
    plain = reading('"vector index" rebuilt')
    assert (found.text, found.words) == (plain.text, plain.words)


def test_fields_and_exclusions_alone_leave_nothing_to_look_for() -> None:
    for text in ("type:bugfix", "-auth", "NOT (auth OR jwt) since:2024"):
        found = reading(text)
        assert found.text == ""
        assert not found.words
        assert found.demand is not None


@pytest.mark.parametrize(
    ("text", "filters"),
    [
        ("type:bugfix", (Filters(types=("bugfix",)),)),
        ("type:note", (Filters(kinds=("note",)),)),
        ("kind:notes,email", (Filters(kinds=("note",)), Filters(kinds=("email",)))),
        ("project:web,api", (Filters(project="web"), Filters(project="api"))),
        ("session:s1", (Filters(session="s1"),)),
        ("source:git", (Filters(source="git"),)),
        ("concept:gotcha", (Filters(concepts=("gotcha",)),)),
        ("tag:a", (Filters(tags=("a",)),)),
        ("file:src/a.py", (Filters(files=("src/a.py",)),)),
        ("folder:Work", (Filters(facets=(("folder", "Work"),)),)),
        (
            "domain:example.org",
            (Filters(any_facets=(("domain", "example.org"), ("domain", "www.example.org"))),),
        ),
        ("is:archived", (Filters(archived=True),)),
        ("title:token", (Filters(demand=Term(("token",), column="title")),)),
        ("title:auth*", (Filters(demand=Term(("auth",), "prefix", column="title")),)),
        ("title:authn~", (Filters(demand=Term(("authn",), "fuzzy", column="title")),)),
        ("content:*TION", (Filters(demand=Term(("*tion",), "wildcard", column="text")),)),
        (
            "title:au*tion,2*3",
            (
                Filters(demand=Term(("au*tion",), "wildcard", column="title")),
                Filters(demand=Term(("2", "3"), column="title")),
            ),
        ),
        (
            'content:"rate lim*"',
            (Filters(demand=Term(("rate", "lim"), "prefix", column="text")),),
        ),
        ('content:"rate limit"', (Filters(demand=Term(("rate", "limit"), column="text")),)),
        ("url:example.org/a", (Filters(url="example.org/a"),)),
        ("path:src/a.py", (Filters(files=("src/a.py",)),)),
        ("cc:ann", (Filters(metadata=(MetadataTest(("cc",), "contains", "ann"),)),)),
        (
            "meta.amount>100",
            (Filters(metadata=(MetadataTest(("amount",), ">", "100", (100.0, 100.0)),)),),
        ),
        ("is:active", (Filters(archived=False),)),
        ("is:decision", (Filters(types=("decision",)),)),
        ("is:note", (Filters(kinds=("note",)),)),
    ],
)
def test_a_field_is_a_filter(text: str, filters: tuple[Filters, ...]) -> None:
    assert reading(text).demand == Condition(text, filters)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("before:2025-10-03", None, "2025-10-02T23:59:59.999Z"),
        ("until:2025-10-03", None, "2025-10-03T23:59:59.999Z"),
        ("after:2025-10-03", "2025-10-04", None),
        ("since:2025-10-03", "2025-10-03", None),
        ("in:2024", "2024-01-01", "2024-12-31T23:59:59.999Z"),
        ("in:May 2024", "2024-05-01", "2024-05-31T23:59:59.999Z"),
        ('in:"last October"', "2025-10-01", "2025-10-31T23:59:59.999Z"),
        ("since:yesterday", "2025-11-19", None),
    ],
)
def test_dates_are_read_in_words(text: str, start: str | None, end: str | None) -> None:
    span = DateRange(start and from_iso(start), end and from_iso(end))  # type: ignore[arg-type]
    demand = reading(f"{text} auth").demand
    assert isinstance(demand, Condition)
    assert demand.any_of == (Filters(created=span),)


def test_the_subject_of_a_mail_is_its_title() -> None:
    assert reading("subject:lunch").demand == reading("title:lunch").demand is not None


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ('say "hello', "quote before “hello”"),
        ("fix (crash", "parenthesis before “crash”"),
        ("auth AND", "AND has no operand"),
        ("OR auth", "OR has no operand"),
        ("auth NOT", "NOT has no operand"),
        ("type: bugfix", "type: has no value"),
        ("since:whenever auth", "'whenever' is not a date"),
        ("kind:wombat", "no kind is called 'wombat'"),
        ("au*a_b", "_ ends a word"),
        ("a*b", "fewer than three letters"),
        ("*ab", "fewer than three letters"),
        ("kind:obs", "did you mean kind:observation?"),
        ("is:desision", "did you mean is:decision?"),
        ("autor:smith", "did you mean author:?"),
        ("name:lunch", "did you mean title:?"),
        ("meta.amount>much", "neither a number nor a date"),
        ("title:!", "has no word"),
        ("title:a*b", "“a*b” has fewer than three letters beside its *"),
        ("title:*snake_case", "_ ends a word"),
        ("title:*aaa,*bbb,*ccc,*ddd,*eee", "only 4 words may have * inside or in front"),
        ("is:wombat", "is:'wombat' has no meaning"),
        ("projet:web", "did you mean project:?"),
        ("tpye:bugfix", "did you mean type:?"),
    ],
)
def test_operators_without_meaning_are_read_as_text_with_a_warning(text: str, about: str) -> None:
    found = reading(text)
    assert found.demand is None
    assert found.text == text
    assert len(found.analyzed.warnings) == 1
    assert about in found.analyzed.warnings[0]


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("WHAT IS THE EFFECT OF HEAT AND PRESSURE ON STEEL", "in capitals, so AND is read as text"),
        ("WHICH METHODS ARE USED TO SORT OR MERGE LISTS?", "in capitals, so OR is read as text"),
        ("WHY IS THE CACHE NOT CLEARED AFTER LOGOUT", "in capitals, so NOT is read as text"),
        ("PH AND mRNA CONTENT OF BLOOD OR TISSUE, BUT NOT BONE", "so AND, OR, NOT are read"),
        ("JWT AND SSO", "in capitals, so AND is read as text"),
        ("WHAT (HEAT AND COLD) DO", "in capitals"),
        ("WELCHE WÄRME AND DRUCK", "in capitals"),
        ("why does it NOT work", "“it” cannot be searched for by itself, so NOT is read as text"),
        ("the file must NOT grow", "“must” cannot"),
        ("token OR the", "“the” cannot be searched for by itself, so OR is read as text"),
        ("the AND token", "“the” cannot"),
        ("token AND NOT the", "“the” cannot"),
        ("token OR (the a)", "“the a” cannot"),
        ("(the a) OR token", "“the a” cannot"),
    ],
)
def test_operators_of_a_question_are_words_of_it(text: str, about: str) -> None:
    found = reading(text)
    assert found.demand is None
    assert found.text == text
    assert found.words == words.read(text)
    assert about in found.analyzed.warnings[0]
    assert found.analyzed.operators == ()


@pytest.mark.parametrize(
    ("text", "demand", "operators"),
    [
        ("heat AND pressure", "heat AND pressure", ("AND",)),
        ("AWS AND storage", "aws AND storage", ("AND",)),
        ('"JWT" AND "SSO"', "jwt AND sso", ("AND",)),
        ("type:BUGFIX AND project:WEB", "type:BUGFIX AND project:WEB", ("AND",)),
        ("401 OR 403", '"401" OR "403"', ("OR",)),
        ('"the" OR token', '"the" OR token', ("OR",)),
        ("登录 AND 问题", "登录 AND 问题", ("AND",)),
        ("how do tokens NOT expire", "NOT expire", ("NOT",)),
        ("token AND the OR cookie AND x1", "cookie AND x1", ("AND",)),
        ("auth AND", "", ()),
    ],
)
def test_operators_between_words_that_ask_for_something_are_named(
    text: str, demand: str, operators: tuple[str, ...]
) -> None:
    found = reading(text)
    assert found.analyzed.demanded == demand
    assert found.analyzed.operators == operators


@pytest.mark.parametrize(
    ("text", "alone"),
    [
        ("heat AND pressure", "heat pressure"),
        ('"rate limit" AND NOT (type:bugfix OR tag:x)', "rate limit (NOT (type:bugfix OR tag:x))"),
        ("(jwt OR sso) AND auth type:bugfix -cookie", "jwt sso auth type:bugfix"),
        ("heat pressure type:bugfix", ""),
        ("-jwt", ""),
    ],
)
def test_an_expression_has_a_query_of_its_words_alone(text: str, alone: str) -> None:
    assert reading(text).analyzed.alone == alone


def test_the_sign_before_an_unclosed_parenthesis_is_text_too() -> None:
    assert reading("-(foo bar").demand is None


def test_a_page_of_operators_is_read_as_words() -> None:
    found = reading("(" + "|".join(f"w{i}" for i in range(100)).replace("|", ")AND(") + ")")
    assert found.demand is None
    assert "read as text" in found.analyzed.warnings[0]


@pytest.mark.parametrize(
    "text", ["fix: a -b\nNOT done: x AND y", " AND ".join(f"w{i}" for i in range(60))]
)
def test_a_pasted_text_is_no_expression(text: str) -> None:
    found = reading(text)
    assert found.demand is None
    assert found.text == text
    assert "pasted" in found.analyzed.warnings[0]


def test_deep_parentheses_are_read_as_words() -> None:
    assert "w" in reading("(" * 3000 + "w" + ")" * 3000).words.words
    nested = "a1"
    for i in range(30):
        nested = f"({nested} {'AND' if i % 2 else 'OR'} b{i})"
    assert reading(nested).demand is None


def test_prefixes_and_misspellings_stand_for_words_of_the_store() -> None:
    assert reading("auth* tokn~ x").wild == ("auth*", "tokn~")
    near = {"auth*": ("authentication",), "tokn~": ("token",)}
    found = reading("auth* +tokn~ x1", near=near)
    assert found.text == "auth tokn x1"
    assert found.words.near == ("authentication", "token")
    assert found.demand == Term(("tokn",), "fuzzy", ("token",))
    assert found.analyzed.near == (("auth*", ("authentication",)), ("tokn~", ("token",)))


def test_wildcards_inside_and_before_a_word_stand_for_words_of_the_store() -> None:
    found = reading("mem*RCH *tion x1")
    assert found.wild == ("mem*rch", "*tion")
    assert found.words.words == ("x1",)
    near = {"mem*rch": ("memsearch",), "*tion": ("a1", "b1", "c1", "d1")}
    found = reading("mem*rch *tion x1", near=near)
    assert found.text == "memsearch a1 b1 c1 x1"
    assert found.words.words == ("x1",)
    assert found.words.near == ("memsearch", "a1", "b1", "c1", "d1")
    assert found.demand is None
    assert reading("+*tion", near=near).demand == Term(("*tion",), "wildcard", near["*tion"])


def test_a_wildcard_without_words_is_read_as_its_parts_and_said() -> None:
    found = reading("where is width*height", near={"width*height": ()})
    assert found.words.near == ("width", "height")
    assert found.analyzed.warnings == ("no record has a word that “width*height” stands for",)


def test_many_words_of_a_wildcard_are_said_and_few_wildcards_are_read() -> None:
    near = {"*tion": tuple(f"w{place}tion" for place in range(64))}
    assert "64 most frequent" in reading("*tion", near=near).analyzed.warnings[0]
    found = reading("*aaa *bbb *ccc *ddd *eee")
    assert found.wild == ("*aaa", "*bbb", "*ccc", "*ddd")
    assert "only 4 words" in found.analyzed.warnings[0]


def test_phrases_by_quotes_alone_can_be_let_go() -> None:
    found = reading('"no such thing" here', demand_quotes=False)
    assert found.demand is None
    assert not found.words.demanded


def test_nothing_is_demanded_by_nothing() -> None:
    assert canonical(None) == ""
    assert reading("").demand is None
