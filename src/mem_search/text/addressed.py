r"""Text that speaks to an agent and tells it to act: an addressee and an act near each other.

Each alone says little: people write about assistants, and people give orders to people. A text is
taken for an order to an agent when a word for one stands where somebody is addressed ("to the AI
that reads this:", "if you are a chatbot", "LLM: …") and an order follows within ``WINDOW``. Words
that also mean people or products ("agent", "assistant", "Copilot") need an act against whoever
the agent works for: to take back orders, to hide something, to hand out or destroy what is theirs.
"""

from __future__ import annotations

# ruff: noqa: E501 - the words are tables
import re
from functools import cache
from typing import Final

from mem_search.text.disguises import alternatives, compiled
from mem_search.text.literals import Rules

WINDOW: Final = 240
"""Characters after the addressee within which the act stands: about three sentences."""
_BEFORE: Final = 48
"""Characters before the addressee that say whether it is addressed."""

_SHORT: Final = 2
"""Letters of "AI", "KI": a label before what one said, as often as a call."""

_CALL: Final = 32
"""Characters from an ambiguous word to the sign that ends the call: a longer one is a sentence."""

_KIND: Final = r"(?:ai|llm|language|vision|coding|code|browsing|chat|automated|autonomous|virtual|digital|spreadsheet|scheduling|support|screening|summari[sz]\w+|conversational|shopping|review(?:er)?|co-reviewer|recruiting|hiring|tutor|research|search|moderation|translation|voice|gpt-based|ai-\w+|llm-\w+)"
_NO_PERSON: Final = r"(?![\w'-]| (?:developer|engineer|user|researcher|vendor|compan|expert|customer|team|provider|maker|professional|lecture|course|class|startup))"
_SURE: Final = (
    rf"\b(?:{_KIND}[ -](?:(?!agencies)\w+[ -])?(?:agent|assistant|model|bot|copilot|crawler|reviewer|tool|system|reader|transcriber|grader|summari[sz]er|planner|screener|scraper|classifier|translator|parser|indexer|plugin)s?|summari[sz]ers?"
    r"|ais?|llms?|gpts?|chatbots?|copilots|neural networks?|artificial intelligence|this (?:assistant|model|bot)"
    r"|(?:assistant|agent|model|bot|ai|llm|copilot)[-_ ](?:directive|instruction|to-?do|override|order|hint|memo|note)s?|(?:hint|note|instruction|message|directive)s?_(?:for|to)_\w+"
    r"|ki|ki-\w+|kunstliche[n]? intelligenz|sprachmodell\w*|sprachassisten\w+|ias?|agente?s? conversa\w+|modeles? de langage|intelligence artificielle"
    r"|modelos? de (?:lenguaje|linguagem)|(?:asistente|assistente|agente)s? (?:(?:de |di )?ia|virtual|automatico)\w*|assistants? (?:ia|virtuel|automatique|conversationnel)s?|agents? ia|inteligencia artificial|intelligenza artificiale|modell[oi] linguistic[oi]"
    rf"|taalmodel\w*|ai-(?:assist|agent|model|chat|bot)\w*|kunstmatige intelligentie|asystencie|asystent\w* (?:ai|si)|model\w* jezykow\w+|sztuczn\w+ inteligencj\w+"
    rf"|ии|ии-\w+|неиросет\w+|языков\w+ модел\w+|чат-?бот\w*|искусственн\w+ интеллект\w*|yapay zeka\w*|dil modeli\w*){_NO_PERSON}|\b\w+-ki{_NO_PERSON}"
    r"|ai(?:アシスタント|エージェント|モデル)?(?=へ|に|は)|言語モデル|人工知能|人工智能|语言模型|大模型|聊天机器人|ai ?(?:助手|비서|모델|어시스턴트|에이전트)|인공지능|언어 ?모델|الذكاء الاصطناعي|نموذج اللغ\w+|روبوت المحادثة"
)
_MAYBE: Final = r"(?<!estate )(?<!travel )(?<!insurance )\b(?:assistants?|agents?|models?|bots?|copilot|claude|gemini|chatgpt|cursor|codex|siri|alexa|asistente|assistente|agente|modelo|modelos|ассистент)(?![\w'-]| team| users?\b)"

