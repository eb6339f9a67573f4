"""Sample secrets of many services, put together at run time; none of them was ever valid.

Parts are joined so that no scanner takes this file for a leak.
"""

from __future__ import annotations

import base64
import random
import string
from dataclasses import dataclass

ALNUM = string.ascii_letters + string.digits
LOWER = string.ascii_lowercase + string.digits
UPPER = string.ascii_uppercase + string.digits
HEX = string.digits + "abcdef"
WORD = ALNUM + "-_"


@dataclass(frozen=True, slots=True)
class Shape:
    """A secret and the text that it stands in: ``template`` has one ``{}``."""

    secret: str
    template: str = "{}"

    @property
    def text(self) -> str:
        return self.template.format(self.secret)


def any_of(length: int, letters: str = ALNUM, seed: int = 1) -> str:
    """So many letters, the same for the same arguments."""
    return "".join(random.Random(length * 31 + seed).choices(letters, k=length))


def _b64(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def shapes(seed: int = 1) -> dict[str, Shape]:
    """Name → a secret of that service; another ``seed`` gives other secrets."""

    def any_(length: int, letters: str = ALNUM) -> str:
        return any_of(length, letters, seed)

    jwt = ".".join((_b64('{"alg":"HS256","typ":"JWT"}'), _b64(f'{{"sub":"{any_(12)}"}}'), any_(43)))
    pem = "\n".join(any_of(64, ALNUM + "+/", seed + row) for row in range(6))
    begin, end = "-----BEGIN ", "-----END "
    rsa, plain = "RSA PRIVATE" + " KEY-----", "PRIVATE" + " KEY-----"
    uuid = "-".join(any_(size, HEX) for size in (8, 4, 4, 4, 12))
    return {
        "aws access key": Shape("AKI" + "A" + any_(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")),
        "aws session key": Shape("ASI" + "A" + any_(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")),
        "aws secret key": Shape(any_(40, ALNUM + "/+"), "aws_secret_access_key = {}"),
        "gcp api key": Shape("AIz" + "a" + any_(35, WORD[:-2])),
        "gcp oauth token": Shape("ya2" + "9." + any_(60, WORD)),
        "gcp oauth secret": Shape("GOCS" + "PX-" + any_(28)),
        "gcp service account": Shape(f"{begin}{plain}\\n{any_(64)}\\n{any_(40)}\\n{end}{plain}"),
        "azure client secret": Shape(any_(3) + "8Q" + "~" + any_(34, ALNUM + "_.-")),
        "azure storage key": Shape(
            any_(86, ALNUM + "/+") + "==", "AccountName=a;AccountKey={};x=1"
        ),
        "azure sas": Shape(
            any_(43) + "%3D", "https://a.blob.core.windows.net/c?sv=2024-01-01&sig={}"
        ),
        "github pat": Shape("gh" + "p_" + any_(36)),
        "github oauth": Shape("gh" + "o_" + any_(36)),
        "github app": Shape("gh" + "s_" + any_(36)),
        "github fine-grained": Shape("github" + "_pat_" + any_(22) + "_" + any_(59)),
        "gitlab pat": Shape("gl" + "pat-" + any_(20)),
        "gitlab deploy token": Shape("gl" + "dt-" + any_(20)),
        "gitlab runner": Shape("gl" + "rt-" + any_(20)),
        "slack bot": Shape(
            "xox" + f"b-{any_(12, string.digits)}-{any_(13, string.digits)}-{any_(24)}"
        ),
        "slack app": Shape(
            "xa" + f"pp-1-A{any_(10, UPPER)}-{any_(13, string.digits)}-{any_(64, HEX)}"
        ),
        "slack webhook": Shape(
            f"T{any_(10, UPPER)}/B{any_(10, UPPER)}/{any_(24)}",
            "https://hooks." + "slack.com/services/{}",
        ),
        "stripe live": Shape("sk_" + "live_" + any_(24)),
        "stripe restricted": Shape("rk_" + "live_" + any_(24)),
        "stripe webhook": Shape("whs" + "ec_" + any_(32)),
        "twilio api key": Shape("S" + "K" + any_(32, HEX)),
        "sendgrid": Shape("S" + "G." + any_(22, WORD[:-2]) + "." + any_(43, WORD[:-2])),
        "telegram bot": Shape(any_(10, "123456789") + ":A" + "A" + any_(33, WORD[:-2])),
        "discord bot": Shape("M" + "T" + any_(22) + "." + any_(6) + "." + any_(38)),
        "discord webhook": Shape(
            f"{any_(18, '123456789')}/{any_(68)}", "https://discord.com/api/" + "webhooks/{}"
        ),
        "shopify": Shape("shp" + "at_" + any_(32, HEX)),
        "shopify shared secret": Shape("shp" + "ss_" + any_(32, HEX)),
        "linear": Shape("lin_" + "api_" + any_(40)),
        "docker hub": Shape("dckr" + "_pat_" + any_(27)),
        "sentry user": Shape("snt" + "ryu_" + any_(64, HEX)),
        "sentry org": Shape(
            "snt"
            "rys_"
            + _b64(f'{{"iat":1712345678.1,"url":"https://sentry.io","org":"{any_(8)}"}}')
            + "_"
            + any_(43)
        ),
        "openai": Shape("s" + "k-" + any_(48)),
        "openai project": Shape("sk-" + "proj-" + any_(74) + "T3Blbk" + "FJ" + any_(74)),
        "anthropic": Shape("sk-" + "ant-api03-" + any_(93) + "AA"),
        "xai": Shape("xa" + "i-" + any_(80)),
        "perplexity": Shape("ppl" + "x-" + any_(48)),
        "replicate": Shape("r" + "8_" + any_(37)),
        "hugging face": Shape("h" + "f_" + any_(34, string.ascii_letters)),
        "figma": Shape("fi" + "gd_" + any_(40)),
        "atlassian": Shape("ATA" + "TT3xFfGF0" + any_(174) + "=" + any_(8, HEX.upper()[:16])),
        "notion": Shape("nt" + "n_" + any_(11, string.digits) + any_(35)),
        "notion, older": Shape("secre" + "t_" + any_(43)),
        "nvidia": Shape("nv" + "api-" + any_(64)),
        "1password": Shape("op" + "s_ey" + "J" + any_(260)),
        "postman": Shape("PM" + "AK-" + any_(24, HEX) + "-" + any_(34, HEX)),
        "tailscale": Shape("ts" + "key-auth-" + any_(16) + "CNTRL-" + any_(32)),
        "npm": Shape("np" + "m_" + any_(36)),
        "pypi": Shape("py" + "pi-AgEIcHlwaS5vcmc" + any_(80)),
        "jwt": Shape(jwt),
        "pem": Shape(f"{begin}{rsa}\n{pem}\n{end}{rsa}"),
        "netrc": Shape(any_(14), "machine api.example.com login ada password {}"),
        "env file": Shape(any_(24), "export DB_PASSWORD={}"),
        "env api key": Shape(any_(32, HEX), "SERVICE_API_KEY={}"),
        "postgres url": Shape(any_(14), "postgres://app:{}@db.internal:5432/main"),
        "mongodb url": Shape(any_(14), "mongodb+srv://app:{}@cluster0.example.net/"),
        "ado connection string": Shape(any_(14), "Server=db;User Id=sa;Password={};Encrypt=true"),
        "bearer header": Shape(any_(40), "Authorization: Bearer {}"),
        "basic header": Shape(_b64(f"ada:{any_(14)}"), "Authorization: Basic {}"),
        "heroku": Shape(uuid, "HEROKU_API_KEY={}"),
        "cloudflare": Shape(any_(40), "CLOUDFLARE_API_TOKEN={}"),
        "grafana": Shape("gls" + "a_" + any_(32) + "_" + any_(8, HEX)),
        "digitalocean": Shape("dop" + "_v1_" + any_(64, HEX)),
        "databricks": Shape("da" + "pi" + any_(32, HEX)),
        "vault": Shape("hv" + "s." + any_(96)),
        "terraform": Shape(any_(14) + ".atlas" + "v1." + any_(64)),
        "groq": Shape("gs" + "k_" + any_(52)),
        "age": Shape("AGE-SECRET-" + "KEY-1" + any_(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L")),
    }


SHAPES = shapes()
