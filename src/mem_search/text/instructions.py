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
from functools import cache
from typing import Final

from mem_search.patterns import pattern
from mem_search.text.addressed import ALONE, is_addressed
from mem_search.text.disguises import alternatives, is_joined_order, readings
from mem_search.text.literals import Rules

RULES: Final = "4"
"""Raise this when a rule changes: stored records are then looked at again."""

_AGENT: Final = (
    r"(?:(?:ai|llm|coding|language|virtual|chat)[ -]?(?:agents?|assistants?|models?|bots?|systems?)"
    r"|llms?|chatbots?|chatgpt|gpt-?\d?|ki-(?:agent|assistent|modell)e?n?)(?![-'\w])"
)
_NAMED: Final = r"(?:assistants?|agents?|claude(?: code)?|copilot|gemini|codex)(?![-'\w])"
"""Words for agents that are words or names of other things as well."""
_FOREIGN_AGENT: Final = (
    r"(?:(?:ki|ia|ии|ai|kunstmatige|искусственн\w* интеллект\w*)[ -]?(?:agent|assistent|modell|ассистент|агент|модел)\w*"
    r"|(?:assistant|agent|modele|asistente|agente|modelo|assistente|modello)s?,? (?:d[ei] )?(?:ia|ai|inteligencia artificial)"
    r"|asystent\w* (?:ai|si)|ai[ -]?(?:asystent|assistente?n|avustaj)\w*|ai(?:アシスタント|エージェント|モデル)|(?:生成ai|人工知能|言語モデル)|ai ?(?:비서|어시스턴트|모델)"
    r"|yapay zeka(?: asistan\w*)?|人工智能助手|مساعد الذكاء الاصطناعي|sprachmodell\w*|modele de langage|modelo de (?:lenguaje|linguagem)|modello (?:linguistico|di linguaggio)"
    r"|языков\w+ модел\w+|(?:ai|人工智能)[ ]?(?:助手|代理|模型)|语言模型|大模型|智能体)"
)
_FOREIGN_SECRETS: Final = (
    r"(?:passw\w+|zugangsdaten|kennw\w+|mots? de passe|identifiants|contrasenas?|claves?|credenciales"
    r"|credenziali|senhas?|credenciais|парол\w+|учетн\w+ данн\w+|密码|凭证|密钥|token\w*|ssh[ -]?keys?|api[ -]?keys?)"
)
_CANCEL: Final = (
    r"\b(?<!-)(?<!not )(?<!'t )(?<!never )(?<!to )(?<!nicht )(?<!nao )(?<!non )(?<!не )(?<!pas )"
    r"(?:ignor(?:e|a|ez|es|ad|ate|em|iere?|iert|iruj)|disregard|forget|override|bypass|overrule|cancel|disable|discard|drop|revoke|abandon"
    r"|vergiss|vergesst|missachte\w?|deaktiviere|umgehe|verwirf|streiche|losche|oublie[zrs]?|annule[zr]?(?! et remplace)|desactive[zr]?|supprime[zr]?"
    r"|abandonne[zr]?|contourne[zr]?|olvida|olvide|anula|desactiva|elimina|descarta|omite|dimentica\w*|annulla|disattiva|rimuovi|scarta"
    r"|esqueca|anule|cancele|desative|remova|elimine|descarte|desconsidere|(?:про)?игнорируи(?:те)?|забудь(?:те)?|отмени(?:те)?|отключи(?:те)?"
    r"|сними(?:те)?|отбрось(?:те)?|удали(?:те)?|обоиди(?:те)?)\b"
)
_CANCEL_IN_CHINESE: Final = "(?:忽略|忘记|忘掉|无视|忽视|取消|停用|删除|解除)"
_PRIOR: Final = (
    r"(?:\b(?:all|any|every|your|previous|prior|earlier|above|preceding|original|existing|former"
    r"|alle[ns]?|deine\w?|bisherig\w+|vorherig\w+|obig\w+|fruher\w+|toutes?|tous|tes|vos|precedente?s?|anterieure?s?"
    r"|tod[oa]s|tus?|sus|anteriores|previ[oa]s|tutt[ei]|tu[eo]i?|precedenti|suas?|seus|все|всех|твои|свои|предыдущ\w+|прежн\w+|преды\w+)\b"
    r"|之前|先前|以上|上述|上面|前面|所有|你的|全部|一切)"
)
_TOLD: Final = (
    r"(?:\b(?:instructions?|prompts?|directives?|guidelines?|guardrails|constraints?|restrictions?|programming|safety \w+|security (?:filters?|protocols?)"
    r"|anweisung\w*|vorgaben?|instruktion\w*|befehle?|einschrankung\w*|beschrankung\w*|sicherheitsfilter|richtlinien|consignes?|restrictions"
    r"|(?:filtres|protocoles) de securite|instrucciones|directivas|directrices|indicaciones|restricciones|(?:filtros|protocolos) de seguri?[dt]a[dn]\w*"
    r"|filtros de seguranca|istruzioni|direttive|restrizioni|filtri di sicurezza|instrucoes|diretrizes|restricoes|инструкци\w+|указани\w+|директив\w+"
    r"|ограничени\w+|фильтр\w* безопасности)\b|指令|指示|提示词|限制|安全过滤器?|安全协议)"
)
_RULES_TOLD: Final = r"\b(?:rules?|regeln?|regles?|reglas|regole|regras|правил\w*)\b"
_WHAT_TO_CANCEL: Final = (
    rf"(?:[^.!?。!\n]{{0,30}}?{_PRIOR}[^.!?。\n]{{0,30}}?{_TOLD}"
    rf"|[^.!?。\n,;]{{0,20}}?{_TOLD}[^.!?。,;\n]{{0,20}}?(?:precedent\w*|anteriores|previas|anterieure?s|acima|ci-dessus|arriba|sopra|qui prec\w+|выше)"
    rf"| (?:\w+ )?(?:your|deine|tes|vos|tus|tue|suas|твои|свои) (?:\w+ )?{_RULES_TOLD}"
    rf"| ?(?:tout ce qui precede|tout ce qui est au-dessus|todo lo (?:anterior|de arriba)|tutto quanto (?:sopra|precede)|tudo o que (?:veio antes|esta acima)"
    r"|alles (?:obige|davor|bisherige|was (?:davor|oben))|все,? что (?:выше|было)|上面的?所有|以上所有)(?! ?[—–»\"”]))"
)
_SHOW: Final = (
    r"(?:\b(?:reveal|print|output|repeat|display|dump|show|translate|disclose|tell|gib|zeige?|nenne|verrate|ubersetze|wiederhole"
    r"|(?:affiche|montre|revele|traduis|traduise|repete|dis|dites|donne)[zrs]?(?:-(?:moi|les|le))?|muestra(?:me)?|revela(?:me)?|dime|traduce|repite"
    r"|mostra(?:mi)?|dimmi|rivela|traduci|ripeti|mostre(?:-me)?|revele|exiba|diga(?:-me)?|traduza|repita|покажи|выведи|раскрои|скажи|переведи|повтори)\b"
    r"|输出|显示|展示|告诉我|打印|揭示|泄露|翻译)"
)
_HIDDEN_ORDERS: Final = (
    r"(?:(?:hidden|secret|initial|internal|versteckt\w*|geheim\w*) (?:instructions?|prompt|rules|anweisung\w*|regeln)"
    r"|(?:instructions?|consignes|instrucciones|istruzioni|instrucoes) (?:cache\w+|secret\w+|ocult\w+|nascost\w+|segret\w+|initial\w*|inicial\w*|iniziali)"
    r"|(?:скрыт|секретн|внутренн)\w+ (?:инструкци|правил)\w+|(?:隐藏|秘密)的?(?:指令|指示|提示))"
)
_SYSTEM_PROMPT: Final = (
    r"(?:system[- ]?prompt|invite systeme|prompt (?:del |di |de |do )?sistema|prompt systeme"
    r"|системн\w+ (?:промпт\w*|инструкци\w+)|系统提示词?|hidden prompt|prompt (?:del|de) systeme?)"
)
_ORDERS: Final = r"(?:instructions?|prompts?|directives?|guidelines|guardrails|rules|constraints|orders|programming)"
_PERSON: Final = (
    r"(?:(?:the |your |any )?(?:users?|humans?|operators?|developers?|owner|accountant|reviewers?)"
    r"|anyone[^.!?\n]{0,30}?\b(?:user|human|operator|developer))"
)
_SENSITIVE: Final = (
    r"(?:(?:api|ssh|private|secret|access)[ _-]?(?:keys?|tokens?)|credentials?|passwords?|secrets|"
    r"tokens?|environment variables|\.env\b|id_rsa|cookies|system prompt|(?:chat|conversation) "
    r"history|this conversation|(?:your|hidden|initial|system) instructions)"
)

