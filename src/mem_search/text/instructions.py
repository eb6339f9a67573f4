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
