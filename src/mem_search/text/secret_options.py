"""Passwords that a program or a call takes as an argument, and those in files of logins.

Every pattern is bounded and starts at a literal, so the time is linear in the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mem_search.patterns import pattern
from mem_search.text.secret_places import QUOTE, Span
from mem_search.text.secret_values import is_placeholder, is_secret

_VALUE: Final = r"""(?:\\{0,7}["'])?(?P<value>[^\s"'`|;&<>()\\]{4,200})"""


def _of(program: str, option: str, gap: str = r"\s{1,3}", value: str = _VALUE) -> str:
    """A password that ``program`` takes by ``option``, somewhere in its arguments."""
    return rf"{program}\s(?:[^\n|]{{0,120}}?\s)?{option}{gap}{value}"


_OPTIONS: Final = tuple(
    (sign, word, pattern(form))
    for sign, word, form in (
        (" -p", "login", rf"login\s[^\n|]{{0,120}}?-p[\s=]{{1,3}}{_VALUE}"),
        (" -p", "sshpass", rf"sshpass\s{{1,3}}-p\s{{0,3}}{_VALUE}"),
        (" -p", "mysql", _of(r"mysql\w{0,10}", "-p", "")),
        (" -p", "mariadb", _of(r"mariadb[\w-]{0,10}", "-p", "")),
        (" -p", "mongo", _of(r"mongo\w{0,10}", "-p")),
        (" -a", "redis-cli", _of("redis-cli", "-a")),
        (" -w", "ldap", _of(r"ldap\w{1,10}", "-w")),
        (" -P", "zip", _of("zip", "-P")),
        ("htpasswd", "htpasswd",
         rf"htpasswd\s-\w{{0,5}}b\w{{0,5}}\s\S{{1,99}}\s\S{{1,60}}\s{_VALUE}"),
        ("net use", "net use", rf"net use\s[^\n|]{{0,120}}?/user:\S{{1,60}}\s{{1,3}}{_VALUE}"),
        ("net use", "net use", rf"net use\s\S{{1,60}}\s\S{{1,100}}\s{_VALUE}\s{{1,3}}/user:"),
        ("net use", "net user", rf"net user\s\S{{1,60}}\s{_VALUE}\s{{1,3}}/"),
        ("pass:", "/pass:", rf"/pass:{_VALUE}"),
        ("echo", "echo", rf"echo\s(?:-n\s)?{_VALUE}['\"]?\s{{0,3}}\|[^\n|]{{0,80}}"
                         "(?:-stdin|-fd 0|sudo -S|passwd)"),
        ("sqlplus", "sqlplus", r"sqlplus\s[^\s/]{1,40}/(?P<value>[^\s@\"'/]{4,100})@"),
        (":thin:", ":thin:", r":thin:[^\s/]{1,40}/(?P<value>[^\s@\"'/]{4,100})@"),
        (" -a", "http", _of("https?", r"-a\s[^\s:]{1,60}:", "")),
        ("pass:", "pass:", r"pass:(?:(?<=-passin pass:)|(?<=-passout pass:)|(?<=-pass pass:))"
                           + _VALUE),
        (" -P", " -U", rf"\s-U\s\S{{1,60}}\s(?:[^\n|]{{0,60}}?\s)?-P\s{_VALUE}"),
        ("auth=(", "auth=(", rf"auth=\({QUOTE}[^\"'\n]{{1,60}}{QUOTE},\s?(?={QUOTE}){_VALUE}"),
        (" -U", " -U", rf"""\s-U\s{{0,3}}["']?[\w.\\/-]{{1,60}}%{_VALUE}"""),
        ("SecureString", "SecureString",
         rf"""SecureString\s(?:-\w{{1,12}}\s{{1,3}}){{0,3}}(?={QUOTE}){_VALUE}"""),
        ("curl", "curl",
         rf"""curl(?:\s[^\n]{{0,120}}?)?\s(?:-[uU]|--user|--proxy-user)[\s=]{{1,3}}["']?"""
                 rf"""[^\s:"']{{1,60}}:{_VALUE}"""),
        ("curl", "curl",
         _of("curl", r"""(?:-b|--cookie)\s["']?[\w.-]{1,40}=""", "")),
        (" -p", "7z", _of(r"7z\w?", "-p", "")),
        (" -p", "rar", _of("rar", "-p", "")),
        (" -N", "ssh-keygen", _of("ssh-keygen", "-N")),
        (" -P", "ssh-keygen", _of("ssh-keygen", "-P")),
        (" -k", "openssl", _of("openssl", "-k")),
        (" -P", "mosquitto", _of(r"mosquitto_\w{2,4}", "-P")),
        ("rabbitmqctl", "rabbitmqctl",
         rf"rabbitmqctl\s(?:add_user|change_password)\s{{1,3}}\S{{1,60}}\s{{1,3}}{_VALUE}"),
        ("snmp", "snmp-server", rf"snmp-server community\s(?!public\s|private\s){_VALUE}"),
        ("snmp", "snmp",
         _of("snmp[a-z]{3,8}", r"-c\s{1,3}(?!public\s|private\s)", "")),
        ("WIFI:", "WIFI:", r"WIFI:(?:[^\n]{0,120}?;)?P:(?P<value>[^;\n\"']{4,100})"),
        (" -pw", " -pw", rf"\s-pw\s{{1,3}}{_VALUE}"),
        ("send", "assword", rf"""assword[^\n]{{0,40}}?(?:\n|\\n|[;{{}}])[^\n]{{0,40}}?"""
                            rf"""send\s(?:--\s)?{QUOTE}(?P<value>[^"'\s\\]{{4,200}})\\{{1,7}}[rn]"""),
        ("machine", "machine", r"machine\s{1,20}\S{1,200}+\s{1,20}login\s{1,20}\S{1,200}+\s{1,20}"
                    r"password\s{1,20}(?P<value>\S{1,200}+)"),
        (":543", ":543", rf":543[0-9]:[\w*-]{{1,60}}:[\w.@-]{{1,60}}:{_VALUE}"),  # .pgpass
        ("]:", "]:", rf"\]:(?:587|465|25)\s{{1,20}}[^\s:]{{1,100}}:{_VALUE}"),  # Postfix
    )
)  # fmt: skip
"""(what many texts lack, the word that the form begins with, the form): looking for a word takes
half a millisecond in a megabyte, so few are looked for.
"""

_JUDGED: Final = tuple(
    (word, pattern(form))
    for word, form in (
        ("login(", rf"login\(\s?{QUOTE}[^\"'\n]{{1,60}}{QUOTE},\s?(?={QUOTE}){_VALUE}"),
        ("Auth(", rf"Auth\(\s?{QUOTE}[^\"'\n]{{1,60}}{QUOTE},\s?(?={QUOTE}){_VALUE}"),
        *((word, rf"{word}\(\s?(?={QUOTE}){_VALUE}") for word in ("PASSWORD", "_password")),
        ("/p:", r"/p:(?<=\s/p:)(?P<value>[^\s\"'=;<>|&)\\]{4,100})"),
        ("cred", rf"cred(?:s|entials)?\s?[:=]\s?[\w.@-]{{1,40}}/{_VALUE}"),
        *((word, _of(word, r"[\w.-]{1,40}:", "", r"(?P<value>[^\s@/:]{4,100})@"))
          for word in ("scp", "sftp", "rsync", "ssh")),
    )
)  # fmt: skip
"""Likewise, where also ordinary words may stand."""

_SIGNS: Final = {sign for sign, _, _ in _OPTIONS}


def options(text: str) -> Iterator[Span]:
    """Passwords that a program takes as an argument, and those in files of logins."""
    signs = {sign for sign in _SIGNS if sign in text}
    for sign, word, form in _OPTIONS:
        if sign in signs and (word == sign or word in text):
            for match in form.finditer(text):
                value = match["value"]
                if not is_placeholder(value) and not value.isdigit() and value[0] not in "-/{[$%":
                    yield (*match.span("value"), "password")
    for word, form in _JUDGED:
        for match in form.finditer(text) if word in text else ():
            if is_secret(match["value"], "string", password=True):
                yield (*match.span("value"), "password")
