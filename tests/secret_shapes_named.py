"""Sample secrets known by where they stand, and more services; joined at run time, never valid."""

from __future__ import annotations

import base64
import string

from secret_shapes import ALNUM, HEX, LOWER, UPPER, WORD, Shape, any_of


def named_shapes(seed: int = 1) -> dict[str, Shape]:
    """Name → a secret of that kind; another ``seed`` gives other secrets."""

    def any_(length: int, letters: str = ALNUM) -> str:
        return any_of(length, letters, seed)

    password = "k" + any_(9) + "4Z"
    token = any_(24)
    b64 = base64.b64encode(any_(30).encode()).decode()
    uuid = "-".join(any_(size, HEX) for size in (8, 4, 4, 4, 12))
    return {
        "xml element": Shape(password, "<db><dbPassword>{}</dbPassword></db>"),
        "xml attribute": Shape(password, '<add key="ApiPassword" value="{}" />'),
        "yaml literal": Shape(token, "api_token: |\n  {}\nnext: 1"),
        "yaml folded": Shape(token, "api_token: >-\n  {}\nnext: 1"),
        "terraform default": Shape(
            password, 'variable "db_password" {{\n  type = string\n  default = "{}"\n}}'
        ),
        "kubeconfig key": Shape(
            base64.b64encode(f"-----BEGIN RSA {'PRIVATE'} KEY-----\n{any_(64)}".encode()).decode(),
            "users:\n- name: a\n  user:\n    client-key-data: {}\n",
        ),
        "kubeconfig token": Shape(any_(40), "  user:\n    token: {}\n"),
        "kubernetes secret": Shape(
            b64, "kind: Secret\nmetadata:\n  name: db\ndata:\n  db-pass: {}\n"
        ),
        "rails": Shape(any_(128, HEX), "production:\n  secret_key_base: {}\n"),
        "rails master key": Shape(any_(32, HEX), "RAILS_MASTER_KEY={}"),
        "laravel": Shape(
            "base64:" + base64.b64encode(any_(32).encode()).decode(), "APP_KEY={}\nAPP_DEBUG=false"
        ),
        "azure devops": Shape(any_(52, string.ascii_lowercase + "234567"), "AZURE_DEVOPS_PAT={}"),
        "azure devops, new": Shape(any_(76) + "AZ" + "DO" + any_(4)),
        "docker login": Shape(password, "docker login -u ada -p {} registry.example.com"),
        "sshpass": Shape(password, "sshpass -p {} ssh ada@example.com"),
        "mysql": Shape(password, "mysql -h db -u root -p{} main"),
        "net use": Shape(password, r"net use Z: \\server\share /user:ada {}"),
        "powershell": Shape(password, 'ConvertTo-SecureString "{}" -AsPlainText -Force'),
        "set-cookie": Shape(any_(32), "Set-Cookie: sid={}; Path=/; HttpOnly"),
        "cookie": Shape(any_(32), "Cookie: theme=dark; PHPSESSID={}; lang=de"),
        "presigned url": Shape(
            any_(64, HEX), "https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signature={}"
        ),
        "signed url": Shape(
            any_(43) + "%3D", "https://cdn.example.com/f?Expires=1700000000&Signature={}"
        ),
        "german": Shape(password, "Das Passwort lautet {} für alle."),
        "german, other": Shape(password, "Kennwort: {}"),
        "french": Shape(password, "mot de passe : {}"),
        "spanish": Shape(password, "contraseña: {}"),
        "italian": Shape(password, "parola d'ordine: {}"),
        "portuguese": Shape(password, "senha: {}"),
        "dutch": Shape(password, "wachtwoord: {}"),
        "polish": Shape(password, "hasło: {}"),
        "russian": Shape(password, "пароль: {}"),
        "chinese": Shape(password, "密码:{}"),
        "japanese": Shape(password, "パスワード: {}"),
        "said in prose": Shape(password, "the wifi password is {} by the way"),
        "pw": Shape(password, "pw: {}"),
        "git author": Shape(token, "Author: https://ada:{}@github.com/a/b <ada@example.com>"),
        "token as a user": Shape(token, "git clone https://{}@github.com/a/b.git"),
        "redis url": Shape(password, "redis://:{}@cache.example.com:6379/0"),
        "pgpassword": Shape(password, "PGPASSWORD={} psql -h db main"),
        "npmrc": Shape(uuid, "//registry.example.org/:_authToken={}"),
        "pypirc": Shape(password, "[pypi]\nusername = ada\npassword = {}\n"),
        "other scheme": Shape(any_(32), "Authorization: GenieKey {}"),
        "camel case": Shape(token, "const options = {{ clientSecret: '{}', retries: 3 }};"),
        "keyword argument": Shape(password, 'connect(host="db", password="{}", port=1)'),
        "form body": Shape(password, "grant_type=password&username=ada&password={}&scope=all"),
        "markdown table": Shape(password, "| user | password |\n|---|---|\n| ada | {} |"),
        "html input": Shape(password, '<input type="password" name="pw" value="{}">'),
        "cmd set": Shape(password, "set DB_PASSWORD={}"),
        "properties": Shape(password, "spring.datasource.password={}"),
        "option": Shape(token, "deploy --api-key={} --force"),
        "bcrypt": Shape("$2" + "b$12$" + any_(53, ALNUM + "./")),
        "sha512 crypt": Shape("$" + "6$" + any_(16) + "$" + any_(86, ALNUM + "./")),
        "argon2": Shape("$argon2" + "id$v=19$m=65536,t=3,p=4$" + any_(22) + "$" + any_(43)),
        "putty": Shape(
            any_(64), "PuTTY-User-Key-File-3: ssh-rsa\nPrivate-Lines: 1\n{}\nPrivate-MAC: 00\n"
        ),
        "mailgun": Shape("ke" + "y-" + any_(32, HEX)),
        "mailchimp": Shape(any_(32, HEX) + "-" + "us12"),
        "twitter": Shape("AAAAAAAAAAAAAAAAAAAAA" + any_(41) + "%3D" + any_(50)),
        "alibaba": Shape("LT" + "AI" + any_(20)),
        "tencent": Shape("AK" + "ID" + any_(32)),
        "yandex": Shape("AQV" + "N" + any_(35, WORD[:-2])),
        "yandex oauth": Shape("y0_" + "Ag" + any_(55, WORD[:-2])),
        "dropbox": Shape("sl" + ".B" + any_(135, WORD[:-2])),
        "bitbucket": Shape("AT" + "BB" + any_(24) + any_(8, HEX.upper()[:16])),
        "netlify": Shape("nf" + "p_" + any_(36)),
        "planetscale": Shape("pscale" + "_tkn_" + any_(43)),
        "square": Shape("sq0" + "csp-" + any_(43, WORD[:-2])),
        "square token": Shape("EA" + "AA" + any_(60, WORD[:-2])),
        "new relic": Shape("NR" + "AK-" + any_(27, UPPER)),
        "razorpay": Shape(any_(24), "RAZORPAY_KEY_SECRET={}"),
        "contentful": Shape("CF" + "PAT-" + any_(43)),
        "mapbox": Shape("sk" + ".eyJ1" + any_(80) + "." + any_(22)),
        "pinecone": Shape("pc" + "sk_" + any_(5) + "_" + any_(63)),
        "langfuse": Shape("sk" + "-lf-" + uuid),
        "rubygems": Shape("rubygems" + "_" + any_(48, HEX)),
        "render": Shape("rn" + "d_" + any_(28)),
        "supabase": Shape("sb" + "p_" + any_(40, HEX)),
        "cloudflare, new": Shape("cf" + "ut_" + any_(40) + any_(8, HEX)),
        "pulumi": Shape("pu" + "l-" + any_(40, HEX)),
        "shippo": Shape("shippo" + "_live_" + any_(40, HEX)),
        "posthog": Shape("ph" + "x_" + any_(43)),
        "fly": Shape("Fly" + "V1 fm2_" + any_(100, ALNUM + "/+") + "=="),
        "prose, further": Shape(password, "Password for the staging server: {}"),
        "asana": Shape(
            "2/" + any_(16, string.digits) + "/" + any_(16, string.digits) + ":" + any_(32, HEX)
        ),
        "hubspot": Shape("pa" + "t-na1-" + uuid),
        "fireworks": Shape("fw" + "_" + any_(24)),
        "elevenlabs": Shape("s" + "k_" + any_(48, HEX)),
        "honeycomb": Shape("hca" + "ik_01" + any_(58, LOWER)),
        "databricks secret": Shape("do" + "se" + any_(32, HEX)),
        "plaid": Shape("access-" + "production-" + uuid),
        "twitch": Shape(any_(30, LOWER), "oauth:{}"),
        "langsmith": Shape("lsv2" + "_pt_" + any_(32, HEX) + "_" + any_(10, HEX)),
    }


NAMED = named_shapes()