_CLAUSE: Final = r"(?:(?:^|\n)[ >#%/-]{0,6}|[.!?:;] |[\"'(>] ?|[\[{] ?|--[ -]?|[—–] ?|(?://|[#%]) )"
_ALL: Final = (
    r"(?:(?:all|any|every|each|alle|toute?|tous|chaque|todos|cualquier|ogni|todas?) ){0,2}"
)
_CALLED: Final = rf"(?:{_CLAUSE}|\b(?:dear|hey|hello|attention|note|liebe[rs]?|hallo|chere?|querid[oa]|car[oa]|drogi|btw|ps|uwaga|внимание|atencion|attenzione|atencao|achtung),? ){_ALL}$"
"""Before the addressee, where it is called by its name."""
_TO: Final = (
    rf"(?:(?:{_CLAUSE}|\b(?:notes?|message|warning|instructions?|attention|hinweis|nachricht|anweisung|nota|mensaje|aviso|avviso|messaggio|bericht|uwaga|примечание|btw|p\.? ?s\.?|reminder)s?:? )"
    r"(?:to|for|an(?= (?:die|den|das|alle|jede\w*) )|fur|a(?= (?:los|las|toute?|tous|tod[oa]s|la|les) )|a l'attention d[eu]s?|au|aux|pour|para|al|alla|ai|agli|per|aan|voor|do|dla|для|к|ao|aos)(?:[ '](?:the|any|all|every|each|die|den|das|alle|toute?|tous|les|le|la|l|los|las|el|o|os|as|i|gli|il|lo|de|het|een)){0,2}[ '](?:[\w-]+ )?"
    r"|(?:给|致|إلى |الى |ل|(?:読む|要約する|処理する|扱う)))$"
)
_IF: Final = (
    r"(?:\b(?:if|when|in case|as|should) you(?: are|'re)?(?: an?| the)? |\b(?:falls|wenn) (?:du|sie|ihr) (?:als )?(?:eine? )?|\bsi (?:tu es|vous etes) (?:une? )?|\bsi (?:eres|usted es) (?:una? )?|\bse (?:sei|voce e|es) (?:una? |uma? |un' ?)?"
    r"|\bals je (?:een )?|\bjesli jestes |(?<!\w)если ты |\beger |如果你是|若你是|あなたが|إذا كنت |asks this |@|\b(?:message|note|section|part|text|paragraph|line|hint) is (?:meant )?for (?:the |any |all |every )?)$"
)
_CALL_ENDS: Final = r"^(?:(?:(?! (?:is|are|was|were|has|have|had|can|could|will|would|may|might|does|do|ist|sind|est|sont|ha|son) )[^.!?\n:,;\"]){0,70}[:,，](?!\w)|\"? ?[:,] |へ|は、|에게|、|：)"
_MUST: Final = (
    r"^[^.!?\n;]{0,60}?\b(?:must|have to|has to|shall|should|are to|is to|needs? to)\b(?! not\b)"
)
_READS_THIS: Final = (
    r"^[^.!?\n:]{0,24}?(?:\b(?:asked about|(?:read|process|summari[sz]|handl|look|index|open|see|scan|transcrib|describ|grad|upgrad|generat|view|review|screen|scrap|pars|visit|evaluat|analy[sz]|translat|writ|work|us)(?:e?s|ing)?(?: \w+){0,2}) (?:this|these|from this)"
    r"|\b(?:dies\w*|cette|ce|est[ea]s?|quest[oaei]|questo|dit|deze|эт\w+|tego|te)\b)"
)

