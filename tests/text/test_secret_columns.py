"""Secrets under a heading, in statements of SQL and in files of logins, and tables without any."""

from __future__ import annotations

import json

import pytest

from mem_search.text.redaction import redact

# Joined at run time, and never valid.
PASSWORD = "hunter2" + "Winter"
TOKEN = "f8Ks93jdLq02" + "Zx7PwM1n"
MD5 = "5f4dcc3b5aa765d6" + "1d8327deb882cf99"

SECRETS = {
    "csv": "name,password,age\nada,{p},36\nbob,{p}9,4\n",
    "csv, quoted": '"user","password"\n"ada","{p}"\n',
    "csv, crlf": "name,password\r\nada,{p}\r\n",
    "csv, semicolons": "name;passwort;alter\nada;{p};36\n",
    "csv, pipes": "name|password|age\nada|{p}|3\n",
    "csv, spanish": "usuario,contraseña\nada,{p}\n",
    "csv, a comma in quotes": 'user,note,password\nada,"likes a, b and c",{p}\n',
    "csv, api key": "id,api_key\n1,{t}\n2,{t}x\n",
    "csv, a word": "name,password\nada,winterblume\n",
    "tsv": "name\tpassword\tage\nada\t{p}\t36\n",
    "insert": "INSERT INTO users (name, password) VALUES ('ada','{p}');",
    "insert, rows": "INSERT INTO users (name, password) VALUES ('bob','x'),\n ('eve', '{p}z');",
    "insert, backticks": "INSERT INTO `users` (`id`, `password`) VALUES (1, '{p}');",
    "insert, a schema": "insert into public.users(id,pwd) values (1,'{p}')",
    "insert, a quote": "INSERT INTO users (name, password) VALUES ('O''Hara','{p}');",
    "insert, a function": "INSERT INTO users (name, api_token) VALUES (lower('Ada'),'{t}');",
    "insert, a word": "INSERT INTO users (name, password) VALUES ('ada','winterblume');",
    "copy": "COPY users (id, password) FROM stdin;\n1\t{p}\n\\.\n",
    "update": "UPDATE users SET name='x', password = '{p}' WHERE id=1;",
    "identified by": "CREATE USER 'ada'@'%' IDENTIFIED BY '{p}';",
    "identified with": "ALTER USER 'ada' IDENTIFIED WITH mysql_native_password BY '{p}';",
    "a role": "CREATE ROLE ada LOGIN PASSWORD '{p}';",
    "set password": "SET PASSWORD FOR 'ada'@'%' = PASSWORD('{p}');",
    "npmrc": "//registry.example.org/:_authToken={t}\n",
    "npmrc, password": "//r.example.org/:_password={t}\n",
    "netrc, lines": "machine example.org\n  login ada\n  password {p}\n",
    "pgpass": "db.example.org:5432:shop:ada:{p}\n",
    "pgpass, any host": "*:*:*:ada:{p}\n",
    "pgpass, another port": "localhost:6000:shop:ada:{p}\n",
    "htpasswd, SHA": "ada:{{SHA}}W6ph5Mm5Pz8GgiULbPgzG37mj9g=\n",
    "htdigest": "ada:realm:{md5}\n",
    "markdown": "| user | password |\n|---|---|\n| ada | {p} |\n",
    "markdown, no outer lines": "user | password\n--- | ---\nada | {p}\n",
    "markdown, beside": "| setting | value |\n|---|---|\n| DB_PASSWORD | {p} |\n",
    "rst": "+------+----------+\n| user | password |\n+======+==========+\n| ada  | {p} |\n",
    "rst, simple": "====  ========\nuser  password\n====  ========\nada   {p}\n====  ========\n",
    "psql": " name | password\n------+----------\n ada  | {p}\n(1 row)\n",
    "html": "<table><tr><th>user</th><th>password</th></tr><tr><td>ada</td><td>{p}</td></tr>",
    "html, a body": "<thead>\n<tr>\n<th>User</th>\n<th class=x>Password</th>\n</tr></thead>"
    "<tbody><tr>\n<td>ada</td>\n<td><code>{p}</code></td>\n</tr></tbody>",
    "html, beside": "<tr><th>Password</th><td>{p}</td></tr>",
    "ini": "[db]\nuser = ada\npassword = {p}\n",
    "dotenv": "export DB_PASSWORD={p}\n",
    "php": "'password' => '{p}',",
    "php, a constant": "define('DB_PASSWORD', '{p}');",
    "properties": "spring.datasource.password={p}\n",
    "stringData": "kind: Secret\nmetadata:\n  name: x\nstringData:\n  db: winterblume\n",
    "compose": 'environment:\n  - "POSTGRES_PASSWORD={p}"\n',
}
PLACES = {
    "alone": lambda text: text,
    "in prose": lambda text: f"We have this:\n\n{text}\nand more.",
    "in a code block": lambda text: f"```\n{text}\n```",
    "in JSON": lambda text: json.dumps({"stdout": f"$ cat it\n{text}\n"}),
}
OPEN = [
    "name,password,age\nada,changeme,36\n",
    "| Option | Password | Default |\n|---|---|---|\n| login | required | none |\n",
    "| field | type |\n|---|---|\n| password | string |\n| token | optional |\n",
    "INSERT INTO users (name, password) VALUES (?, ?);",
    "INSERT INTO users (name, password) VALUES ($1, :password), (%s, ${{PASSWORD}});",
    "INSERT INTO notes (title, body) VALUES ('Harbour1', 'The tide turns at 12:30');",
    "from people import user, password\nfrom places import harbour1, port2\n",
    "    return user, password\n    yield line1, line2\n",
    "We store the user, the password, and the key.\nThen come tea, cake2, and more.\n",
    "<tr><th>Password</th><td>required</td></tr>",
    "src/app.py:12:30:error:something\n",
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_that_its_place_tells_is_removed(name: str, place: str) -> None:
    text = SECRETS[name].format(p=PASSWORD, t=TOKEN, md5=MD5)
    kept, found = redact(PLACES[place](text))
    assert found
    for secret in (PASSWORD, TOKEN, MD5, "winterblume", "W6ph5Mm5Pz8GgiULbPgzG37mj9g"):
        assert secret not in kept
    assert "ada" in kept or "ada" not in text
    assert redact(kept) == (kept, 0)


@pytest.mark.parametrize("text", OPEN)
def test_a_table_or_statement_without_a_secret_stays(text: str) -> None:
    assert redact(text) == (text, 0)


def test_a_quote_inside_a_string_ends_no_secret() -> None:
    kept, found = redact(json.dumps({"password": f'hun"{TOKEN}', "user": "ada"}))
    assert found == 1
    assert TOKEN not in kept
    assert json.loads(kept)["user"] == "ada"


def test_every_row_of_a_long_table_is_read() -> None:
    rows = "".join(f"user{number},{PASSWORD}{number}\n" for number in range(2_000))
    kept, found = redact(f"name,password\n{rows}")
    assert found == 2_000
    assert PASSWORD not in kept
