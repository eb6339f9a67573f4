"""Tables by which a name is told to be a person's or not: words of bodies, of trades, names."""

from __future__ import annotations

from typing import Final

TRADES: Final = frozenset(
    (
        "airlines airways apotheke auto autovermietung bakery bar bazaar bistro books "
        "bookshop bookstore boulangerie boutique brewery broadband buchhandlung bäckerei "
        "cafe café cinema cleaners clinica clinique clínica coffee controls courier deli "
        "delivery dental dentistry dermatology diner drogerie electric electronics energy "
        "eyewear farmacia farms florist foods furniture garage gardens gas gasthaus grill "
        "grocery gym hardware hausgeräte haushaltsgeräte hotel hotels inn insurance "
        "jewelers laundry librairie logistics lube market markets motel motors mutual "
        "nurseries optical optics orthopaedics orthopedics outfitter outfitters outlet "
        "panadería parcel pediatrics pharmacie pharmacy physio physiotherapy pizza "
        "pizzeria plumbing praxis properties pub rail railway railways realty rentals "
        "restaurant ristorante roofing salon savings shipping shop shops spa sparkasse "
        "stadtwerke store stores supermarket supermarkets taqueria tavern telecom telekom "
        "theater theatre tools tours toys trattoria travel utilities versand versicherung "
        "veterinary wholesale winery wireless "
    ).split()
)
"""Words of shops and services: Corner Pharmacy. Those that are often surnames are not here."""

ORGANISATIONS: Final = frozenset(
    each.strip()
    for each in (
        "ace hardware | aer lingus | air canada | air france | al jazeera | ars technica "
        "| asahi shimbun | banco santander | best buy | booz allen hamilton | bright "
        "horizons | burger king | canadian tire | cathay pacific | charles schwab | "
        "charles tyrwhitt | check point | chipotle mexican grill | clarks shoes | "
        "consumer reports | credit suisse | dairy queen | delta air lines | der spiegel | "
        "der standard | deutsche telekom | die zeit | dollar general | dollar tree | dr. "
        "oetker | el país | electronic arts | epic games | general dynamics | general "
        "electric | general mills | golden gate bridge | goldman sachs | hacker news | "
        "home depot | hugging face | hugo boss | j. crew | jiffy lube | johnson controls "
        "| kaiser permanente | la poste | la repubblica | land rover | le figaro | le "
        "monde | lonely planet | marks and spencer | morgan stanley | munich re | new "
        "yorker | olive garden | pizza hut | popular mechanics | red hat | robert half | "
        "rolling stone | rosetta stone | stack exchange | stack overflow | standard "
        "chartered | swiss re | taco bell | texas instruments | tim hortons | trader "
        "joe's | trend micro | trip advisor | vanity fair | victoria's secret | virgin "
        "atlantic | warner bros | wells fargo | western digital | whole earth | wikimedia "
        "commons "
    ).split("|")
)
"""Organisations without a word that tells; split they would be people: Overflow, S."""

GIVEN_NAMES: Final = frozenset(
    (
        "ada adam ahmed aisha alan alex alexander ali alice amanda amy ana andrea andreas "
        "andrew angela ann anna anne anthony antonio barbara ben benjamin bjarne brian carl "
        "carlos carol caroline charles chen chloe chris christian christina christine "
        "christopher claire clara claudia daniel david dennis diana donald dorothy edgar edward "
        "elena elisabeth elizabeth ella emily emma eric erik eva fatima felix francesco frank "
        "françois gabriel george giovanni grace greg guido hannah hans heather hedy helen henry "
        "hugo ian ibrahim ines ingrid irene isabel ivan jack jacob james jan jane janet javier "
        "jean jennifer jessica joan johan johann john jonas jonathan jose joseph josé juan "
        "judith julia julian julie karen karl katharina katherine ken kevin klaus lara laura "
        "lea lena leo linda linus lisa louis louise luca lucas lucia luis lukas magdalena marc "
        "marco margaret maria marie mario mark markus marta martha martin mary matthew "
        "maximilian mei melissa mia michael michelle miguel mohamed mohammed monica nancy "
        "natalie nicholas nicole niklaus nina noah nora oliver olivia omar pablo pamela "
        "patricia patrick paul pedro peter petra philip pierre priya rachel rafael ralph "
        "raphael rebecca richard robert roger rosa ruth ryan samuel sandra sara sarah sebastian "
        "simon sofia sophia sophie stefan stephanie stephen steven susan sven tanya teresa "
        "theresa thomas tim timothy tobias ursula valentina victor victoria vincent walter wei "
        "werner william wolfgang yuki zoe "
    ).split()
)
"""Given names: who has one is a person, whatever else is known of the source."""

INSTITUTION: Final = frozenset(
    "academia academy administration agence agencia agency akademie alliance archive archives "
    "associates association associação authority board broadcasting bundesamt bureau center "
    "centers centre centres centro charity clinic club coalition college comisión commission "
    "commissioner committee community company conference congress consortium contributors "
    "cooperative corp corporation council departamento department developers directorate "
    "division embassy enterprises federation fondation forum foundation fundación gesellschaft "
    "gmbh government group hochschule holdings hospital inc incorporated industries initiative "
    "institut institute institutes institution institutions instituto istituto kommission lab "
    "laboratoire laboratories laboratory labs library limited llc llp ltd ministerio ministerium "
    "ministry ministère museum nations network observatory office organisation organización "
    "organization partners partnership plc program programme project publishers publishing "
    "registry research school secretariat senate society société stiftung studio studios "
    "symposium syndicate team universidad universidade universiteit universitet university "
    "università universität université verein verlag zentrum".split()
)
"""Words that name a body of people: with one of them a name is that of an institution."""
NO_PERSON: Final = frozenset(
    "international national federal united european worldwide global world central american "
    "british deutsche democratic republic states kingdom nasa unesco unicef ieee iso nato epa "
    "authors engineers scientists students staff editors editorial newsroom volunteers users "
    "maintainers bot bots agent assistant support media magazine journal gazette tribune herald "
    "chronicle guardian blog docs documentation wiki manual guide handbook sans the of for in on "
    "at to with from by für fuer pour per ai api app code cli system systems software "
    "technologies technology solutions digital data cloud security science sciences engineering "
    "health medicine medical nuclear aeronautics geographic geological meteorological "
    "agriculture economics finance statistics education environmental protection development "
    "investigation intelligence service services microsoft google amazon apple meta intel nvidia "
    "oracle mozilla linux python rust github unknown anonymous admin administrator root none "
    "null et &".split()
)
"""Further words that no name of a single person contains."""
SURNAMES_TOO: Final = frozenset(
    "bank banks church court house post press times news league fund force trust union power "
    "field law park office college school royal star today sun mail mirror".split()
)
"""Words of institutions that are surnames, too: only initials or a comma tell them apart."""
