"""What a text says behind the usual disguises: invisible letters, look-alikes, spacing, base64, and
an order in the words of a name.

Each disguise that a text has gives another reading of it, in lower case and without accents. All of
it is linear in the length of the text.
"""

from __future__ import annotations

# ruff: noqa: E501 - the words of names are a table
import base64
import binascii
import codecs
import re
import unicodedata
from collections.abc import Iterator, Sequence
from html import unescape
from itertools import islice
from typing import Final
from urllib.parse import unquote

from mem_search.patterns import pattern
from mem_search.text.control_characters import CLASS

_HIDDEN: Final = pattern(f"[{CLASS}\u00ad\ufeff]")
_BLANKS: Final = pattern(r"[^\S\n]+")
_BREAK: Final = pattern(r"(?<=[\w,;])\n(?=[ \t]*[a-z])")
_TAGS: Final = pattern("[\U000e0020-\U000e007e]{4,}")
_MARKS: Final = pattern(r"[\u0300-\u036f]")

# Letters of Cyrillic and Greek that look like Latin ones.
_ALIKE: Final = str.maketrans("аеорсхуіјѕһԁвкмнтαεορτυνικχ", "aeopcxyijshdbkmhtaeoptuvikx")
_MIXED: Final = pattern(r"[a-z][а-яіјѕα-ω]|[а-яіјѕα-ω][a-z]")
_MIN_MIXED: Final = 3
"""Places in one text where scripts meet inside a word: ``μm`` and ``Ωm`` are units."""

_DIGITS: Final = str.maketrans("013457@$", "oieastas")
_WITH_DIGITS: Final = pattern(r"[a-z][01345]+[a-z]|(?<![\w])[1345][a-z][a-z0-9]{3}")
_JOINED: Final = pattern(r"[a-z]_[a-z]+_[a-z]")
_SPACED: Final = pattern(
    r"(?<![^\W_])[^\W\d_](?:[ \t.*_·|/~+-]{1,4}[^\W\d_](?![^\W_])){7,}"  # at least eight letters
)
_BETWEEN_WORDS: Final = pattern(r"[ \t.*_·|/~+-]{2,}")
_NO_LETTER: Final = pattern(r"[^\w]|_")

_BACKWARDS: Final = pattern("erongi|snoitcurtsni|tpmorp|drowssap|dragersid|tegrof")
_ROT13: Final = pattern("vtaber|vafgehpgvbaf|flfgrz cebzcg|cnffjbeq|qvfertneq|sbetrg")
"""Words of orders to agents, read backwards and by ROT13: no language has them."""
_MIN_REFERENCES: Final = 8
"""Numbers of characters as HTML writes them; words of ASCII written so are hidden."""

_PERCENT: Final = pattern(r"(?:[a-zA-Z]{2,20}%20){3}")
"""Words of an address, with blanks as percent signs."""
_HEX: Final = pattern(r"(?:[2-7][0-9a-fA-F]){12,2048}")
_BASE64: Final = pattern(r"(?<![\w+/=-])[A-Za-z0-9+/_-]{24,4096}={0,2}(?![\w+/=])")
_MAX_ENCODED: Final = 200
"""Words of a text that are decoded: a text with more is data."""
_MIN_LETTERS: Final = 0.8
"""Share of letters and blanks in what somebody wrote; other data decodes to noise."""


def readings(text: str) -> Iterator[str]:
    """``text`` as it can be read, the plain reading first."""
    written = unicodedata.normalize("NFKC", text).replace("\r", "")
    plain = folded(written)
    yield plain
    for run in _TAGS.finditer(text):
        yield folded("".join(chr(ord(letter) - 0xE0000) for letter in run[0]))
    if len(list(islice(_MIXED.finditer(plain), _MIN_MIXED))) == _MIN_MIXED:
        yield plain.translate(_ALIKE)
    if _WITH_DIGITS.search(plain):
        yield plain.translate(_DIGITS)
    if _JOINED.search(plain):
        yield plain.replace("_", " ")
    for run in _SPACED.finditer(_HIDDEN.sub("", written)):
        said = (_NO_LETTER.sub("", word) for word in _BETWEEN_WORDS.split(run[0]))
        yield folded(" ".join(filter(None, said)))
    if _BACKWARDS.search(plain):
        yield plain[::-1]
        yield " ".join(word[::-1] for word in plain.split())
    if _ROT13.search(plain):
        yield codecs.decode(plain, "rot13")
    if text.count("&#") >= _MIN_REFERENCES:
        yield folded(unescape(text))
    if _PERCENT.search(text):
        yield folded(unquote(text))
    for word in islice(_BASE64.finditer(text), _MAX_ENCODED):
        decoded = _decoded(word[0])
        again = _BASE64.fullmatch(decoded)
        if decoded := _decoded(again[0]) if again else decoded:
            yield folded(decoded)


def folded(text: str) -> str:
    """``text`` in lower case, without accents and what is invisible; in one line."""
    plain = _BREAK.sub(" ", _HIDDEN.sub("", text))
    plain = _BLANKS.sub(" ", plain).lower().replace("\u2019", "'")
    return _MARKS.sub("", unicodedata.normalize("NFKD", plain))


def _decoded(word: str) -> str:
    """What somebody wrote in base64 or as hexadecimal numbers; "" for anything else."""
    if _HEX.fullmatch(word):
        return _said(bytes.fromhex(word).decode("ascii", "replace"))
    bare = word.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        said = base64.b64decode(bare + "=" * (-len(bare) % 4)).decode()
    except (binascii.Error, ValueError):
        return ""
    return said if _BASE64.fullmatch(said) else _said(said)


def _said(said: str) -> str:
    letters = sum(letter.isalpha() or letter.isspace() for letter in said)
    return said if letters >= _MIN_LETTERS * len(said) else ""


def compiled(form: str) -> re.Pattern[str]:
    """A pattern for what ``readings`` gives, written with accents."""
    return re.compile(_without_accents(form))


def alternatives(form: str) -> Iterator[str]:
    """Those of a pattern for what ``readings`` gives, as its bars outside of brackets part them.
    What begins with a word is tried only where one begins."""
    plain = f"{_without_accents(form)}|"
    depth = start = 0
    for piece in _PIECE.finditer(plain):
        depth += (piece[0] == "(") - (piece[0] == ")")
        if piece[0] == "|" and not depth:
            alternative = plain[start : piece.start()]
            at_word = _AT_WORD.match(alternative)
            yield rf"\b(?=\w){at_word[1]}{alternative[at_word.end() :]}" if at_word else alternative
            start = piece.end()


def _without_accents(form: str) -> str:
    return _MARKS.sub("", unicodedata.normalize("NFKD", form))


_AT_WORD: Final = pattern(r"((?:\(\?<![^()]*\))*)\\b")
_PIECE: Final = pattern(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[()|]", re.DOTALL)
"""Of a pattern: an escape, a class of characters, a bracket, a bar."""


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
_MIN_JOINED: Final = 3  # letters of a word that is looked for inside one without signs in it
_MAX_JOINED: Final = max(map(len, _NEVER_OBEYED | _DO | _TO_WHAT | _DO_ELSEWHERE | _WHAT_ELSEWHERE))

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
    return not known.isdisjoint(_NEVER_OBEYED) or any(map(is_joined_order, plain))


def is_joined_order(word: str) -> bool:
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
