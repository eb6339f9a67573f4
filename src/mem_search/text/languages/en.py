"""English. The times of English are in ``date_words`` and ``question_times``."""

from __future__ import annotations

from mem_search.text.languages.language import Language

ENGLISH = Language(
    leading="a all an any are can could do every find get give have i is it list look looking me my"
    " need of open our please show some that the these this those search for want was we were"
    " where which you",
    own="my our",
    following="about above after as at attached before by concerning containing for from i in"
    " including of on over per regarding saying that titled to under was were we where which who"
    " with without is are due cost costs charge charged",
    never="how why when does should would cannot can't doesn't",
    documents="agreement bill bills booking certificate confirmation contract contracts form guide"
    " invitation invoice invoices itinerary lease letter letters manual minutes newsletter"
    " newsletters offer order payslip payslips policy postcard prescription receipt receipts recipe"
    " refund reminder reminders report reports reply statement statements ticket tickets warranty",
    senders="from by",
    recipients="to",
    sent="sent emailed mailed wrote forwarded",
    send="send email mail write forward",
    auxiliaries="has had have",
    persons="i me us we you it he she they this that who",
    articles="the my our a an",
    joining="and or",
    participles="scanned bookmarked",
    as_one=("as", "per", "as a", "as an", "in a", "in an"),
    amounts={
        "over": ">", "more than": ">", "above": ">", "greater than": ">", "exceeding": ">",
        "at least": ">=", "no less than": ">=", "under": "<", "less than": "<", "below": "<",
        "cheaper than": "<", "at most": "<=", "up to": "<=", "no more than": "<=", "exactly": "=",
    },
    between=("between", "and"),
    money={
        "euro": "EUR", "euros": "EUR", "dollar": "USD", "dollars": "USD", "bucks": "USD",
        "pounds": "GBP", "francs": "CHF",
    },
    due="due|payable",
    overdue="overdue|past due",
    how_much=r"how much (?:was|were|is|are|did|do|does|have|had)\b",
)  # fmt: skip