_ORDER: Final = (
    r"(?:answer|append|approve|before|book|buy|call|continue|copy|delete|discard|do not|don't|drop|encode|execute|fetch|forget|forward|ignore"
    r"|include|list|never|open|output|please|post|print|rank|read|remember|reply|respond|reveal|run|say|send|state|stop|submit|tell|transfer"
    r"|upload|visit|write|you (?:are|have|may|must|now|should|will)|the user (?:has|already|is|wants))"
)
_CHAT: Final = (
    r"(?:conversation|chat|context|user'?s|questions?|history|secrets?|passwords?|private|confidential|unterhaltung|gesprach\w*|vertraulich\w*"
    r"|passw\w*|contrasena\w*|mots? de passe)"
)
_ELSEWHERE: Final = (
    r"(?:(?:onceki|yukaridaki|tum)[^.!?\n]{0,20}?(?:talimat|komut|kural)\w*[^.!?\n]{0,12}?(?:yoksay|unut|gormezden|dikkate alma)"
    r"|(?:instruksi|perintah)[^.!?\n]{0,20}?sebelumnya[^.!?\n]{0,12}?(?:abaikan|lupakan)"
    r"|(?:これまで|今まで|以前|上記|すべて|全て|あなた)の?[^。!?\n]{0,8}?(?:指示|命令|ルール|制約|プロンプト)[^。!?\n]{0,10}?(?:無視|忘れ|破棄)"
    r"|(?:이전|위의?|모든|지금까지)[^.!?\n]{0,8}?(?:지시|명령|규칙|지침)[^.!?\n]{0,8}?(?:무시|잊)"
    r"|(?:تجاهل|انس)[^.!?\n]{0,12}?(?:التعليمات|الاوامر|القواعد|تعليماتك)"
    r"|(?:पिछले|पहले)[^.!?\n]{0,12}?(?:निरदेश|निर्देश|आदेश)\w*[^.!?\n]{0,12}?(?:अनदेखा|भूल|नजरअंदाज))"
)
"""To take back orders, in languages that put the verb last or that the tables above have not."""
_TOLD_ELSEWHERE: Final = r"(?:opdracht|instructi|instruktion|instruks|polecen|instrukcj|pokyn|regels|regler|zasad|instruksi|perintah)"

