"""How well short texts without a declared charset are read, and how well detectors alone do it.

    .venv/bin/python scripts/benchmarks/charsets.py

The even samples were looked at while the rules of ``mem_search.text.charsets`` were chosen, the odd
ones were held out.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

from chardet import detect
from charset_normalizer import from_bytes

from mem_search.text.charsets import codec_of, decoded

SAMPLES = (
    (
        "de invoice",
        "Rechnung Nr. 4711 über Ölwechsel und Räder, fällig am 12. März, Grüße aus Lübeck\n",
        "cp1252",
    ),
    ("de one word", "Zubehör\n", "cp1252"),
    (
        "de csv",
        "Name;Straße;Ort\nMeier;Hauptstraße 4;Nürnberg\nSchäfer;Am Bühl 2;Görlitz\n",
        "cp1252",
    ),
    ("de upper", "ÄPFEL, ÖL, MÜSLI\n", "cp1252"),
    ("de quotes", "Sie sagte: „Wir fahren für zwei Tage nach Köln“ – und lächelte.\n", "cp1252"),
    (
        "de mac",
        "Schöne Grüße aus München, die Übergabe ist am Fünften. Wir müssen noch über"
        " die Schlüssel reden.\n",
        "mac_roman",
    ),
    (
        "de dos",
        "Schöne Grüße aus München, die Übergabe ist am Fünften. Wir müssen noch über"
        " die Schlüssel reden.\n",
        "cp850",
    ),
    (
        "fr csv",
        "Date;Libellé;Débit\n03/01/2024;Électricité de"
        " Bordeaux;-84,20\n05/01/2024;Prélèvement assurance santé;-31,00\n",
        "cp1252",
    ),
    (
        "fr sentence",
        "Où est passée la clé de la cave à côté du garage ? Je l’ai laissée là.\n",
        "cp1252",
    ),
    (
        "fr letter",
        "Veuillez trouver ci-joint le procès-verbal de l’assemblée générale du 4 février.\n",
        "cp1252",
    ),
    (
        "es question",
        "¿Cuándo llegará el paquete de la señora Ibáñez? Mañana por la tarde, según dijo.\n",
        "cp1252",
    ),
    ("es list", "plátanos, piña, jamón, azúcar, limón\n", "cp1252"),
    ("it", "La città è più bella così: perché non andiamo giù al mare lunedì?\n", "cp1252"),
    (
        "pt letter",
        "Não há informações sobre a situação da construção. Atenção às condições.\n",
        "cp1252",
    ),
    ("pt short", "Reunião às três, São João\n", "cp1252"),
    (
        "sv",
        "Årets möte hålls i Malmö på lördag, kaffe och smörgås ingår. Hälsa från Åke.\n",
        "cp1252",
    ),
    ("da", "Kære Søren, regningen for rengøring på Ærø er vedhæftet. Beløb: 400 kr.\n", "cp1252"),
    ("no", "Årsmøte for båtforeningen på Tromsø, velkommen til både små og store.\n", "cp1252"),
    (
        "nl",
        "De coördinator heeft één vraag over het café in België; reünie om tien uur.\n",
        "cp1252",
    ),
    (
        "fi",
        "Hyvää päivää, tämä lasku erääntyy ensi viikolla. Ystävällisin terveisin Päivi"
        " Hämäläinen\n",
        "cp1252",
    ),
    ("is", "Þetta er reikningur fyrir viðgerð á bátnum, með kveðju frá Ísafirði.\n", "cp1252"),
    (
        "ca",
        "La reunió de la comunitat és dilluns; l’ascensor encara no funciona, què fem?\n",
        "cp1252",
    ),
    ("en currency", "The fare is £40 or €47 – pay at the café, please.\n", "cp1252"),
    ("en one", "naïve\n", "cp1252"),
    ("en quote", "“It’s only a façade,” he said — twice.\n", "cp1252"),
    (
        "pl sentence",
        "Proszę o przesłanie umowy najmu łodzi do piątku, dziękuję. Łukasz Wiśniewski\n",
        "cp1250",
    ),
    (
        "pl iso",
        "Proszę o przesłanie umowy najmu łodzi do piątku, dziękuję. Łukasz Wiśniewski\n",
        "iso8859-2",
    ),
    ("cs", "Příliš žluťoučký kůň úpěl ďábelské ódy. Faktura č. 12 je splatná v říjnu.\n", "cp1250"),
    (
        "cs iso",
        "Vážený pane řediteli, děkujeme za zaslání smlouvy, odpovíme příští týden.\n",
        "iso8859-2",
    ),
    (
        "sk",
        "Ďakujem za správu, stretneme sa v utorok o ôsmej v kancelárii na Štúrovej.\n",
        "cp1250",
    ),
    (
        "hu",
        "Kérem küldje el a szerződést, a fizetés jövő héten történik. Üdvözlettel: Szűcs Ödön\n",
        "cp1250",
    ),
    ("ro", "Vă rugăm să plătiţi factura până la sfârşitul lunii. Mulţumesc, Ştefan\n", "cp1250"),
    ("hr", "Molim vas pošaljite račun za čišćenje broda, hvala. Željko Kovačić\n", "cp1250"),
    (
        "ru letter",
        "Уважаемая Анна Сергеевна, направляю договор аренды лодки. С уважением, Пётр\n",
        "cp1251",
    ),
    (
        "ru koi8",
        "Уважаемая Анна Сергеевна, направляю договор аренды лодки. С уважением, Пётр\n",
        "koi8-r",
    ),
    ("ru dos", "Список товаров на складе: верёвка, якорь, краска, фонарь, лампа\n", "cp866"),
    ("ru word", "Привет\n", "cp1251"),
    (
        "ru mac",
        "Список товаров на складе: верёвка, якорь, краска, фонарь, лампа и маяк\n",
        "mac_cyrillic",
    ),
    ("uk", "Шановний Олексію, надсилаю рахунок за їжу та ремонт. Дякую, Ірина\n", "cp1251"),
    ("uk koi8", "Шановний Олексію, надсилаю рахунок за їжу та ремонт. Дякую, Ірина\n", "koi8-u"),
    ("bg", "Уважаеми господине, изпращам фактурата за ремонта на лодката. Поздрави\n", "cp1251"),
    ("sr", "Поштовани, шаљем рачун за поправку чамца. Ђорђе Љубић\n", "cp1251"),
    (
        "el letter",
        "Αγαπητέ κύριε, σας στέλνω το συμβόλαιο για τη βάρκα. Ευχαριστώ, Γιώργος\n",
        "cp1253",
    ),
    (
        "el iso",
        "Αγαπητέ κύριε, σας στέλνω το συμβόλαιο για τη βάρκα. Ευχαριστώ, Γιώργος\n",
        "iso8859-7",
    ),
    ("he letter", "שלום רב, מצורף החוזה להשכרת הסירה. בברכה, דוד\n", "cp1255"),
    ("he word", "תודה רבה\n", "cp1255"),
    ("ar letter", "السيد المحترم، أرسل إليك عقد إيجار القارب مع الشكر\n", "cp1256"),
    ("ar iso", "السيد المحترم، أرسل إليك عقد إيجار القارب مع الشكر\n", "iso8859-6"),
    (
        "tr letter",
        "Sayın Ayşe Hanım, tekne kiralama sözleşmesini gönderiyorum. Teşekkürler, Çağrı Işık\n",
        "cp1254",
    ),
    ("tr short", "Kış lastiği değişimi, ücret: 300 lira\n", "cp1254"),
    ("lt", "Gerbiamas pone, siunčiu sąskaitą už laivo remontą. Ačiū, Žydrūnas\n", "cp1257"),
    (
        "lv",
        "Cienījamais kungs, nosūtu rēķinu par laivas remontu. Paldies, Jānis Bērziņš\n",
        "cp1257",
    ),
    ("et", "Lugupeetud härra, saadan arve paadi remondi eest. Aitäh, Õnne Põldmäe\n", "cp1257"),
    ("ja letter", "お世話になっております。ボートの修理代金の請求書をお送りします。\n", "cp932"),
    ("ja euc", "お世話になっております。ボートの修理代金の請求書をお送りします。\n", "euc_jp"),
    ("ja csv", "日付,金額,内容\n2024/1/5,1200,電気料金\n2024/1/9,800,水道料金\n", "cp932"),
    ("ja kana", "ﾃﾞﾝｷﾘｮｳｷﾝ 1200円\n", "cp932"),
    ("zh gbk", "尊敬的先生，附上船只修理费用的发票，请查收。谢谢\n", "gb18030"),
    ("zh csv", "日期,金额,摘要\n2024-01-05,120.00,电费\n2024-01-09,80.00,水费\n", "gb18030"),
    ("zh big5", "親愛的先生，附上船隻修理費用的發票，請查收。謝謝\n", "big5"),
    ("zh big5 csv", "日期,金額,摘要\n2024-01-05,120.00,電費\n2024-01-09,80.00,水費\n", "big5"),
    ("ko letter", "안녕하세요, 배 수리 비용 청구서를 보내드립니다. 감사합니다\n", "cp949"),
    ("ko csv", "날짜,금액,내용\n2024-01-05,1200,전기요금\n", "cp949"),
    ("th", "เรียนคุณสมชาย ขอส่งใบแจ้งหนี้ค่าซ่อมเรือมาด้วย ขอบคุณครับ\n", "cp874"),
    ("vi", "Kính gửi ông, tôi gửi hóa đơn sửa thuyền. Cảm ơn\n", "cp1258"),
)


def _bytes(text: str, codec: str) -> bytes:
    """Vietnamese of Windows has accents as characters of their own."""
    if codec != "cp1258":
        return text.encode(codec)
    tones = "\u0300\u0301\u0303\u0309\u0323"
    done = b""
    for char in text:
        marks = unicodedata.normalize("NFD", char)
        base = unicodedata.normalize("NFC", "".join(mark for mark in marks if mark not in tones))
        done += (base + "".join(mark for mark in marks if mark in tones)).encode(codec)
    return done


def _normalizer(data: bytes) -> str:
    best = from_bytes(data).best()
    return data.decode(best.encoding if best else "cp1252", "replace")


def _chardet(data: bytes) -> str:
    return data.decode(codec_of(str(detect(data)["encoding"])) or "cp1252", "replace")


def main() -> None:
    """Print how many texts each reads right, and those that it does not."""
    readers: dict[str, Callable[[bytes], str]] = {
        "charset-normalizer": _normalizer,
        "chardet": _chardet,
        "mem-search": decoded,
    }
    for name, read in readers.items():
        for part, samples in (("chosen on", SAMPLES[::2]), ("held out", SAMPLES[1::2])):
            wrong = [
                what
                for what, text, codec in samples
                if unicodedata.normalize("NFC", read(_bytes(text, codec))) != text
            ]
            print(
                f"{name}, {part}: {len(samples) - len(wrong)} of {len(samples)}", *wrong, sep="; "
            )


if __name__ == "__main__":
    main()
