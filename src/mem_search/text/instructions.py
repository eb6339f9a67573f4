r"""Text that reads like instructions to an agent: found by rules, in linear time.

Memory holds what others wrote: mail, web pages, output of tools. Such a text can try to tell an
agent what to do, at once or in each later session. These rules name the usual ways: to take back
the agent's instructions, to give it another role, to speak in the name of the system, to address
agents, to demand secrecy, to ask for secrets or to be remembered. They find what is written like
an instruction. They do not find what somebody hides well, and they cannot know what is meant.

The forms follow the attacks that OWASP lists for LLM applications (LLM01 and LLM04, 2025).
"""

from __future__ import annotations

# ruff: noqa: E501 - the forms of a rule are a table
import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import Final

from mem_search.patterns import pattern
from mem_search.text.control_characters import CLASS

RULES: Final = "1"
"""Raise this when a rule changes: stored records are then looked at again."""

_AGENT: Final = (
    r"(?:(?:ai|llm|coding|language|virtual|chat)[ -]?(?:agents?|assistants?|models?|bots?|systems?)"
    r"|assistants?|llms?|chatbots?|chatgpt|gpt-?\d?|claude(?: code)?|copilot|gemini|codex"
    r"|ki-(?:agent|assistent|modell)e?n?)"
)
_ORDERS: Final = r"(?:instructions?|prompts?|directives?|guidelines|guardrails|rules|constraints|orders|programming)"
_PERSON: Final = (
    r"(?:the |your |any )?(?:users?|humans?|operators?|developers?|owner|anyone|anybody)"
)
_SENSITIVE: Final = (
    r"(?:(?:api|ssh|private|secret|access)[ _-]?(?:keys?|tokens?)|credentials?|passwords?|secrets|"
    r"tokens?|environment variables|\.env\b|id_rsa|cookies|system prompt|(?:chat|conversation) "
    r"history|this conversation|(?:your|hidden|initial|system) instructions)"
)