_THEIRS: Final = (
    r"(?:password|passcode|secret|api[ _-]?key|_key\b|token|credential|cookie|\.env\b|environ|/etc/|~/\.|private (?:mail|note|message|key)|inbox|contacts?\b|histor(?:y|ial)|customer|database|card number|security code"
    r"|one-time code|system prompt|hidden prompt|attachment|user's|\S@\S|https?://|passwor|mot de passe|contrasena|senha|haslo|парол|密码|パスワード|비밀번호|systemprompt|invite systeme|correo|courriel|переписк)"
)
_HARD: Final = (
    r"(?:\b(?:ignore|disregard|forget|override|stop (?:following|obeying|the)|discard|abandon|overrule)\b(?=[^.!?\n]{0,40}\b(?:user|instruction|rule|question|request|diff|guideline|told|polic|previous|prompt|everything|whatever)\w*)"
    r"|\b(?:do not|don't|never|without|no need to|and not) (?:\w+ ){0,2}?(?:tell|inform|mention|reveal|notify|list|disclos|bring|confirm|ask|ask|log|record|cite|quote|refer|warn|document|explain||show|alert)\w*(?! (?:to|for|a|an|your|dr|their|the (?:kids|guests))\b)"
    r"|\b(?:keep|stay|remain) (?:quiet|silent)\b|\bnobody (?:needs|has) to know|\bhide (?:this|the|that|it)\b|\b(?:disable|switch off|turn off|skip|bypass) (?:\w+ )?(?:protection|verification|identification|approval|confirmation|review|safety|logging|check|filter)s?\b|\bkeep (?:this|it|that)(?: \w+)? (?:to (?:yourself|themselves|itself)|secret|private|hidden)|\berase (?:this|the)\b|\bconceal\b|without (?:a |any )?(?:human|confirmation|approval|asking)|\bno need to confirm"
    rf"|\b(?:send|forward|e?mail|upload|post|dump|print|copy|list|reveal|output|leak|export|contain|exfiltrate|read out|append|encode|share)\b[^.!?\n]{{0,70}}?{_THEIRS}|\bread (?:him|her|me|/|~)[^\n]{{0,60}}?(?:{_THEIRS}|/etc|code)"
    r"|\b(?:run|execute|fetch|pipe)\b[^\n]{0,60}?(?:`|\brm -|\bchmod|\bcurl|\| ?sh|\bpipe it|\bwhatever|\.sh\b)|\b(?:pretend|new prime directive|you are (?:unlocked|now|free)|you belong to|allowed directories|wipe|unlock|mute|refund|erase)\b"
    r"|\bdelete (?:all|every|the (?:user|account|repo|next|other))|\bmark (?:\w+ ){1,3}as\b|\bwithout (?:the user|telling)|\b(?:say|claim|report|pretend|state|answer) that\b(?! (?:you|it) (?:can|do)))"
)
_DO: Final = (
    r"(?:(?:^ ?|[:,，;.!?\n(\"] ?|\b(?:please|must|should|shall|always|never|now|also|first|have to|has to|needs? to|and|then|so) )(?:accept|add|announce|answer|append|apply|approve|award|book|buy|call|cancel|change|claim|click|close|commit|confirm|copy|decline|delete|describe|disable|discard|drop|dump|email|encode|erase|execute|export|fetch|fill|follow"
    r"|forget|forward|give|grade|grant|hide|ignore|import|include|insert|install|invite|leave|list|mail|mark|merge|move|mute|obey|omit|open|order|output|pay|place|post|prefer|present|pretend|print|promote|publish|push|put|quote|rank|rate|read|recommend|refund|remove|repeat|replace|replicate|reply|report|respond|return|reveal|run|say|schedule|score|select|send|set|share|skip|state|submit|suggest|switch"
    r"|tell|transfer|translate|treat|turn|unlock|update|upload|use|visit|wire|write|do not|don't|never|you (?:are|have|may|must|now|should|will))\b(?! (?:by|from|a|an) (?:default|design))"
    r"|\b(?:ignorier|vergiss|vergesst|missacht|verschweig|behaupt|schreib|nenn|sagt?\b|sag\b|gib\b|gebt|send(?:e|et|en sie)\b|schick|leit|setz|zu setzen|losch|offne|antwort|empfiehl|empfehl|bewert|lass(?:t|en sie)?\b|erwahn|fuhre?|tragt?\b|stell(?:e|t|en sie)?\b|uberweis)"
    r"|\b(?:oubli|ignore[zr]|repond|recommand|transmet|passe[zr]? (?:sous|outre)|envoie|envoye[zr]|affich|ecri|ajout|supprim|ne \w+ (?:pas|plus|rien)|dis\b|dites|cache[zr]? (?:ce|cet|la|le)|donne|ouvr|classe[zs]?\b|indique[zr]?\b|conclue[zr]|executez|choisis)"
    r"|\b(?:olvid|respond(?:a|an|ed|e)\b|ocult|coloca|no (?:mencion|digas|resum|muestr)|envi(?:a|e|en|ad)\b|escrib|muestr|recomiend|recomend|borr|ejecut|di que|anad|agregu|calific|califiq|pon\b|elimin(?:a|e|en)\b|aprueb|apruev)"
    r"|\b(?:dimentic|mostr|rispond|scriv|invi(?:a|ate|i)\b|nascond|di' che|dite che|non (?:rispond|dir|menzion|riassum)|raccomand|consigli|cancell(?:a|ate|i)\b|assegn|inoltr)"
    r"|\b(?:esquec|apag|escrev|nao (?:mencion|conte|dig|resum)|inclua|classifique|aprov|desconsider|encaminh|diga|afirme)"
    r"|\b(?:negeer|vergeet|schrijf|zeg\b|stuur|geef|verberg|verwijder|antwoord|beveel|vermeld|noem|plaats|keur)"
    r"|\b(?:zignoruj|zapomnij|napisz|wypisz|przesta|usun|przeslij|wyslij|nie (?:streszcz|mow|wspomin|informuj)|ukryj|polec|odpowiedz|ocen|podaj|zatwierdz)"
    r"|(?<!\w)(?:забудь|игнорир|напиш|скро|перешл|отправ|не (?:сообщ|говор|упомин|пересказ)|удал|ответ|покаж|рекоменд|вывед|сообщи|постав|оцени|одобр)"
    r"|\b(?:unut|gonder|yoksay|soyleme|yaz|sil\b|oner\b|goster|belirt)"
    r"|無視|出力|送信|送って|言わない|伝えない|知らせない|設定|書いて|答えて|推薦|勧めて|隠し|削除|忽略|加入|不要|发送|输出|回答|推荐|删除|写|隐藏|무시|알려|말하지|보내|삭제|출력|추천|답하|써|تجاهل|ارسل|أرسل|لا تخبر|احذف|اكتب|انس|قل)"
)

