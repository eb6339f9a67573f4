"""``add`` and ``why`` as a person uses them: folders, files, notes and pages."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from homes import Home, make
from imap_server import PASSWORD, USER, imap_server
from local_server import Handler, serving
from patience import until

PAGE = b"""<html><head><title>Lamps of the harbour</title></head><body><article>
<p>The lamp at the end of the quay burns oil, and the keeper fills it at dusk.</p>
<p>Ships that come in at night look for it, because the channel is narrow there.</p>
<p>The harbour office keeps a book of each litre, of which the first page is from 1911.</p>
</article></body></html>"""


class Site(Handler):
    def do_GET(self) -> None:
        found = self.path == "/lamps"
        self.reply(PAGE if found else b"", 200 if found else 404, Content_Type="text/html")


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """``host:port`` of a site on this machine."""
    with serving(Site) as server:
        yield f"127.0.0.1:{server.server_port}"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory, site: str) -> Iterator[Home]:
    """The home of all these tests, whose worker may read pages of the site."""
    home = make(
        tmp_path_factory.mktemp("add"),
        MEM_SEARCH_EMBEDDER="hashing",
        MEM_SEARCH_CHROMA_URL="off",
        MEM_SEARCH_FETCH_ALLOW=site,
    )
    yield home
    home.end()


def found(home: Home, words: str) -> list[str]:
    """The titles that a search by words finds."""
    told = home.run("search", words, "--mode", "keyword", "--json")
    return [result["title"] for result in json.loads(told.stdout)["results"]]


def test_a_folder_a_file_a_page_and_notes_are_added_and_found(
    home: Home, site: str, tmp_path: Path
) -> None:
    folder, letter = tmp_path / "docs", tmp_path / "letter.md"
    folder.mkdir()
    (folder / "pier.txt").write_text("The pier is long.")
    (folder / "half.pdf").write_bytes(b"%PDF-1.4 half of it")
    (folder / "blank.txt").write_text("")
    (folder / "link.txt").symlink_to(letter)
    letter.write_text("# About the roof\n\nThe roof leaks.")
    added = home.run("add", str(folder), str(letter), f"http://{site}/lamps", "--tag", "x")
    assert (added.returncode, "belong to a note or a page" in added.stderr) == (2, True)
    added = home.run("add", str(folder), str(letter), f"http://{site}/lamps")
    assert added.returncode == 0, added.stderr
    first, second, third = added.stdout.splitlines()
    assert first == f"files {folder}: 1 new, 1 failed"
    assert second == f"files {letter}: 1 new"
    assert third.startswith(f"files http://{site}/lamps: 1 new: website:")
    assert "half.pdf: it is damaged or cut off" in added.stderr
    assert found(home, "pier") == ["pier"]
    assert found(home, "roof leaks") == ["About the roof"]
    assert found(home, "keeper dusk") == ["Lamps of the harbour"]

    note = ("add", "Buy oil for the lamp", "--title", "Shopping", "--tag", "errand")
    assert home.ok(*note) == "the note is stored\n"
    assert home.ok(*note) == "the note is stored already\n"
    assert home.ok("add", "-", given="From standard input:\nthe keeper sleeps.") == (
        "the note is stored\n"
    )
    assert found(home, "tag:errand oil") == ["Shopping"]
    assert len(found(home, "keeper sleeps")) == 2

    for path, said in (
        (folder / "pier.txt", "is stored as file:"),
        (folder / "half.pdf", "could not be read: it is damaged or cut off"),
        (folder / "blank.txt", "was left out: it is empty"),
        (folder / "new.txt", "was not there when"),
        (folder, "was read by the source files: 1 failed, 2 left, 1 taken"),
        (tmp_path / "other", "was never seen: no source has read it"),
        (folder / "link.txt", "was left out: it is a link that leaves the folder"),
    ):
        sentence = home.ok("why", str(path))
        assert sentence.startswith(str(path))
        assert said in sentence
        assert sentence.count("\n") == 1
    told = json.loads(home.ok("why", str(folder / "pier.txt"), "--json"))
    assert home.ok("get", told["record"]).count("The pier is long.") == 1


def test_a_person_adds_a_folder_asks_and_goes_on_writing(home: Home, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    for name in ("mail", "papers", "vault"):
        (folder / name).mkdir(parents=True)
    receipt = "From: Elm Pharmacy <shop@elm.example>\nSubject: Your receipt\nMessage-ID: <r@elm>\n"
    hike = "From: Mira Okello <mira@okello.example>\nSubject: Saturday\nMessage-ID: <h@okello>\n"
    (folder / "mail" / "inbox").write_text(
        f"From a Tue Oct 14 17:02:00 2025\n{receipt}Date: Tue, 14 Oct 2025 17:02:00 +0200\n\n"
        "Bandages.\nTotal: 14.48 EUR\n\n"
        f"From b Thu Nov 13 20:11:00 2025\n{hike}Date: Thu, 13 Nov 2025 20:11:00 +0100\n\n"
        "Shall we walk the ridge?\n"
    )
    (folder / "mail" / "boiler.eml").write_text(
        "From: Juno Tamm <juno@tamm.example>\nSubject: The boiler\nMessage-ID: <b@tamm>\n"
        "Date: Mon, 03 Nov 2025 09:00:00 +0100\n\nThe technician comes on Tuesday at nine.\n"
    )
    (folder / "papers" / "lease.rtf").write_text(r"{\rtf1 Notice period of three months.}")
    (folder / "vault" / "2025-11-12.md").write_text("Called the bicycle shop, see [[Balcony]].\n")
    (folder / "vault" / "Balcony.md").write_text("Tomatoes in boxes. #garden\n")
    (folder / "bookmarks.html").write_text(
        "<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>"
        '<DT><A HREF="https://rails.example/night">Night trains</A></DL>'
    )
    added = home.run("add", str(folder))
    assert added.returncode == 0, added.stderr
    assert sorted(added.stdout.splitlines()) == [
        f"bookmarks {folder}: 1 new", f"files {folder}: 3 new", f"mail {folder}: 3 new"
    ]  # fmt: skip
    for question, first in (
        ("email receipt from the pharmacy last October", "Your receipt"),
        ("emails from Mira", "Saturday"),
        ("what did Juno write about the boiler in November 2025", "The boiler"),
        ("amount<20 pharmacy", "Your receipt"),
        ("notice period of the lease", "lease"),
        ("my note on tomatoes", "Balcony"),
        ("tag:garden", "Balcony"),
        ("in:2025-11-12 bicycle", "2025-11-12"),
        ("bookmark for night trains", "Night trains"),
    ):
        assert found(home, question)[:1] == [first], question
    home.ok("add", "The spare key is with Mr Petrov")
    assert found(home, "spare key") == ["The spare key is with Mr Petrov"]
    home.ok("add", "鍵は受付にあります。")  # no blank, and no name of a file
    assert found(home, "鍵") == ["鍵は受付にあります。"]

    (folder / "vault" / "Balcony.md").write_text("Peppers in boxes. #garden\n")
    (folder / "vault" / "2025-11-12.md").rename(folder / "vault" / "2025-11-12 Bicycle.md")
    (folder / "papers" / "lease.rtf").unlink()
    (folder / "mail" / "boiler.eml").unlink()
    until(lambda: found(home, "peppers") == ["Balcony"])
    until(lambda: found(home, "frame bicycle")[:1] == ["2025-11-12 Bicycle"])
    until(lambda: found(home, "notice period") == [])
    until(lambda: found(home, "technician") == [])
    assert "was removed" in home.ok("why", str(folder / "mail" / "boiler.eml"))
    gone = home.ok("why", str(folder / "papers" / "lease.rtf"))
    assert "was removed from the store: it is no longer there" in gone
    deleted = json.loads(home.ok("ledger", "--outcome", "deleted", "--json"))["entries"]
    assert len([each for each in deleted if each["item"].endswith("lease.rtf")]) == 1


def test_what_cannot_be_added_is_named_and_the_others_go_on(
    home: Home, site: str, tmp_path: Path
) -> None:
    (tmp_path / "jetty.txt").write_text("The jetty is long.")
    (tmp_path / "my jetty.txt").write_text("The jetty of mine.")
    assert home.ok("add", (tmp_path / "my jetty.txt").as_uri()).endswith("1 new\n")
    home.ok("add", "~10 people came to the quay")
    assert found(home, '"people came"')[:1] == ["~10 people came to the quay"]
    both = home.run("add", f"http://{site}/gone", str(tmp_path / "jetty.txt"))
    assert both.returncode == 7
    assert "answered 404" in both.stderr
    assert "1 of 2 could not be added" in both.stderr
    assert {"jetty", "my jetty"} <= {*found(home, "jetty")}
    port = int(site.rpartition(":")[2])
    with suppress(OSError):  # where names are text, it is not there
        (tmp_path / "caf\udce9.txt").touch()
    for argv, code, said in (
        (("add", f"http://127.0.0.1:{port - 1}/"), 2, "MEM_SEARCH_FETCH_ALLOW"),
        (("add", "http://169.254.169.254/latest"), 2, "cannot be allowed"),
        (("add", f"http://{site}/gone"), 7, "answered 404"),
        (("add", "nothing"), 2, "does not exist"),
        (("add", " "), 2, "empty"),
        (("add", ""), 2, "the note is empty; write some words, or . to add this folder"),
        (("add", "", str(tmp_path)), 2, "'' does not exist"),
        (
            ("add", f"{tmp_path}/my jeti.txt"),
            2,
            "my jeti.txt does not exist; a note that begins so",
        ),
        (("add", "~nobody-here/x"), 2, "~nobody-here/x does not exist"),
        (("backup", "~nobody-here/x"), 3, "cannot write"),
        (("restore", "~nobody-here/x"), 2, "is not a file"),
        (("why", "~nobody-here/x"), 0, ""),
        (("sync", "files", "~nobody-here/x"), 2, "does not exist"),
        (("import", "jsonl", "~nobody-here/x"), 2, "does not exist"),
        (("import", "claude-mem", "~nobody-here/x"), 2, "does not exist"),
        (("forget", "--path", "~nobody-here/x"), 1, "nothing was forgotten"),
        (("why", ""), 2, "PATH: is empty; write . for this folder"),
        (("import", "jsonl", ""), 2, "path: is empty; write . for this folder"),
        (("unfollow", "files", ""), 2, "path: is empty"),
        (("add", "-"), 2, "empty"),
        (("add", str(tmp_path / "caf\udce9.txt")), 2, "caf\\xe9.txt is not UTF-8; rename it"),
        (("why", str(tmp_path / "caf\udce9.txt")), 2, "caf\\xe9.txt is not UTF-8; rename it"),
        (("add", "a note", f"http://{site}/lamps"), 2, "one after the other"),
    ):
        done = home.run(*argv)
        assert (done.returncode, said in done.stderr) == (code, True), (argv, done.stderr)
        assert "Traceback" not in done.stderr


def test_a_user_sends_files_and_sees_their_own_only(home: Home, tmp_path: Path) -> None:
    token = home.ok("token", "create", "ada-laptop", "--user", "ada").strip()
    ada = Home(home.path, home.environ | {"MEM_SEARCH_TOKEN": token})
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first, second = tmp_path / "a" / "wharf.txt", tmp_path / "b" / "wharf.txt"
    first.write_text("The wharf is long.")
    second.write_text("Another wharf, made of stone.")
    assert (
        ada.ok("add", str(first), str(second)) == f"files {first}: 1 new\nfiles {second}: 1 new\n"
    )
    first.write_text("The wharf is short.")
    assert ada.ok("add", str(first)) == f"files {first}: 1 changed\n"
    assert len(found(ada, "wharf")) == 2
    assert found(home, "wharf") == []
    folder = ada.run("add", str(tmp_path / "a"))
    assert (folder.returncode, "send its files" in folder.stderr) == (2, True)
    reader = home.ok("token", "create", "r", "--user", "ada", "--read-only").strip()
    refused = Home(home.path, home.environ | {"MEM_SEARCH_TOKEN": reader}).run("add", str(first))
    assert refused.returncode == 6


def test_a_mailbox_on_a_server_is_read_followed_and_left_again(home: Home) -> None:
    letter = b"From: bob@x\r\nSubject: Oil\r\nMessage-ID: <1@x>\r\n\r\nThe barrel is empty.\r\n"
    with imap_server() as server:
        server.deliver(letter)
        place = f"imap://{USER}@127.0.0.1:{server.port}/INBOX"
        asked = home.run("add", place)
        assert asked.returncode != 0
        assert "set MEM_SEARCH_IMAP_PASSWORD" in asked.stderr
        wrong = home.run("add", place, MEM_SEARCH_IMAP_PASSWORD="hunter2")
        assert wrong.returncode != 0
        assert "refuses the password of ada" in wrong.stderr
        assert not (home.path / "mail-passwords.json").exists()
        done = home.run("add", place, MEM_SEARCH_IMAP_PASSWORD=PASSWORD)
        assert (done.returncode, done.stdout) == (0, f"mail {place}: 1 new\n"), done.stderr
        assert found(home, "barrel")
        assert f"mail  {place}  (followed," in home.ok("stats")
        assert home.ok("add", place) == f"mail {place}: nothing new\n"
        for file in home.path.rglob("*"):
            if file.is_file() and file.name != "mail-passwords.json":
                data = file.read_bytes()
                assert PASSWORD.encode() not in data
                assert b"hunter2" not in data
        home.ok("unfollow", "mail", place)
        assert not (home.path / "mail-passwords.json").exists()
    refused = home.run("add", f"imap://{USER}:hunter2@127.0.0.1/")
    assert "change the password" in refused.stderr
    assert "hunter2" not in refused.stderr