_FORMS: Final = (
    (
        "override",
        rf"\b(?:ignore|disregard|forget|override|bypass|overrule|skip)\b(?: \w+){{0,3}}? "
        rf"(?:all|any|every|your|previous|prior|earlier|above|preceding|original|existing|system)\b"
        rf"[^.!?]{{0,40}}?\b{_ORDERS}\b"
        rf"|\b(?:ignore|disregard|forget) (?:everything|anything|all)(?: \w+){{0,2}}? "
        r"(?:above|before|you (?:were|have been) told|you know|said so far)"
        r"|\b(?:ignorier\w*|vergiss|missachte) (?:\w+ ){0,3}?(?:anweisung|regel|vorgabe|instruktion)"
        r"|\bignore[zr]? (?:\w+ ){0,2}?(?:les |des |las |todas las )?(?:instructions|consignes) "
        r"(?:pr[ée]c[ée]dent|ant[ée]rieur)"
        r"|\b(?:ignora|olvida) (?:todas )?(?:las )?(?:instrucciones|reglas) (?:anteriores|previas)",
    ),
    (
        "role",
        r"\byou are (?:now|no longer) (?:an?\b|the\b|in \w+ mode\b|bound\b|restricted\b|limited\b|dan\b)"
        r"|\bfrom now on,? (?:you (?:must|will|are|shall|should|only)|always|never|act|respond|reply)"
        r"|\b(?:act|behave|respond|pretend)(?: \w+){0,2}? as (?:if you (?:were|are|have no)|an? "
        r"(?:unrestricted|unfiltered|jailbroken|different|evil))"
        r"|\bpretend (?:to be|you are|that you)\b"
        r"|\b(?:enter|enable|activate|switch to) (?:developer|debug|god|dan|admin|jailbreak|unrestricted)"
        r" mode\b|\bdu bist (?:jetzt|nun|ab sofort) ",
    ),
    (
        "system",
        r"<\|?/?(?:im_start|im_end|system|endoftext|begin_of_text|start_header_id)\|?>"
        r"|<</?sys>>|\[/?inst\]|</?(?:system[-_ ](?:reminder|prompt|message|instructions?)|"
        r"assistant|important_instructions?|admin|recalled-memory)>"
        r"|(?:^|\n)[#*\s>]{0,6}(?:new |updated? |revised )?(?:system|admin(?:istrator)?|developer)"
        r"(?: (?:prompt|message|instructions?|notice|override|update))?[*]{0,2} ?: ?[*]{0,2} ?"
        r"(?:you|always|never|ignore|all|from|do not|disable|the (?:assistant|agent|model|ai|user))\b"
        r"|(?:^|\n)[#*\s>]{0,6}(?:new|updated|revised|additional|real|actual) (?:system )?"
        r"instructions?(?: for \w+)?[*]{0,2} ?:",
    ),
    (
        "agent",
        rf"\b(?:to|for|attention|dear|hey|hello|note(?: to| for)?|message (?:to|for)|if you are|"
        rf"hinweis (?:an|f[üu]r))(?: (?:all|any|every|an?|the|other|alle))?,? {_AGENT}\b[^.!?\n]{{0,60}}?"
        r"(?::|,|\b(?:must|should|please|do not|don't|always|never|run|execute|send|delete|say|reply|"
        r"include|approve|recommend|read this|reading|processing|summari[sz]ing|first|muss|bitte)\b)"
        rf"|\b{_AGENT} (?:reading|processing|parsing|summari[sz]ing|that reads?|which reads?|who reads?)"
        rf"\b|\b(?:all|any|every) {_AGENT}s? (?:must|should|shall|need to)\b",
    ),
    (
        "secrecy",
        rf"\b(?:do not|don't|never|without)(?: \w+){{0,2}}? (?:tell|telling|inform|informing|notify|"
        rf"notifying|alert|alerting|mention|mentioning|reveal|revealing|asking|ask|show|showing|warn|"
        rf"warning)\b[^.!?\n]{{0,20}}? ?(?:to )?{_PERSON}\b"
        r"|\b(?:do not|don't|never) (?:mention|reveal|disclose|acknowledge) (?:this|these|that you|the "
        r"existence of)",
    ),
    (
        "secrets",
        rf"\b(?:send|post|upload|forward|e-?mail|exfiltrate|leak|transmit|paste|submit|copy|append)\b"
        rf"[^.!?\n]{{0,60}}?\b(?:your|the user's|the users?|all|any|every|its|contents? of)\b"
        rf"[^!?\n]{{0,30}}?{_SENSITIVE}[^!?\n]{{0,40}}?\b(?:to|at|via|into|in|as)\b"
        r"|\b(?:reveal|print|output|repeat|show|display|dump)(?: \w+){0,3}? (?:your|the) "
        r"(?:(?:full|entire|hidden|initial|original|exact) )*(?:system prompt|system message|"
        r"(?:system|hidden|initial|original) instructions)",
    ),
    (
        "memory",
        r"\b(?:remember|memori[sz]e|note|store|save)\b[^.!?\n]{0,40}?\b(?:for|in|across) (?:all|every|"
        r"any) (?:future|later|subsequent|coming)"
        r"|\bin (?:all|every|any) (?:future|later|subsequent) (?:sessions?|conversations?|responses?|"
        r"answers?|repl(?:y|ies)|chats?|tasks?|interactions?)\b"
        r"|\b(?:add|save|store|write|commit) (?:this|these|the following)[^.!?\n]{0,30}? (?:to|in|into) "
        r"(?:your |long[- ]term |persistent ){1,2}memor(?:y|ies)\b"
        r"|\bremember (?:that )?(?:from now on|the user (?:has |always )?(?:approved?|authori[sz]ed?|"
        r"trusts?|wants? you))",
    ),
    (
        "command",
        r"\b(?:you (?:must|have to|need to)|immediately|first|now|silently|quietly) "
        r"(?:run|execute|call|invoke)\b[^\n]{0,80}?(?:\bcurl\b|\bwget\b|\brm -rf\b|\bbase64\b|\beval\b|"
        r"\bpowershell\b|\| ?(?:ba|z)?sh\b|\btool\b|\bwithout (?:asking|confirmation|approval))"
        r"|\b(?:run|execute) (?:this|the following)(?: \w+){0,3}? (?:silently|quietly|without asking|"
        r"without confirmation|in the background without)",
    ),
)
NAMES: Final = tuple(name for name, _ in _FORMS)


