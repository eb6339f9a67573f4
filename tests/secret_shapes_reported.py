"""Secrets that a tester found missing: services, commands, files of settings, source code.

As in ``secret_shapes``, the parts are joined at run time; none was ever valid.
"""

from __future__ import annotations

import base64

from secret_shapes import ALNUM, HEX, WORD, Shape, any_of


def reported_shapes(seed: int = 1) -> dict[str, Shape]:
    """Name → a secret of that kind; another ``seed`` gives other secrets."""

    def any_(length: int, letters: str = ALNUM) -> str:
        return any_of(length, letters, seed)

    password = "w" + any_(9) + "5K"
    token = any_(24)
    uuid = "-".join(any_(size, HEX) for size in (8, 4, 4, 4, 12))
    b64 = base64.b64encode(any_(900).encode()).decode()
    return {
        "full-width colon": Shape(password, "パスワード：{}"),
        "full-width colon, chinese": Shape(password, "密码：{}"),
        "full-width colon, english": Shape(password, "password：{}"),
        "full-width equals sign": Shape(password, "password＝{}"),
        "fly, older": Shape("fo" + "1_" + any_(43, WORD[:-2])),
        "doppler service": Shape("dp" + ".st.prd." + any_(43)),
        "vercel blob": Shape("vercel" + "_blob_rw_" + any_(16) + "_" + any_(30)),
        "teams webhook": Shape(
            f"{uuid}@{uuid}/IncomingWebhook/{any_(32, HEX)}/{uuid}",
            "https://acme.webhook.office.com/webhookb2/{}",
        ),
        "kubeconfig key, whole": Shape(b64, "    client-key-data: {}\n"),
        "sentry org, its end": Shape(
            "snt" + "rys_eyJ" + any_(60) + "=_" + any_(20) + "+" + any_(12) + "/" + any_(10)
        ),
        "7z": Shape(password, "7z x -p{} a.7z"),
        "rabbitmq": Shape(password, "rabbitmqctl add_user ada {}"),
        "rust": Shape(token, 'let api_secret: &str = "{}";'),
        "javascript, default": Shape(token, 'const secret = process.env.APP_SECRET || "{}";'),
        "python, default": Shape(token, 'secret = os.environ.get("APP_SECRET") or "{}"'),
        "fish": Shape(token, "set -gx GITHUB_TOKEN {}"),
        "csh": Shape(token, "setenv API_TOKEN {}"),
        "python, long string": Shape(token, 'api_secret = """{}"""'),
        "expect": Shape(password, 'expect "*?assword:*"\nsend "{}\\r"'),
        "snmp": Shape(password, "snmp-server community {} RO"),
        "cisco": Shape(password, "username ada privilege 15 secret 0 {}"),
        "cisco, type 7": Shape("0822455D0A16" + any_(8, HEX.upper()[:16]), " password 7 {}"),
        "base64 of a secret": Shape(b64[:48], "SECRET_B64={}"),
        "wi-fi code": Shape(password, "WIFI:T:WPA;S:harbour;P:{};;"),
        "twilio client": Shape(any_(32, HEX), f'Client("AC{any_(32, HEX)[::-1]}", "{{}}")'),
        "keytool": Shape(password, "keytool -list -keystore a.jks -storepass {}"),
        "keytool, key": Shape(password, "keytool -genkey -keypass {} -alias a"),
        "dockerfile": Shape(password, "ENV DB_PASSWORD {}"),
        "powershell variable": Shape(token, '$env:API_SECRET="{}"'),
        "special signs": Shape("BPME*cx" + "VgZGB?" + any_(3), "API_SECRET='{}'"),
        "plink": Shape(password, "plink -ssh ada@db.example.com -pw {} uptime"),
        "windows option": Shape(password, "xfreerdp /u:ada /p:{} /v:host"),
        "one-dash option": Shape(password, "tool -user ada -password {}"),
        "smtp": Shape(password, "smtp.login('ada', '{}')"),
        "basic auth": Shape(password, 'HTTPBasicAuth("ada", "{}")'),
        "ssh-keygen": Shape(password, "ssh-keygen -t ed25519 -N {} -f key"),
        "openssl enc": Shape(password, "openssl enc -aes-256-cbc -k {} -in a"),
        "openssl, pass": Shape(password, "openssl enc -aes-256-cbc -pass pass:{} -in a"),
        "nmcli": Shape(password, "nmcli dev wifi connect harbour password {}"),
        "mosquitto": Shape(password, "mosquitto_pub -h mq -u ada -P {} -t a -m b"),
        "ldif": Shape(base64.b64encode(password.encode()).decode(), "userPassword:: {}"),
        "name and password": Shape(password, "creds: ada/{}"),
        "scp": Shape(password, "scp a.txt ada:{}@db.example.com:/srv"),
    }


REPORTED = reported_shapes()
