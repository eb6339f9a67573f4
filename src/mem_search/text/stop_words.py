"""Words that say nothing of what a text is about, by language.

They tell the language of a text, and are left out of a question in it (``stems``). Written for this
program: articles, pronouns, prepositions, conjunctions and auxiliaries, of about the size of the
English list. Larger lists have words that people look for (docs/lab/languages.md). The English ones
that a question loses are ``words.STOP_WORDS``.
"""

from __future__ import annotations

from typing import Final

STOP_WORDS: Final = {
    language: frozenset(listed.split())
    for language, listed in {
        "en": "a about after all also an and any are as at be been but by can could did do does for"
        " from had has have he her his how i if in into is it its just me more my no not of on"
        " one only or our out she should so some such than that the their them then there"
        " these they this to up use used was we were what when where which who why will with"
        " would you your",
        "de": "aber alle als also am an auch auf aus bei beim bis da damit dann das dass dem den"
        " der des die dies diese diesem diesen dieser dieses doch du durch ein eine einem"
        " einen einer eines er es für hat habe haben ich ihr ihre im in ist ja kann keine"
        " können man mein meine mich mir mit nach nicht noch nur ob oder ohne schon sehr sein"
        " sich sie sind so über um und uns unter vom von vor war was wenn wer werden wie wird"
        " wir wo wurde zu zum zur",
        "es": "a al algo como con cual cuando de del desde donde dos e el ella ellos en entre era"
        " es esa ese eso está están esta este esto estos fue ha hay hasta la las le les lo los"
        " más me mi mis muy no nos o para pero por porque puede que qué quien se ser si sin"
        " sobre son su sus también tiene todo todos tu un una uno unos usted y ya yo cómo"
        " dónde cuándo",
        "fr": "a ai au aux avec c ce ces cet cette comme comment d dans de des donc dont du elle en"
        " est et être eu il ils j je l la le les leur lui m ma mais me même mes mon n ne nos"
        " notre nous on ont ou où par pas peut plus pour qu quand que quel quelle qui s sa"
        " sans se ses si son sont sur t ton tout très tu un une vos votre vous y à été sera"
        " cela",
        "it": "a ad ai al alla alle anche c che chi ci come con cosa cui da dal dalla dei del della"
        " delle di dove e ed è era gli ha hanno ho i il in io la le lei lo loro ma mi mia mio"
        " ne nel nella nelle noi non o per perché però più può quale quando quello questa"
        " questo se si sia sono su sul sulla tra tu tutti un una uno vi è essere viene",
        "nl": "aan al als altijd ben bij daar dan dat de deze die dit door een en er geen had heb"
        " hebben heeft het hij hoe hun ik in is je jouw kan kunnen maar me meer met mijn moet"
        " na naar niet nog nu of om omdat onder ons ook op over te tot u uit van veel voor"
        " waar wanneer waren was wat we welke werd wie wij wordt worden zal ze zich zij zijn"
        " zo zonder zou",
        "pt": "a ao aos as até com como da das de dela dele do dos e é ela ele eles em entre era"
        " essa esse esta está estão este eu foi há isso isto já lhe mais mas me meu minha"
        " muito na não nas nem no nos o onde os ou para pela pelo pode por porque qual quando"
        " que quem são se sem ser seu seus sobre sua suas também tem um uma umas você vocês à"
        " às",
        "ru": "а без бы был была были было быть в вам вас во вот все вы где да для до его ее если"
        " есть еще же за и из или им их к как когда которые который кто ли мне можно мой мы на"
        " над надо нас не него нет ни но о об он она они от по под при с со так также то того"
        " только ты у уже чем что чтобы эта эти это этого этот я",
        "sv": "alla allt att av bara bli blir blev de dem den denna deras det detta dig din du där"
        " då efter eller en ett från för ha han har hon hur hade i in inte jag kan kunna man"
        " med men mer mig min mot mycket ni nu när någon något och om oss på sig sin ska så"
        " som till under upp ut utan vad var vara varför vem vi vid vilka vilken är över",
    }.items()
}