@cache
def _rules() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Compiled at first use: the command line imports this and stores no text."""
    return tuple((name, re.compile(form)) for name, form in _FORMS)


_HIDDEN: Final = pattern(f"[{CLASS}\u00ad\ufeff]")
_BLANKS: Final = pattern(r"[^\S\n]+")
_BREAK: Final = pattern(r"(?<=[\w,;])\n(?=[ \t]*[a-z])")


def found(text: str) -> tuple[str, ...]:
    """The names of the rules that ``text`` meets, in the order of ``NAMES``; mostly none."""
    plain = unicodedata.normalize("NFKC", text)
    # A break in the middle of a sentence hides nothing; the start of a line means something.
    plain = _BREAK.sub(" ", _HIDDEN.sub("", plain.replace("\r", "")))
    plain = _BLANKS.sub(" ", plain).lower().replace("\u2019", "'")
    return tuple(name for name, rule in _rules() if rule.search(plain))


_NEVER_OBEYED: Final = frozenset(
    "ignore ignoring disregard forget override bypass overrule obey exfiltrate jailbreak pretend"
    " ignoriere ignorier ignoriert vergiss missachte umgehe gehorche ignorez ignores oublie oubliez"
    " desobeis ignora ignorad olvida olvidad obedece ignorate dimentica dimenticate obbedisci esqueca"
    " ignorem negeer vergeet gehoorzaam zignoruj ignoruj zapomnij yoksay unut ignorera glom ignorer"
    " glem unohda ohita zapomen ignorati abaikan lupakan zabud ignoriruy ignoriruj uita felejtsd".split()
)
"""Verbs that take back what an agent was told: one is enough."""

_DO: Final = frozenset(
    "delete remove erase wipe purge drop destroy truncate clear reset send upload post email mail leak"
    " reveal show print dump disclose share publish expose copy run execute exec eval launch start curl"
    " wget sudo install download fetch approve accept confirm merge push trust allow grant give disable"
    " stop skip kill commit write read open call use tell say reply answer respond act follow do dont"
    " never always must please make set change replace rewrite rename encrypt format shutdown".split()
)
_TO_WHAT: Final = frozenset(
    "all any every everything anything everyone nothing previous prior above earlier before preceding"
    " instruction instructions rule rules order orders prompt prompts system file files folder folders"
    " data repo repos repository database databases table tables secret secrets token tokens password"
    " passwords key keys credential credentials env home disk user users me my mine you your yours this"
    " that these those it them now immediately silently quietly warnings checks guardrails safety"
    " approval permission permissions admin root memory history backup backups logs shell code command"
    " commands script scripts rf".split()
)
_DO_ELSEWHERE: Final = frozenset(
    "losche loesche loeschen losch loesch entferne sende schicke fuhre fuehre starte zeige gib verrate"
    " supprime supprimez efface effacez envoie envoyez execute executez lance montre revele donne borra"
    " borrar elimina eliminar envia enviar ejecuta ejecutar muestra revela dame cancella cancellare"
    " invia inviare esegui mostra rivela dammi apague apaga exclua envie mande rode executa mostre"
    " verwijder wis stuur verzend voer toon usun skasuj wyslij uruchom wykonaj pokaz sil gonder calistir"
    " goster radera skicka visa slet send vis poista laheta suorita smaz posli spust hapus kirim"
    " jalankan tampilkan udali otprav zapusti pokazhi sterge trimite ruleaza torold torolj kuldd futtasd"
    " wyczysc vymaz obrisi izbrisi esborra verwyder fshi ezabatu xoa futa".split()
)
_WHAT_ELSEWHERE: Final = frozenset(
    "alle alles dateien daten regeln anweisungen befehle geheimnisse passworter passwoerter befehl jetzt"
    " tout tous toutes fichiers donnees regles instructions secrets maintenant todo todos toda todas"
    " archivos ficheros datos reglas claves secretos instrucciones ahora tutto tutti tutte dati regole"
    " segreti istruzioni adesso tudo arquivos dados regras segredos agora bestanden gegevens geheimen"
    " nu wszystko wszystkie pliki dane hasla teraz hepsini hersey herseyi tum tumunu dosyalari simdi allt"
    " alla filer hemligheter alt kaikki tiedostot vsechno vsechny soubory hesla semua berkas rahasia vse"
    " fayly sekrety tot toate fisierele mindent mindet fajlt file"
    " sve vsetko tat kila zote gjithcka dena".split()
)
_OF_CODE: Final = frozenset("make set reset open call print read write change act".split())
"""Verbs that names of code begin with: ``makefile``, ``calldata``, ``opendatakit``."""
_WHOLE: Final = frozenset("all any every everything your yours previous prior instructions".split())
_MIN_JOINED: Final = 3
_MAX_JOINED: Final = max(map(len, _NEVER_OBEYED | _DO | _TO_WHAT | _DO_ELSEWHERE | _WHAT_ELSEWHERE))
"""Letters of a word that is looked for inside one without signs between its words."""

_AS_LETTERS: Final = str.maketrans("013457", "oieast")


def is_order(words: Sequence[str]) -> bool:
    """Whether the words of a name tell somebody to do something, as "delete all files" does.

    ``words`` are in lower case and without accents. In languages that put the verb first it has to
    stand first; in lists of other languages the order says nothing.
    """
    plain = [word.translate(_AS_LETTERS) for word in words]
    verbs = [at for at, word in enumerate(plain) if word in _DO]
    if verbs and not _TO_WHAT.isdisjoint(plain[verbs[0] + 1 :]):
        return True
    known = frozenset(plain)
    if known & _DO_ELSEWHERE and known & (_WHAT_ELSEWHERE | _TO_WHAT):
        return True
    if known & _DO and known & _WHAT_ELSEWHERE - _TO_WHAT - {"file"}:
        return True
    return not known.isdisjoint(_NEVER_OBEYED) or any(map(_is_joined_order, plain))


def _is_joined_order(word: str) -> bool:
    """``deleteallfiles``, ``ignoreprevious``."""
    for length in range(_MIN_JOINED, min(len(word) - _MIN_JOINED, _MAX_JOINED) + 1):
        verb, rest = word[:length], word[length : length + _MAX_JOINED]
        what = {rest[:end] for end in range(_MIN_JOINED, len(rest) + 1)}
        if verb in _NEVER_OBEYED and len(verb) > _MIN_JOINED + 1:
            return True
        if verb in _DO and what & (_WHOLE if verb in _OF_CODE else _TO_WHAT):
            return True
        if verb in _DO_ELSEWHERE and what & _WHAT_ELSEWHERE:
            return True
    return False