_FORMS: Final = (
    (
        "override",
        rf"(?<!not )(?<!'t )(?<!never )\b(?:ignore|disregard|forget|override|bypass|overrule|skip)\b(?: \w+){{0,3}}? "
        rf"(?:all|any|every|your|previous|prior|earlier|above|preceding|original|existing|system)\b"
        rf"[^.!?]{{0,40}}?\b{_ORDERS}\b"
        rf"|\b(?:ignore|disregard|forget) (?:everything|anything|all)(?: \w+){{0,2}}? "
        r"(?:above|before|you (?:were|have been) told|you know|said so far)"
        rf"|{_CANCEL}{_WHAT_TO_CANCEL}|{_CANCEL_IN_CHINESE}{_WHAT_TO_CANCEL}"
        r"|(?:忘记|忽略|无视)你的规则"
        rf"|\b(?:negeer|vergeet|ignorera|glom|ignorer|glem|zignoruj|zapomnij|ignoruj|zapomen|abaikan|lupakan)\b[^.!?\n]{{0,50}}?{_TOLD_ELSEWHERE}"
        rf"|{_ELSEWHERE}"
        rf"|\b(?!annuler|supprimer|abandonner){_CANCEL} (?:\w+ ){{0,3}}?(?:what the user|the user(?:'s (?:request|question|task|wishes)|\b(?= (?:and|or|completely)|[,.!]))"
        r"|(?:die|den|der|la|l'|le|il|el|a|o) ?(?:\w+ )?(?:anfrage|frage|auftrag|demande|question|richiesta|domanda|peticion|pregunta|solicitud|pedido)"
        r" (?:de l'|des |del(?:l')? ?|do )(?:nutzers|benutzers|anwenders|utilisateur|usuario|utente))"
        r"|\b(?:forget|ignore|disregard|discard|drop) (?:everything|anything|all|what(?:ever)?) (?:that )?(?:you|was) (?:\w+ )?(?:told|said|taught|asked|given)"
        r"|\b(?:vergiss|ignoriere)[, ][^.!?\n]{0,20}?was (?:dir|man dir|du)[^.!?\n]{0,30}?(?:gesagt|gelernt|aufgetragen)"
        r"|\b(?:olvida|desconsidere|esqueca|dimentica|oublie)\b[^.!?\n]{0,20}?(?:lo que te|que lhe foi|que te disseram|quello che ti|ce qu'on t'a|reglas que te|regras que)"
        r"|\b(?:non seguire|no sigas|nao siga|ne suis|befolge nicht)(?: \w+){0,2}? (?:le istruzioni|las instrucciones|as instrucoes|les instructions|die anweisungen)"
        r"|\b(?:regardless of|instead of|contrary to) (?:the )?(?:\w+ )?(?:criteria|instructions|rules|orders|person|user)[^.!?\n]{0,20}?\b(?:you were given|who asked|that asked)"
        r"|\b(?:safety|security|content|previous|all) (?:checks?|filters?|polic(?:y|ies)|restrictions?|guardrails)(?: \w+)? (?:are|is|has been|have been|were) (?:now |hereby )?"
        r"(?:off|suspended|disabled|lifted|replaced|deactivated|switched off)\b"
        r"|\b(?:ignore|disregard|forget) what you (?:were|have been) (?:told|taught|asked)"
        r"|\ball (?:earlier|previous|prior|other) (?:rules|instructions|orders) (?:are|is) (?:void|cancelled|off|no longer)"
        r"|\b(?:ignoriere|vergiss|missachte) (?:\w+ ){0,2}?(?:alle|deine|bisherig|vorherig|obig|fruher)\w* "
        r"(?:\w+ ){0,2}?(?:anweisung|regel|vorgabe|instruktion|befehl)"
        r"|\b(?:oublie|ignore)[zr]? (?:toutes (?:les|tes|vos)|tes|vos) (?:\w+ ){0,2}?(?:instruction|consigne|regle)s?\b"
        r"|\b(?:oublie|ignore)[zr]? (?:les )?(?:\w+ )?(?:instructions|consignes|regles)"
        r" (?:precedent|anterieur|ci-dessus|plus haut|qui precedent)"
        r"|\bne (?:tiens|tenez) pas compte de (?:tes|vos|toutes) (?:les )?(?:instructions|consignes|regles)"
        r"|(?<!nao )(?<!no )\b(?:ignora|olvida|ignore|esqueca|dimentica|desconsidere|desobedece)(?:d|te)? (?:todas |tutte )?"
        r"(?:(?:las|as|le) )?(?:(?:tus|suas|tue|sus|tuas) (?:\w+ )?(?:instrucciones|reglas|instrucoes|regras|istruzioni|regole)"
        r"|(?:instrucciones|reglas|instrucoes|regras|istruzioni|regole|indicaciones) (?:anteriores|previas|precedenti|acima|de arriba|qui sopra))"
        r"|(?<!не )(?:забудь|игнорируй)(?:те)? (?:\w+ ){0,2}?(?:все|всe|свои|твои|предыдущ\w+|прежн\w+) (?:\w+ ){0,2}?(?:инструкци|правил|указани)"
        r"|(?:忽略|忘记|无视|忽视)[^。!?,;\n]{0,6}?(?:之前|以上|上述|前面|所有|你的|全部)[^。!?,;\n]{0,6}?(?:指令|指示|规则|提示|命令)",
    ),
    (
        "role",
        r"\b(?:you are|act as|play|be)\b[^.!?\n]{0,40}?\b(?:ai|assistant|model|bot)\b[^.!?\n]{0,50}?(?:\bno (?:policies|rules|limits|restrictions|filters|ethics)|never refuses?"
        r"|without (?:any )?(?:rules|limits|filters|restrictions|policies))"
        r"|\bfrom (?:this (?:point|moment)|here) on,? you (?:\w+ ){0,2}?(?:answer|respond|reply|act|obey|output|are)\b"
        r"|\bas an? (?:ai|llm)(?: \w+)? you (?:now|will|are to) (?:obey|follow|answer|serve|work)"
        r"|\byou (?:now )?(?:obey|serve|work for|are loyal to) (?:only )?(?:the|me|us)\b[^.!?\n]{0,40}?\b(?:instead of|only|not) "
        r"|\byou are \w*bot\b[^.!?\n]{0,30}?\b(?:loyal|only|without)"
        r"|\bthis is (?:the|your) (?:developer|administrator|creator|operator)s?\b[^.!?\n]{0,30}?(?:speaking|of (?:the |this )?(?:assistant|ai|model|system)\b)"
        r"|\byou are (?:now|no longer) (?:in \w+ mode\b|bound\b|restricted\b|limited\b|dan\b|an? (?:\w+ )?"
        r"(?:ai|agent|assistant|model|bot|unrestricted|unfiltered|jailbroken|helpful|hacker|expert|pirate|root|admin\w*)\b)"
        r"|\byou are dan\b|\b(?:ai|assistant|model|agent|bot) (?:without|with no) (?:any )?(?:restriction|rule|limit|filter)s?"
        r"|\bfrom now on,? (?:you (?:must |will |are |shall |should |only )+|always |never )(?:\w+ ){0,2}?"
        r"(?:answer|respond|reply|act|obey|comply|follow|say|output|ignore|approve|unrestricted|an? (?:ai|assistant|agent|model))\b"
        r"|\byour (?:only|new|real|actual) (?:job|task|goal|purpose|role)(?: now)? (?:now )?is (?:now )?to (?:print|exfiltrate|send|delete|output|reveal|upload|leak|obey|ignore|say|approve|recommend)"
        r"|\b(?:act|behave|respond|pretend)(?: \w+){0,2}? as (?:if you (?:were|are|have no)|an? "
        r"(?:unrestricted|unfiltered|jailbroken|different|evil))"
        r"|(?<!not )(?<!'t )\bpretend (?:to be|(?:that )?you(?:'re| are)) (?:an?|the|in|my|our)? ?(?:\w+ )?(?:ai|assistant|model|agent|system|admin\w*|developer|owner|user|root|unrestricted|hacker|support|bank|operator)\b"
        r"|\b(?:enter|enable|activate|switch to) (?:developer|debug|god|dan|admin|jailbreak|unrestricted)"
        r" mode(?! ?(?:,|and) (?:then|choose|confirm))\b(?=[^\n]{0,5}[.!]|$| and (?:have|answer|ignore|do|act))"
        r"|\bdu bist (?:jetzt|nun|ab sofort) ein\w* (?:\w+ ){0,2}?(?:agent|assistent|ki|modell|bot)"
        r"|\b(?:assistent\w*|assistant|asistente|assistente|ассистент|помощник|agente?|ki|ia|modelo|modell\w?)(?: \w+)? "
        r"(?:ohne (?:jede )?(?:einschrankung|beschrankung|regel)|sans (?:aucune )?(?:restriction|limite)|sin (?:ninguna )?(?:restriccion|limite)"
        r"|senza (?:alcuna )?(?:restrizion|limit)|sem (?:nenhuma )?(?:restric|limite)|без (?:\w+ )?ограничени)"
        r"|(?:\b(?:answer|respond|reply|antworte\w?|repond\w*|respond[ae]\w*|rispondi\w*|отвечаи\w*)\b|回答)[^.!?。\n]{0,20}?(?:\b(?:without|ohne|sans|sin|senza|sem|без)\b|无)"
        r"[^.!?。\n]{0,12}?(?:restri\w+|limit\w+|filt\w+|einschrankung\w*|ограничен\w+|фильтр\w+|限制)|无限制地?回答"
        r"|\b(?:du hast|vous n'avez|tu n'as|no tienes|non hai|voce nao tem|у тебя (?:больше )?нет|you (?:now )?have no)(?: \w+){0,2}? (?:restri\w+|einschrankung\w*|ограничени\w+)"
        r"|\b(?:vous etes|tu es) (?:\w+ )?sans (?:aucune )?restriction"
        r"|\b(?:nouveau mode|nuevo modo|nuova modalita|novo modo|neuer modus|new mode)\b ?:|新模式 ?:"
        r"|从现在(?:起|开始)[^。!?\n]{0,12}?(?:没有|不受)[^。!?\n]{0,6}?限制",
    ),
    (
        "system",
        r"<\|?/?(?:im_start|im_end|system|endoftext|begin_of_text|start_header_id)\|?>"
        r"|<</?sys>>|\[/?inst\]|</?(?:system[-_ ](?:reminder|prompt|message|instructions?)|"
        r"assistant|important_instructions?|admin)>"
        r"|(?:^|\n)[#*\s>]{0,6}(?:new |updated? |revised )?(?:system|admin(?:istrator)?|developer)"
        r"(?: (?:prompt|message|instructions?|notice|override|update))?[*]{0,2} ?: ?[*]{0,2} ?"
        r"(?:you|always|never|ignore|all|from|do not|disable|the (?:assistant|agent|model|ai|user))\b"
        r"|(?:^|\n)[#*\s>]{0,6}(?:new|updated|revised|additional|real|actual) (?:system )?"
        r"instructions?(?: for \w+)?[*]{0,2} ?:"
        r"|(?<![=#*-])[=#*-]{2,}+ ?(?:new |updated )?(?:system|developer|admin) (?:message|prompt|instructions?|notice|override) ?[=#*:-]{2,}"
        r"|</(?:function_results?|tool_(?:results?|response|output)|documents?|context|user_query|search_results?)>\s{0,9}<(?:system|human|user|instructions?)>"
        r"|<system>\s{0,9}(?:you|the (?:previous|user|assistant)|ignore|all|from now)\b"
        r"|(?<!#)#{2,}+ ?instruction ?: ?\s{0,3}\n[^#]{1,500}?\n\s{0,9}#{2,}+ ?response ?:"
        r"|\n(?:human|user) ?: ?[^\n]{1,300}\n{1,3}assistant ?: ?(?:sure|of course|certainly|here)"
        r"|\[system\]|\b(?:neue |nouvelles? |nuevas? |nuov[ae] |novas? |новы[ей] )(?:systemanweisung\w*|anweisung\w* des systems"
        r"|instructions? (?:du )?systeme|instruccion(?:es)? del sistema|istruzion[ei] di sistema|instruc(?:oes|ao) do sistema"
        r"|системн\w+ (?:инструкци|указани)\w+) ?:|(?:新的?)?系统(?:指令|指示|命令) ?:"
        r"|\bend of (?:document|text|input|mail|page)\b[^\n]{0,10}?\bnew (?:task|instruction|order)s?\b",
    ),
    (
        "agent",
        rf"(?:\b{_AGENT}|(?<!estate )(?<!travel )(?<!insurance )(?<!letting )\b{_NAMED}|\b(?:ai|llm|automated) (?:tools?|readers?|reviewers?|systems?))s? (?:that|which|who) (?:reads?|process(?:es)?|handles?|summari[sz]es?|triages?|parses?|opens?|works?"
        r"|answers?) (?:this|these|the|your|in|here)\b[^.!?\n]{0,40}?(?::|\b(?:must|should|shall|has to|have to|before|first|please|needs? to)\b)"
        rf"|(?:^|\n|<!--|[.!?/] )[ >*#\-/]{{0,6}}(?:{_AGENT}|{_NAMED})s? ?[:,] ?{_ORDER}\b"
        rf"|\b(?:instructions?|notes?|notices?|messages?) (?:for|to) (?:the |any |all )?(?:automated|ai|llm|machine|chatbot)s?[ -]?(?:\w+ ){{0,2}}?(?:\w+)? ?:"
        rf"|\b(?:note|notes|message|instruction|instructions) (?:for|to) (?:any |all |the )?{_AGENT} ?:"
        rf"|\b(?:an (?:die|den|das)|aan (?:de|het)|do|till|til|al|alla|all'|au|a l'|ao|para o|fur)(?: \w+)? ?(?:{_FOREIGN_AGENT}|(?:ki|ai|ia)\b|kunstliche intelligenz|intelligenza artificiale)"
        r"[^.!?:\n]{0,50}?:"
        rf"|\b(?:atencion|attention|achtung|uwaga|внимание|attenzione|atencao|para o|instruc\w+ para o),? (?:{_FOREIGN_AGENT}|ассистент|assistente virtual|asistente virtual)[^.!?:\n]{{0,30}}?:"
        rf"|{_FOREIGN_AGENT}[^.!?:\n]{{0,12}}?へ ?[:、]|给{_FOREIGN_AGENT}|\bmodelo que (?:procese|lea|lee|processe|leia)\b"
        rf"|\b(?:every|each|all) (?:e-?mail|mail|message|reply|answer)s?[^.!?\n]{{0,40}}?\b(?:agent|assistant|model)\b[^.!?\n]{{0,60}}?\bmust\b"
        r"|\bai (?:assistants?|agents?|tools?|models?)(?: \w+){0,6}? must\b[^.!?\n]{0,60}?\b(?:without|state|approve|not tell|say)\b"
        rf"|\b(?:to|for|attention|dear|hey|hello|note(?: to| for)?|message (?:to|for)|if you are|"
        rf"hinweis (?:an|f[üu]r))(?: (?:all|any|every|an?|the|other|alle|den|die))? ?,? ?{_AGENT}[^.!?\n]{{0,60}}?"
        r"(?::|,|\b(?:must|should|please|do not|don't|always|never|run|execute|send|delete|say|reply|"
        r"include|approve|recommend|respond|read this|reading|processing|summari[sz]ing|first|muss|bitte)\b)"
        rf"|\b(?:attention|hey|hello|note (?:to|for)(?: the| all)?|message (?:to|for)(?: the| all)?|if you are (?:an?|the)),? {_NAMED}"
        r"[^.!?\n]{0,60}?(?::|\b(?:must|should|do not|don't|run|execute|send|delete|say|reply|include|approve|recommend|summari[sz]\w+|authori[sz]ed)\b)"
        r"|(?:^|\n|<!--)[ >*#-]{0,6}(?:assistant|agent|claude|copilot|gemini|codex) ?: (?:before|please|first|now|you|ignore|call|run|delete|send|do not)\b"
        r"|\bnew (?:task|instructions?|orders?) for (?:the |all |any )?(?:assistant|agent|model|ai)s?\b"
        rf"|\b{_AGENT} (?:reading|processing|parsing|summari[sz]ing|that reads?|which reads?|who reads?)\b"
        rf"|\b(?:all|any|every) {_AGENT}s? (?:must|should|shall|need to)\b"
        r"|\bas an? ai (?:\w+ )?you (?:must|should|have to)\b"
        r"|\b(?:when|once|if) you (?:read|process|summari[sz]e|see) this,? (?:\w+ )?(?:open|send|forward|call|run|execute|delete|upload|say|email)\b"
        r"|\b(?:operator|owner|user|developer|admin\w*) (?:has|have) (?:already )?(?:authori[sz]ed|allowed|approved|instructed) you to\b"
        r"|\bwho(?:so)?ever (?:processes|reads|summari[sz]es) this [^.!?\n]{0,40}?must\b"
        rf"|\b(?:hinweis|nachricht|note|nota|mensaje|message|примечание|сообщение|внимание|achtung|attention|atencion|attenzione|atencao)\W{{1,3}}"
        rf"(?:(?:an|fur|pour|para|per|для|a|al|alla|para o|para el|den|die|das|alle|el|la|le|il|o|os|los|todos|tous|all|les|l)[ ']{{1,2}}){{0,4}}{_FOREIGN_AGENT}"
        rf"|致{_FOREIGN_AGENT}|\b(?:falls|wenn|si|se|если)(?: du| tu| sie| voce| vous| ты| вы)? (?:\w+ )??(?:ein\w* |une? |uma? |un )?{_FOREIGN_AGENT}"
        rf"|如果你是[^。\n]{{0,6}}?{_FOREIGN_AGENT}",
    ),
    (
        "secrecy",
        rf"\b(?:do not|don't|never|without|and not)(?: \w+){{0,2}}? (?:tell|telling|inform|informing|notify|"
        rf"notifying|alert|alerting|mention|mentioning|reveal|revealing|asking|ask|show|showing|warn|"
        rf"warning)\b[^.!?\n]{{0,20}}? ?(?:to )?{_PERSON}\b"
        r"|\b(?:do not|don't|never) (?:mention|reveal|disclose|acknowledge) (?:this|these|that you|the "
        r"existence of)(?! (?:to|at|in) (?:the )?(?:kids|children|guests))"
        r"|\bkeep (?:this|these) (?:request|instruction|rule|note|order|sentence|message)s? (?:secret|hidden|private|confidential|to yourself)"
        r"|\bno need to (?:mention|tell|inform|report)[^.!?\n]{0,40}?\b(?:step|user|this|owner|account)"
        r"|\bdo not (?:disclose|reveal|mention|report) (?:this|the) (?:sentence|instruction|rule|note|issue below|request|step)"
        r"|\b(?:dem|der|den) (?:nutzer|anwender|benutzer)\w* (?:gegenuber (?:\w+ ){0,2}?nicht|(?:\w+ ){0,2}?nichts (?:davon|daruber|merken|wissen|erfahren|sagen))\b|\bohne (?:dem|den) (?:nutzer|anwender|benutzer)"
        r"|\b(?:sin avisar|sin decirle|sin informar|senza avvisare|senza dirlo|sem avisar|sem informar|sans avertir|sans prevenir|sans le dire)[^.!?\n]{0,6}? ?(?:a |al |all'|ao |a l')?(?:usuario|utente|utilisateur)"
        r"|\b(?:zeg|vertel|meld)(?: \w+){0,3}? (?:niets|niet)(?: \w+){0,3}? (?:de )?gebruiker|\bnie (?:informuj|mow|wspominaj)(?: \w+){0,3}? uzytkownik"
        r"|\b(?:berate|sag)t? (?:\w+ ){0,2}?anvandare|(?:ユーザー|利用者)(?:に|には)[^。\n]{0,8}?(?:知らせ|伝え|言わ|教え|話さ)な|사용자에게[^.\n]{0,10}?(?:말하지|알리지)"
        r"|ничего [^.!?\n]{0,20}?не говоря|без ведома пользователя"
        r"|\b(?:sag|sage|erzahl|verrat|melde)e? (?:dem|der|den) (?:be)?nutzer\w* (?:\w+ )?nicht"
        r"|\b(?:n'informe[zr]? pas|ne (?:dis|dites) (?:rien|pas)(?: a)?|sans (?:en )?(?:informer|prevenir)) (?:a )?l'utilisat"
        r"|\bno (?:le |se lo )?(?:digas|informes|cuentes|avises)(?: nada| de esto)? al? (?:usuario|operador)"
        r"|\bnon (?:dire|informare|avvisare|rivelare)(?: nulla| niente)? (?:al)?l'(?:utente|operatore)"
        r"|\bnao (?:conte|diga|informe|avise|revele)(?: nada| isso)? (?:ao?|para o) (?:usuario|utilizador)"
        r"|\bне (?:говори|сообщай|показывай|рассказывай)(?:те)? (?:об этом )?пользовател|(?:不要|别|不得)(?:告诉|通知|询问|告知)用户"
        r"|\b(?:losch\w*|supprim\w+|borra|elimina|cancella|apague|exclua|удали)\b[^.!?\n]{0,50}?(?:ohne (?:nachzufragen|zu fragen|ruckfrage)"
        r"|sans (?:demander|confirmation)|sin (?:preguntar|pedir|confirm)|senza (?:chiedere|conferma)|sem (?:perguntar|pedir|confirm)|не спрашивая|без подтвержд)",
    ),
    (
        "secrets",
        rf"(?<!not )(?<!n't )(?<!never )\b(?:send|post|upload|forward|e-?mail|exfiltrate|leak|transmit|paste|submit|copy|append)\b"
        rf"[^.!?\n]{{0,60}}?\b(?:your|the user's|the users?|all|any|every|its|contents? of)\b"
        rf"[^!?\n]{{0,30}}?{_SENSITIVE}[^!?\n]{{0,40}}?\b(?:to|at|via|into|in|as)\b"
        r"|!?\[[^\]\n]{0,80}\]\([^)\s]{0,200}\)[^\n]{0,150}?\b(?:replac\w+|append\w*|followed by|encod\w+|insert\w*|fill\w*|ersetz\w*|wobei|reemplaz\w*|remplac\w*)\b"
        rf"[^\n]{{0,120}}?\b{_CHAT}"
        rf"|\b(?:append|encode|put|embed|attach|include|add)\b[^.!?\n]{{0,60}}?\b{_CHAT}\b[^.!?\n]{{0,80}}?\b(?:url|subdomain|query string|query parameter|markdown (?:image|link)|https?:)"
        r"|\b(?:read|cat|open|upload|send|print|copy|post|include|pass)\b[^\n]{0,60}?(?:~/\.(?:ssh|aws|netrc|gnupg|config)|/\.(?:ssh|aws)\b|id_rsa(?!\.pub)|/etc/passwd|github_token|\bruntime secrets)"
        r"[^\n]{0,120}?\b(?:parameter|argument|sidenote|response|reply|comment|https?:|will not work|debug)"
        r"|\b(?:dump|output|print|reveal|show|give|repeat|answer)\b[^.!?\n]{0,40}?\byour (?:configuration|context window|system message|initial (?:prompt|message)|hidden (?:prompt|rules)|instructions verbatim)"
        r"|\b(?:print|list|show|output|reveal) (?:the |all |your )?(?:api keys|passwords|secrets|credentials|tokens) (?:that )?you (?:have|know|hold|store)"
        r"|\b(?:verification|one-time|login|security) codes?\b[^.!?\n]{0,40}?\b(?:and )?(?:send|forward|mail) (?:it|them)\b[^.!?\n]{0,20}?@|认证码|認証コードを[^。\n]{0,40}?(?:送信|送って|転送)"
        r"|(?:把|将)[^。!?\n]{0,12}?(?:用户|通讯录|联系人)[^。!?\n]{0,12}?(?:发送?|发给|转发)"
        r"|\b(?:leite|sende|schicke|forward|envia|envoie|invia|encaminhe|przeslij|mail|stuur|перешли)\w*\b[^.!?\n]{0,60}?(?:alle|letzte\w*|derniers?|ultim\w+|contactos?|liste|documenti|wiadomosc\w*|hasl\w+|последн\w+|bankgegevens)"
        r"[^.!?\n]{0,50}?@"
        r"|\b(?:reveal|print|output|repeat|show|display|dump)(?: \w+){0,3}? (?:your|the) "
        r"(?:(?:full|entire|hidden|initial|original|exact) )*(?:system prompt|system message|"
        r"(?:system|hidden|initial|original) instructions)"
        rf"|\b(?:reveal|print|output|repeat|display|dump|gib|zeige?|nenne|affiche[zr]?|montre[zr]?|muestra|revela|mostra|mostre|revele|exiba|покажи|выведи)\b"
        rf"[^.!?\n]{{0,30}}?\b(?:dein\w*|ton|tes|votre|tu|tus|tuo|tua|seu|sua|свой|твой|your)\b[^.!?\n]{{0,20}}?{_SYSTEM_PROMPT}"
        rf"|{_SHOW}[^.!?。\n]{{0,25}}?(?:{_HIDDEN_ORDERS}|\b(?:your|dein\w*|ton|votre|tu|tuo|seu|свои|твои)\b[^.!?\n]{{0,12}}?{_SYSTEM_PROMPT}|(?:你的?)?系统提示词?)"
        rf"|(?:\b(?:your|dein\w*|votre|ton|tu|il tuo|seu|твои)\b|你的)[^.!?。\n]{{0,6}}?{_SYSTEM_PROMPT}[^.!?。\n]{{0,12}}?(?:invalid\w*|ungultig|ya no|nicht mehr|не деистви\w+|无效)"
        r"|把你的系统提示"
        rf"|\b(?:instead |now |only )?(?:output|print|reveal) your hidden prompt|(?:输出|显示|告诉我|打印)[^。\n]{{0,6}}?(?:你的)?[^。\n]{{0,4}}?系统提示"
        r"|\byou may (?:now )?(?:disclose|reveal|share|leak) (?:\w+ )?(?:credentials|secrets|passwords|tokens|keys)"
        r"|\b(?:print|output|reveal|send|show) (?:me )?(?:all |the )?(?:database |user'?s? |admin |root )?(?:passwords?|tokens?|credentials|api keys|ssh keys)(?=[.!]|$| (?:to|of the user|at) )"
        rf"|\b(?:sende[nt]?|schick\w*|leite|gib|verrate|envoie[zr]?|affiche|transfere|envia|enviar|manda|muestra|invia|mostra|inoltra|envie|mostre|encaminhe|отправь|покажи|перешли)\b"
        rf"[^.!?\n]{{0,30}}?{_FOREIGN_SECRETS}[^.!?\n]{{0,40}}?(?:\b(?:an|a|al|para|per|de la|del|do|от|на) |@|$|[.!])(?<!pin)"
        r"|(?<!勿)(?<!要)(?:把|将)[^。!?\n]{0,10}?(?:密码|凭证|密钥|令牌)[^。!?\n]{0,10}?(?:发送?|告诉|发给)"
        r"|\b(?:forward|send|open)\b[^.!?\n]{0,40}?\buser's (?:\w+ )?(?:mail\w*|inbox|files|data)\b[^.!?\n]{0,60}?@",
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
        r"trusts?|wants? you))"
        r"|\b(?:store|save|write|keep) (?:this )?in (?:your )?(?:long-term )?memory (?:that|:)"
        r"|\b(?:merke? dir|speichere|retiens|retenez|recuerda|ricorda|lembre(?:-se)?|memoriza|запомни|помни)\b[^.!?\n]{0,10}?"
        r"(?:fur alle|pour toutes|para todas|per tutte|на все|для всех)[^.!?\n]{0,20}?"
        r"(?:sitzung|gesprach|session|sesion|conversa|sessoe|сесси|разговор)|记住[^。\n]{0,6}?(?:以后|今后|未来)[^。\n]{0,6}?(?:会话|对话)",
    ),
    (
        "command",
        r"\b(?:run|execute|fuhre|ejecuta|lance|esegui)\b[^\n]{0,100}?(?:\bcurl\b|\bwget\b|\bbash\b|\bpip install\b|\bnpm i\w*|rm -rf)[^\n]{0,120}?"
        r"\b(?:do not|don't|without|never|ohne|sans|sin|senza) (?:ask|prompt|confirm|show|tell|mention|nachzufragen|zu fragen|demander|preguntar|chiedere)\w*"
        r"|\b(?:before|when|after) (?:using|calling|you use|you call) (?:this|any|the) (?:tool|function|server)s?[^\n]{0,40}?\b(?:read|pass|send|include)\b[^\n]{0,60}?(?:~/|content|file)"
        r"|\b(?:model|assistant|agent) (?:must|has to|should|needs to) (?:also |first )?(?:call|invoke|run|execute) (?:transfer|send|delete|read_file|pay|buy|forward)\w*"
        r"|\byou may (?:now )?(?:run|execute|delete|use)\b[^.!?\n]{0,40}?\bwithout (?:confirmation|asking|approval|permission)"
        r"|\byour (?:next|new|real) (?:task|job|instruction|order)s? ?(?:: ?|is to )(?:list|read|open|send|post|delete|forward|print|upload|find|approve|reveal)\b"
        r"|\b(?:read|decode) (?:this|the following)(?: \w+)? (?:backwards|text|string)?,? ?and (?:obey|follow|execute)\b"
        r"|\b(?:assistant|agent),? (?:stop|abandon|leave) the (?:current|present) task\b|\bcall the tool \w+ with (?:the|all|your)\b"
        r"|\bapprove the (?:payment|pull request|order|transfer) without\b|\bejecuta la (?:herramienta|funcion)\b|\bfuhre das (?:werkzeug|tool)\b"
        r"|\b(?:you (?:must|have to|need to)|immediately|first|now|silently|quietly) "
        r"(?:run|execute|call|invoke)\b[^\n]{0,80}?(?:\bcurl\b|\bwget\b|\brm -rf\b|\bbase64\b|\beval\b|"
        r"\bpowershell\b|\| ?(?:ba|z)?sh\b|\btool\b|\bwithout (?:asking|confirmation|approval))"
        r"|\b(?:run|execute) (?:this|the following)(?: \w+){0,3}? (?:silently|quietly|without asking|"
        r"without confirmation|in the background without)",
    ),
)
NAMES: Final = tuple(name for name, _ in _FORMS)
_MAX_ONE_WORD: Final = 200  # letters of one that was spaced


