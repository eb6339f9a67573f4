"""French."""

from __future__ import annotations

from mem_search.text.languages.language import Language, TimeWords

_TIMES = TimeWords(
    months="janvier février|fevrier mars avril mai juin juillet août|aout septembre octobre"
    " novembre décembre|decembre",
    weekdays="lundi mardi mercredi jeudi vendredi samedi dimanche",
    counts="une|un deux trois quatre cinq six sept huit neuf dix onze douze",
    units={
        "jour": "day", "jours": "day", "semaine": "week", "semaines": "week", "mois": "month",
        "an": "year", "ans": "year", "année": "year", "années": "year", "annee": "year",
        "heure": "hour", "heures": "hour", "week-end": "weekend",
    },
    forms=(
        (r"entre (?:le )?(DAY) et (?:le )?(DAY) (MONTH)(?:"
         r" (YEAR))?", "between {2} {0} and {1} {3}"),
        (r"(?:au |en |à l['’])printemps(?:(?: de)? (YEAR))?", "spring {0}"),
        (r"printemps(?: de)? (YEAR)", "spring {0}"),
        (r"(?:au |en |à l['’])été(?:(?: de)? (YEAR))?", "summer {0}"),
        (r"été(?: de)? (YEAR)", "summer {0}"),
        (r"(?:au |en |à l['’])automne(?:(?: de)? (YEAR))?", "autumn {0}"),
        (r"automne(?: de)? (YEAR)", "autumn {0}"),
        (r"(?:au |en |à l['’])hiver(?:(?: de)? (YEAR))?", "winter {0}"),
        (r"hiver(?: de)? (YEAR)", "winter {0}"),
        ("aujourd['’]hui", "today"),
        ("avant-hier", "day before yesterday"),
        # "hier" alone is a German word: here.
        (r"(?:d['’]|(?<=reçu )|(?<=reçue )|(?<=envoyé )|(?<=envoyée )|(?<=depuis )"
         r"|(?<=fait )|(?<=passé ))hier",
         "yesterday"),
        ("(?:les |des )?(COUNT) derni[eè]re?s (UNIT)", "last {0} {1}"),
        ("(?:la |le |l['’])?(UNIT|MONTH|WEEKDAY) (?:derni[eè]re?|passée?)", "last {0}"),
        ("cet?(?:te)? (UNIT)(?:-ci)?", "this {0}"),
        ("(?:la |le |l['’])?(UNIT|MONTH|WEEKDAY) prochaine?", "next {0}"),
        ("il y a (COUNT) (UNIT)", "{0} {1} ago"),
        ("(?:le )?(DAY)(?:er)? (MONTH)(?: (YEAR))?", "{0} {1} {2}"),
        (r"(?:le )?(DAY)/(\d\d?)/(YEAR)", "{2}-{1}-{0}"),
        ("l['’]année (YEAR)", "{0}"),
        ("(?:d['’])?(MONTH) (YEAR)", "{0} {1}"),
    ),
    prefixes={
        "en": "in", "au": "in", "de": "from", "du": "from", "depuis": "since", "avant": "before",
        "après": "after", "jusqu'à": "until", "jusqu'en": "until", "jusqu'au": "until",
        "pendant": "during", "dans": "in",
    },
    ranges={("entre", "et"): ("between", "and"), ("de", "à"): ("from", "to"),
            ("du", "au"): ("from", "to")},
    marks="aujourd avant en de du depuis après jusqu pendant entre ce cet cette la le les il"
    " semaine semaines mois année années ans dernier dernière derniers dernières hier octobre"
    " décembre février août janvier",
)  # fmt: skip

FRENCH = Language(
    leading="la le les l' mes mon ma un une des cherche trouve montre donne moi où est il j'ai tous"
    " toutes quel quelle quels quelles",
    own="mes mon ma",
    following="à au avec avant concernant contenant dans de del depuis des d' du en entre est sans"
    " sous sur qui que qu'",
    never="comment pourquoi",
    documents="billet billets bulletin commande confirmation contrat contrats devis facture"
    " factures lettre lettres ordonnance recette recettes reçu reçus relevé relevés quittance",
    senders="de du d' par",
    recipients="à au",
    sent="envoyé envoyée envoyés envoyées écrit écrite transmis transmise",
    inverted="envoyé envoyée envoyés envoyées écrit écrite transmis transmise",
    auxiliaries="a m'a avait ont",
    persons="je moi me m' nous il elle ils qui que qu' qu'a",
    articles="la le les l' mon ma mes un une",
    joining="et ou",
    empty="ai avons ce cherche est fait j nous passé qu que donne la le les mes moi mon ma montre"
    " où quel quelle quels quelles tous toutes documents trouve un une",
    particles="afin ainsi alors après au aussi autre aux avant avec bien car ce cela ces cet"
    " cette chez combien comme comment contre coûte coûtait coûté dans depuis des donc"
    " dont du elle encore entre est et être eux fait faire fois ici jamais lors lui mais"
    " même moins notre nos ont par parce pas pendant peu plus pour pourquoi près puis"
    " quand sans sera ses si son sont sous sur ta tes toi ton toujours très tu vers"
    " voici vos votre vous été était",
    participles="scanné scannée scannés scannées numérisé numérisée numérisés numérisées",
    as_one=("en",),
    kinds={
        **dict.fromkeys(("courriel", "courriels"), "kind:email"),
        **dict.fromkeys(("avec pièce jointe", "avec une pièce jointe", "avec pièces jointes",
                         "avec des pièces jointes"), "has:attachment"),
        **dict.fromkeys(("document word", "documents word"), "filetype:document"),
        **dict.fromkeys(("tableur", "feuille de calcul", "feuilles de calcul"),
                        "filetype:spreadsheet"),
        **dict.fromkeys(("scanné", "scannée", "scannés", "scannées", "numérisé", "numérisée",
                         "numérisés", "numérisées"), "filetype:scan"),
        **dict.fromkeys(("marque-page", "marque-pages", "signet", "signets"), "source:bookmarks"),
        **dict.fromkeys(("page web", "pages web"), "kind:website"),
    },
    perhaps_kinds=dict.fromkeys(("présentation", "présentations"), "filetype:presentation"),
    amounts={
        "plus de": ">", "supérieure à": ">", "supérieur à": ">", "supérieures à": ">",
        "au-dessus de": ">", "au moins": ">=", "moins de": "<", "inférieure à": "<",
        "inférieur à": "<", "inférieures à": "<", "au plus": "<=", "jusqu'à": "<=",
        "exactement": "=",
    },
    between=("entre", "et"),
    money={"euro": "EUR", "euros": "EUR", "dollars": "USD", "francs": "CHF", "livres": "GBP"},
    due="à payer|échéance",
    how_much=r"combien (?:a coûté|ai|ont|coûte|coûtait|était|est-ce|faut)\b",
    times=_TIMES,
)  # fmt: skip
