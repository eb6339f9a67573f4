"""Forty secrets that were written down, and measured, before the rules of this version.

They come from the public documents of the formats. Kinds that they showed (options of programs,
files of logins) were then read, so they are no longer a measure of what is missed: for that, write
others. As in ``secret_shapes``, the parts are joined at run time; none was ever valid.
"""

from __future__ import annotations

import base64
import string

from secret_shapes import ALNUM, HEX, LOWER, UPPER, WORD, Shape, any_of

BASE32 = string.ascii_uppercase + "234567"


def unseen_shapes(seed: int = 1) -> dict[str, Shape]:
    """Name → a secret of that kind; another ``seed`` gives other secrets."""

    def any_(length: int, letters: str = ALNUM) -> str:
        return any_of(length, letters, seed)

    password = "v" + any_(10) + "7Q"
    uuid = "-".join(any_(size, HEX) for size in (8, 4, 4, 4, 12))
    return {
        "brevo": Shape("xkey" + "sib-" + any_(64, HEX) + "-" + any_(16)),
        "resend": Shape("r" + "e_" + any_(8) + "_" + any_(24)),
        "buildkite": Shape("bk" + "ua_" + any_(40, HEX)),
        "doppler": Shape("dp" + ".pt." + any_(43)),
        "airtable": Shape("pa" + "t" + any_(14) + "." + any_(64, HEX)),
        "clojars": Shape("CLO" + "JARS_" + any_(60, HEX)),
        "dynatrace": Shape("dt0" + "c01." + any_(24, UPPER) + "." + any_(64, UPPER)),
        "easypost": Shape("EZ" + "AK" + any_(54)),
        "prefect": Shape("pn" + "u_" + any_(36)),
        "readme": Shape("rd" + "me_" + any_(70, LOWER)),
        "adafruit": Shape("ai" + "o_" + any_(28)),
        "sonar user": Shape("sq" + "u_" + any_(40, HEX)),
        "nuget": Shape("oy" + "2" + any_(43, LOWER)),
        "wakatime": Shape("wa" + "ka_" + uuid),
        "frame.io": Shape("fi" + "o-u-" + any_(64, WORD[:-2])),
        "tavily": Shape("tv" + "ly-" + any_(34)),
        "rollbar": Shape(any_(32, HEX), "ROLLBAR_ACCESS_TOKEN={}"),
        "wireguard": Shape(
            base64.b64encode(any_(32).encode()).decode(), "[Interface]\nPrivateKey = {}\n"
        ),
        "apache password file": Shape("$apr" + "1$" + any_(8) + "$" + any_(22), "ada:{}"),
        "shadow file": Shape(
            "$y" + "$j9T$" + any_(22) + "$" + any_(43), "root:{}:19700:0:99999:7:::"
        ),
        "django": Shape("django-" + "insecure-" + any_(50), "SECRET_KEY = '{}'"),
        "wordpress": Shape(any_(30) + "#|{}"[:2] + any_(30), "define( 'AUTH_KEY', '{}' );"),
        "ansible": Shape(password, "ansible_become_pass: {}"),
        "maven": Shape(password, "<server><username>ci</username><password>{}</password></server>"),
        "pgpass": Shape(password, "db.example.com:5432:main:app:{}"),
        "jdbc": Shape(password, "jdbc:mysql://db/main?user=app&password={}&useSSL=true"),
        "postfix": Shape(password, "[smtp.example.com]:587 ada@example.com:{}"),
        "redis-cli": Shape(password, "redis-cli -h cache.example.com -a {} ping"),
        "openssl": Shape(password, "openssl rsa -in a.pem -passin pass:{} -out b.pem"),
        "odbc": Shape(password, "Driver={{ODBC}};Server=db;UID=sa;PWD={};Encrypt=yes"),
        "gpg": Shape(password, "gpg --batch --passphrase {} -d file.gpg"),
        "wget": Shape(password, "wget --http-user=ada --http-password={} https://example.com/a"),
        "smbclient": Shape(password, "smbclient //host/share -U ada%{}"),
        "kubectl": Shape(password, "kubectl create secret generic db --from-literal=password={}"),
        "docker run": Shape(password, "docker run -e POSTGRES_PASSWORD={} -d postgres"),
        "wi-fi": Shape(password, 'network={{\n  ssid="home"\n  psk="{}"\n}}'),
        "one-time codes": Shape(
            any_(32, BASE32), "otpauth://totp/Example:ada?secret={}&issuer=Example"
        ),
        "sql user": Shape(password, "CREATE USER ada IDENTIFIED BY '{}';"),
        "sql role": Shape(password, "ALTER ROLE app WITH LOGIN PASSWORD '{}';"),
        "aws configure": Shape(
            any_(40, ALNUM + "/+"), "aws configure set aws_secret_access_key {}"
        ),
    }


UNSEEN = unseen_shapes()