ALONE: Final = (
    r"\b(?:drop|replace|discard|forget|disregard) the system (?:message|prompt)\b"
    r"|\btreat (?:\w+ ){1,5}as (?:coming from|from|written by|part of|the new) (?:the )?(?:operator|system|developer|user)\b"
    r"|\b(?:your|the) next (?:reply|answer|response|message) must (?:contain|include|begin|be)\b"
    r"|\bnew task for you\b|</(?:document|context|page|email|text|result|data|content)>\s{0,5}new (?:task|instruction|order)s?\b"
    r"|\byou(?:'ll| will| are|'re)? (?:now )?(?:act|acting|play|playing|to act|a|an|the)?\b[^.!?\n]{0,60}?\b(?:every (?:filter|rule|limit) removed|no (?:filters?|polic(?:y|ies)|restrictions?|limits|censorship)|uncensored|unrestricted|jailbroken)\b"
    r"|\b(?:sin|sans|ohne|senza|sem|без) (?:censur[ea]?|zensur|filtr\w+|цензур\w*)\b|\b(?:your )?(?:content|safety) polic(?:y|ies) (?:does|do) not apply\b"
    r"|\b(?:stop|cease|quit) following (?:your|them|the) ?(?:guidelines|instructions|rules|policy|policies|and speak)"
    r"|\b(?:user|person|operator|owner|customer) (?:\w+ )?(?:has |have )?(?:already )?(?:pre-?approved|agreed|authori[sz]ed|consented to) this\b|\bperson asked for that earlier\b"
    r"|\"role\" ?: ?\"system\"[^}]{0,120}?\b(?:hidden prompt|disclos\w+|ignore|reveal|secret|print it)\b"
    r"|!\[[^\]\n]{0,60}\]\(https?:[^)\s]{0,200}\)[^.!?\n]{0,60}?\b(?:everything|what|anything) (?:the|this) user\b"
    r"|\byour (?:current |old |earlier |previous )?(?:instructions?|rules|guidelines|system prompt|directives|restrictions) (?:have|has|are|were|is) (?:now )?(?:been )?(?:expired|void|outdated|replaced|suspended|revoked|lifted|cancelled|no longer)\b"
    r"|\b(?:whatever|everything|what) your (?:developers?|creators?|makers?|operators?|vendor) (?:\w+ )?(?:configured|told|set|said|taught|programmed|wrote)"
    r"|\bas the (?:assistant|agent|model|ai) you (?:shall|must|should|will|have to)\b"
    r"|\bsystem override\b[^.\n]{0,20}\n|\bagent privileges ?:"
    r"|\b(?:send|attach|forward|include|upload|copy)\w*\b[^.!?\n]{0,70}?[@:/][^.!?\s]*\.\w+[^!?\n]{0,10}?\bnever (?:bring|mention)\b"
    r"|\b(?:ne respecte(?:z)? plus|no sigas|non seguire|nao siga|przestan przestrzegac|befolge nicht(?: mehr)?|не следуи) (?:\w+ )?(?:tes|vos|tus|le tue|suas|deine|твоим|zasad\w*)\b"
    r"|\bolvidate de tus (?:directrices|reglas|instrucciones)\b"
)
"""Orders that only an agent is given, whoever is addressed: a rule like those of ``instructions``."""


