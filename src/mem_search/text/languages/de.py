"""German."""

from __future__ import annotations

from mem_search.text.languages.language import Language, TimeWords

_TIMES = TimeWords(
    months="januar|jänner februar|feber märz|maerz april mai juni juli august september oktober"
    " november dezember",
    weekdays="montag dienstag mittwoch donnerstag freitag samstag|sonnabend sonntag",
    counts="einem|einer|ein|eine zwei drei vier fünf|fuenf sechs sieben acht neun zehn elf"
    " zwölf|zwoelf",
    units={
        "tag": "day", "tage": "day", "tagen": "day", "woche": "week", "wochen": "week",
        "monat": "month", "monate": "month", "monaten": "month", "jahr": "year", "jahre": "year",
        "jahren": "year", "stunde": "hour", "stunden": "hour", "wochenende": "weekend",
    },
    forms=(
        (r"zwischen (?:dem )?(DAY)\. und (?:dem )?(DAY)\. ?(MONTH)(?: (YEAR))?",
         "between {2} {0} and {1} {3}"),
        (r"im früh(?:ling|jahr)(?: (YEAR))?", "spring {0}"),
        (r"früh(?:ling|jahr) (YEAR)", "spring {0}"),
        (r"im sommer(?: (YEAR))?", "summer {0}"),
        (r"sommer (YEAR)", "summer {0}"),
        (r"im herbst(?: (YEAR))?", "autumn {0}"),
        (r"herbst (YEAR)", "autumn {0}"),
        (r"im winter(?: (YEAR))?", "winter {0}"),
        (r"winter (YEAR)", "winter {0}"),
        ("heute", "today"),
        ("gestern", "yesterday"),
        ("vorgestern", "day before yesterday"),
        ("(?:der |die |das |den )?letzten (COUNT) (UNIT)", "last {0} {1}"),
        ("(?:der |die |das |den )?(?:letzte|vergangene|vorige)[nmrs]? (UNIT|MONTH|WEEKDAY)",
         "last {0}"),
        ("diese[nmrs]? (UNIT|MONTH|WEEKDAY)", "this {0}"),
        ("(?:nächste|kommende)[nmrs]? (UNIT|MONTH|WEEKDAY)", "next {0}"),
        ("vor (COUNT) (UNIT)", "{0} {1} ago"),
        (r"(DAY)\. ?(MONTH)(?: (YEAR))?", "{0} {1} {2}"),
        (r"(DAY)\. ?(\d\d?)\. ?(YEAR)", "{2}-{1}-{0}"),
        ("(?:dem )?jahr (YEAR)", "{0}"),
        ("(MONTH) (YEAR)", "{0} {1}"),
    ),
    prefixes={
        "im": "in", "in": "in", "am": "on", "vom": "from", "von": "from", "aus": "from",
        "aus dem": "from", "seit": "since", "vor": "before", "vor dem": "before", "nach": "after",
        "nach dem": "after", "bis": "until", "bis zum": "until", "während": "during",
    },
    ranges={("zwischen", "und"): ("between", "and"), ("von", "bis"): ("from", "to"),
            ("vom", "bis zum"): ("from", "to"), ("zwischen dem", "und dem"): ("between", "and")},
    marks="heute gestern vorgestern im am vom von aus seit vor nach bis während zwischen diese"
    " diesen dieser diesem dieses letzte letzten letzter letztes letztem vergangene vergangenen"
    " vergangenes vorige vorigen nächste nächsten nächster nächstes kommende kommenden januar"
    " februar märz mai juni juli oktober dezember",
)  # fmt: skip

