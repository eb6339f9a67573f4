"""Spanish."""

from __future__ import annotations

from mem_search.text.languages.language import Language, TimeWords

_TIMES = TimeWords(
    months="enero febrero marzo abril mayo junio julio agosto septiembre|setiembre octubre"
    " noviembre diciembre",
    weekdays="lunes martes miércoles|miercoles jueves viernes sábado|sabado domingo",
    counts="una|un dos tres cuatro cinco seis siete ocho nueve diez once doce",
    units={
        "día": "day", "días": "day", "dia": "day", "dias": "day", "semana": "week",
        "semanas": "week", "mes": "month", "meses": "month", "año": "year", "años": "year",
        "hora": "hour", "horas": "hour", "fin de semana": "weekend",
    },
    forms=(
        (r"en (?:el |la )?primavera(?:(?: de| del)? (YEAR))?", "spring {0}"),
        (r"primavera(?: de| del)? (YEAR)", "spring {0}"),
        (r"en (?:el |la )?verano(?:(?: de| del)? (YEAR))?", "summer {0}"),
        (r"verano(?: de| del)? (YEAR)", "summer {0}"),
        (r"en (?:el |la )?otoño(?:(?: de| del)? (YEAR))?", "autumn {0}"),
        (r"otoño(?: de| del)? (YEAR)", "autumn {0}"),
        (r"en (?:el |la )?invierno(?:(?: de| del)? (YEAR))?", "winter {0}"),
        (r"invierno(?: de| del)? (YEAR)", "winter {0}"),
        ("hoy", "today"),
        ("ayer", "yesterday"),
        ("anteayer", "day before yesterday"),
        ("(?:los |las )?[úu]ltim[oa]s (COUNT) (UNIT)", "last {0} {1}"),
        ("(?:la |el )?[úu]ltim[oa] (UNIT|MONTH|WEEKDAY)", "last {0}"),
        ("(?:la |el )?(UNIT|MONTH|WEEKDAY) pasad[oa]", "last {0}"),
        ("est[ea] (UNIT|MONTH|WEEKDAY)", "this {0}"),
        ("(?:la |el )?pr[óo]xim[oa] (UNIT|MONTH|WEEKDAY)", "next {0}"),
        ("(?:la |el )?(UNIT|MONTH|WEEKDAY) que viene", "next {0}"),
        ("hace (COUNT) (UNIT)", "{0} {1} ago"),
        ("(?:el )?(DAY) de (MONTH)(?: del? (YEAR))?", "{0} {1} {2}"),
        (r"(?:el )?(DAY)/(\d\d?)/(YEAR)", "{2}-{1}-{0}"),
        ("(?:el )?año (YEAR)", "{0}"),
        ("(MONTH) (?:del? )?(YEAR)", "{0} {1}"),
    ),
    prefixes={
        "en": "in", "de": "from", "del": "from", "desde": "since", "antes de": "before",
        "antes del": "before", "después de": "after", "después del": "after", "hasta": "until",
        "durante": "during",
    },
    ranges={("entre", "y"): ("between", "and"), ("de", "a"): ("from", "to"),
            ("desde", "hasta"): ("from", "to")},
    marks="hoy ayer anteayer en de del desde antes después hasta durante entre este esta hace la el"
    " los las semana mes año pasado pasada próximo próxima último última últimos últimas enero"
    " febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
)  # fmt: skip

SPANISH = Language(
    leading="el la los las un una mi mis nuestro nuestra busca buscar encuentra muestra dame dónde"
    " donde está están es todos todas qué cuál cuáles",
    own="mi mis",
    following="acerca al antes con contra de del desde después en entre hasta para por que sin"
    " sobre",
    never="cómo",
    documents="billete billetes carta cartas contrato contratos extracto factura facturas nómina"
    " nóminas pedido presupuesto receta recetas recibo recibos",
    senders="de del",
    recipients="al para",
    sent="envió envio escribió mandó enviado escrito mandado",
    inverted="envió escribió mandó",
    auxiliaries="ha había han",
    persons="yo me nos él ella ellos quien que",
    articles="el la los las mi mis un una",
    joining="y o",
    empty="busca cuál cuáles dame documentos dónde el encuentra hice hicimos la las los mi mis"
    " muestra pasó que qué todas todos un una",
    particles="al algo antes así aún aunque bajo bien cada casi como cómo con contra cual cuando"
    " cuándo cuánta cuántas cuánto cuántos cuesta cuestan costó dar de del desde después"
    " donde dos durante en entre era es esa ese eso esta está estaba este esto fue ha"
    " hace hasta hay le les lo más menos mucho muchos muy nada ni no nos nuestra nuestro"
    " nunca otra otro para pero poco por porque pues qué se según ser si sí sin sobre"
    " son su sus también tan tanto te tengo tiene todo tu tus una uno unos ya",
    participles="escaneado escaneada escaneados escaneadas",
    as_one=("en", "como"),
    kinds={
        **dict.fromkeys(("correo", "correos", "correo electrónico", "correos electrónicos"),
                        "kind:email"),
        **dict.fromkeys(("con adjunto", "con adjuntos", "con un adjunto", "con archivo adjunto",
                         "con archivos adjuntos"), "has:attachment"),
        **dict.fromkeys(("documento word", "documento de word", "documentos de word"),
                        "filetype:document"),
        **dict.fromkeys(("hoja de cálculo", "hojas de cálculo"), "filetype:spreadsheet"),
        **dict.fromkeys(("escaneado", "escaneada", "escaneados", "escaneadas"), "filetype:scan"),
        **dict.fromkeys(("página web", "páginas web"), "kind:website"),
    },
    perhaps_kinds={
        **dict.fromkeys(("mensaje", "mensajes"), "kind:email"),
        **dict.fromkeys(("nota", "notas"), "kind:note"),
        **dict.fromkeys(("imagen", "imágenes"), "filetype:image"),
        **dict.fromkeys(("presentación", "presentaciones"), "filetype:presentation"),
        **dict.fromkeys(("marcador", "marcadores"), "source:bookmarks"),
        **dict.fromkeys(("artículo", "artículos"), "kind:website"),
    },
    amounts={
        "más de": ">", "superior a": ">", "superiores a": ">", "al menos": ">=", "menos de": "<",
        "inferior a": "<", "inferiores a": "<", "como máximo": "<=", "hasta": "<=",
        "exactamente": "=",
    },
    between=("entre", "y"),
    money={"euro": "EUR", "euros": "EUR", "dólares": "USD", "pesos": "", "libras": "GBP"},
    due="vence|vencen|pagader[oa]s?",
    overdue="vencid[oa]s?",
    how_much=r"cu[áa]nto (?:cost[óo]|cuesta|fue|era|es|pagu[ée]|pagamos)\b",
    times=_TIMES,
)  # fmt: skip