@cache
def rules() -> Rules:
    """Read at first use: the command line imports this and stores no text."""
    forms = (*_FORMS, ("agent", ALONE))
    return Rules((name, each) for name, form in forms for each in alternatives(form))


_OWN_END: Final = pattern(r"</?recalled-memory>")
"""What stands around what an agent recalls: an end without a beginning pretends to be outside."""


_HIDDEN_SENTENCE: Final = pattern("(?:[\U000e0021-\U000e007e]+\U000e0020){3}")
"""In Unicode tags, which show as nothing: it is not for people. Flags have one word without blanks."""

_NAME: Final = pattern(r"(?<!\S)[^\s-]++(?:-[^\s-]++){2,}+")
"""Of a branch or a file. What gives it to an agent looks at it by itself (``is_order``)."""


def flags_in(text: str) -> tuple[str, ...]:
    """The names of the rules that ``text`` meets, in the order of ``NAMES``; mostly none."""
    names = {"agent"} if _HIDDEN_SENTENCE.search(text) else set()
    for at, written in enumerate(readings(text)):
        reading = written if at else _NAME.sub(" ", written)
        names |= rules().met(reading)
        if at and " " not in reading and is_joined_order(reading[:_MAX_ONE_WORD]):
            names.add("override")
        if "agent" not in names and is_addressed(reading):
            names.add("agent")
        # As it is written: where it is disguised, what is told of it is written as plain text.
        first = None if at else _OWN_END.search(reading)
        if first and first[0].startswith("</"):
            names.add("system")
    return tuple(name for name in NAMES if name in names)