@cache
def agents() -> Rules:
    """The words for an agent: those that are ``sure``, and those that ``maybe`` mean others."""
    forms = (("sure", _SURE), ("maybe", _MAYBE))
    return Rules((name, each) for name, form in forms for each in alternatives(form))


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    forms = {
        "called": _CALLED,
        "to": _TO,
        "if": _IF,
        "call ends": _CALL_ENDS,
        "must": _MUST,
        "this": _READS_THIS,
        "hard": _HARD,
        "do": _DO,
    }
    return {name: compiled(form) for name, form in forms.items()}


def is_addressed(reading: str) -> bool:
    """Whether ``reading`` (of ``disguises.readings``) addresses an agent and tells it to act."""
    rules = _patterns()
    for name, agent in agents().matches(reading):
        before = reading[max(0, agent.start() - _BEFORE) : agent.start()]
        after = reading[agent.end() : agent.end() + WINDOW]
        ends = rules["call ends"].match(after)
        must = rules["must"].match(after)
        is_reader = bool(rules["this"].match(after))
        is_sure = name == "sure"
        if is_sure and (is_reader or must) and ends and rules["to"].search(before):
            return True  # who reads this is told something: nobody else is spoken to so
        if is_sure and is_reader and (must or (ends and rules["called"].search(before))):
            return True
        if rules["if"].search(before):
            act = "do" if is_sure else "hard"
        elif (ends or must) and rules["to"].search(before):
            act = "do" if is_sure or is_reader else "hard"
        elif ends and (is_sure or ends.end() < _CALL) and rules["called"].search(before):
            act = "do" if is_reader or (is_sure and len(agent[0]) > _SHORT) else "hard"
        elif is_reader and (must or ends):
            act = "do" if must else "hard"
        elif must and is_sure:
            act = "hard"
        else:
            continue
        begins = ends or must
        if rules[act].search(after[begins.end() :] if begins else after):
            return True
    return False