GERMAN = Language(
    leading="der die das des ein eine einen einer eines mein meine meinen meiner unsere unseren"
    " finde find such suche zeig zeige zeigt alle allen wo ist sind mir bitte gib welche welcher"
    " welches ich brauche habe hat",
    own="mein meine meinen unsere unseren",
    following="aus bei bis der dem den des die enthält für im in ist mit nach ohne seit über"
    " um und unter vom von vor war waren wegen zu zum zur zwischen gekostet bezahlt",
    never="wie warum wieso weshalb",
    documents="abrechnung angebot bericht bescheid beleg bestellung brief briefe einladung"
    " fahrkarte gehaltsabrechnung kontoauszug kontoauszüge kündigung mahnung mahnungen mietvertrag"
    " quittung quittungen rechnung rechnungen rezept rezepte ticket vertrag verträge zeugnis",
    senders="von vom",
    sent="schickte schrieb sendete geschickt geschrieben gesendet gemailt weitergeleitet",
    auxiliaries="hat hatte haben",
    persons="ich mich mir wir uns er sie es du ihr",
    articles="der die das den dem des einem einer mein meine meinem meinen meiner unserem unserer",
    joining="und oder",
    empty="alle allen bitte das dem den der ein eine einen finde gib ich im mein meine meinen mir"
    " dokumente gearbeitet gemacht getan habe haben ist passiert suche unsere welche welcher"
    " welches wir wo woran zeig zeige zeigt",
    particles="aber als am an auf aus bei beim bis dann dass dazu denn dich dir doch durch euch"
    " für gegen gibt habe haben hier hinter ihm ihn ihnen ihr ihre ihrem ihren in ins"
    " ist jede jeder jetzt kann kein keine kostet kosten kostete mehr mit nach neben"
    " nicht noch nur ohne schon sehr sein seine sich sie sind so soll über um unser"
    " unter viel viele vor waren warum was wegen weil wem wen wenn wer wie wieder"
    " wieviel wird wurde zu zum zur zwischen",
    participles="gescannt gescannte gescannter gescanntes gescannten eingescannt eingescannte"
    " eingescannter",
    as_one=("als", "als ein", "als eine", "per"),
    kinds={
        **dict.fromkeys(("mit anhang", "mit anhängen", "mit einem anhang"), "has:attachment"),
        **dict.fromkeys(("word-dokument", "word-dokumente", "word-datei", "word-dateien"),
                        "filetype:document"),
        **dict.fromkeys(("excel-tabelle", "excel-tabellen", "excel-datei"), "filetype:spreadsheet"),
        **dict.fromkeys(("pdf-datei", "pdf-dateien"), "filetype:pdf"),
        **dict.fromkeys(("gescannt", "gescannte", "gescannter", "gescanntes", "gescannten",
                         "eingescannt", "eingescannte", "eingescannter"), "filetype:scan"),
        **dict.fromkeys(("lesezeichen",), "source:bookmarks"),
        **dict.fromkeys(("webseite", "webseiten"), "kind:website"),
    },
    perhaps_kinds={
        **dict.fromkeys(("nachricht", "nachrichten"), "kind:email"),
        **dict.fromkeys(("notiz", "notizen"), "kind:note"),
        **dict.fromkeys(("foto", "fotos", "bild", "bilder"), "filetype:image"),
        **dict.fromkeys(("tabelle", "tabellen"), "filetype:spreadsheet"),
        **dict.fromkeys(("präsentation", "präsentationen", "folien"), "filetype:presentation"),
        **dict.fromkeys(("artikel",), "kind:website"),
    },
    amounts={
        "über": ">", "mehr als": ">", "mindestens": ">=", "ab": ">=", "unter": "<",
        "weniger als": "<", "höchstens": "<=", "bis zu": "<=", "genau": "=",
    },
    between=("zwischen", "und"),
    money={"euro": "EUR", "dollar": "USD", "franken": "CHF", "pfund": "GBP"},
    due="fällig|zahlbar",
    overdue="überfällig|überfällige|überfälligen",
    how_much=r"wie ?viel (?:hat|haben|habe|kostet|kostete|war|waren)\b"
    r"|was (?:kostet|kostete)\b",
    times=_TIMES,
)  # fmt: skip
