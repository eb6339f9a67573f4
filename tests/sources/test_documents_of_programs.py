"""What address books, calendars, chats, notes and libraries of other programs become."""

import json
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

import export_samples
from mem_search.model import Draft, LedgerEntry, Location
from mem_search.sources import by_name, for_path

Read = tuple[list[Draft], list[LedgerEntry]]


def read(name: str, path: Path) -> Read:
    batches = list(by_name(name).read(Location(name, str(path)), {}))
    drafts = [draft for batch in batches for draft in batch.drafts]
    return drafts, [entry for batch in batches for entry in batch.ledger]


def made(name: str, folder: Path) -> Read:
    return read(name, export_samples.MADE[name](folder))


def ms(*date: int) -> int:
    return round(datetime(*date, tzinfo=UTC).timestamp() * 1000)  # type: ignore[arg-type]


def test_a_contact_is_readable_whatever_its_version(tmp_path: Path) -> None:
    (joerg, ada), _ = made("contacts", tmp_path)
    assert joerg.title == "Jörg Müller"
    assert joerg.text == (
        "Jörg Müller\nPhone (cell): +49 171 5550101\nOrganisation: Segelmacherei Blaumeise"
    )
    assert ada.text.splitlines()[1:] == [
        "E-mail (home): ada@harbour.example",
        "Address (work): Quay 5, left, Kiel, 24103, DE",
        "Birthday: 1815-12-10",
        "Note: Keeps the key of the lighthouse.",
        "Ask first.",
    ]
    assert (ada.source_id, ada.tags) == ("ada-1", ("crew", "friends"))
    assert ada.created_at == ms(2023, 4, 12, 8, 30)
    assert ada.metadata["email"] == ["ada@harbour.example"]


@pytest.mark.parametrize("codec", ["utf-16", "cp1252", "utf-8-sig"])
def test_an_address_book_has_the_charset_of_its_program(codec: str, tmp_path: Path) -> None:
    card = "BEGIN:VCARD\r\nVERSION:3.0\r\nFN:Jörg Grüße\r\nNOTE:Für später\r\nEND:VCARD\r\n"
    (tmp_path / "a.vcf").write_bytes(card.encode(codec))
    (draft,), _ = read("contacts", tmp_path / "a.vcf")
    assert draft.text == "Jörg Grüße\nNote: Für später"


def test_a_contact_that_is_cut_off_is_read_and_named(tmp_path: Path) -> None:
    (tmp_path / "a.vcf").write_text("BEGIN:VCARD\nFN:Ada\nTEL:1\nEND:VCARD\nBEGIN:VCARD\nFN:Bo\n")
    drafts, ledger = read("contacts", tmp_path / "a.vcf")
    assert [draft.title for draft in drafts] == ["Ada", "Bo"]
    assert "contact 2 is cut off: its END:VCARD is missing" in {each.reason for each in ledger}


def test_an_event_has_the_date_of_its_start(tmp_path: Path) -> None:
    (dentist, boiler), _ = made("calendar", tmp_path)
    assert dentist.created_at == ms(2023, 4, 12, 6, 30)
    assert "This is folded in the middle of words." in dentist.text
    assert "Where: Hafenstr. 5, Kiel" in dentist.text
    assert "Ada <ada@harbour.example>" in dentist.text
    assert "Alarm" not in dentist.text
    assert (dentist.source_id, dentist.metadata["calendar"]) == ("0@c", "Family")
    assert boiler.metadata["start"] == "2023-05-03"


def test_a_zone_that_only_the_calendar_knows_counts(tmp_path: Path) -> None:
    (tmp_path / "a.ics").write_text(
        "BEGIN:VCALENDAR\nBEGIN:VTIMEZONE\nTZID:Harbour Time\nBEGIN:STANDARD\n"
        "TZOFFSETTO:+0300\nEND:STANDARD\nEND:VTIMEZONE\nBEGIN:VEVENT\nUID:1\nSUMMARY:Tide\n"
        "DTSTART;TZID=Harbour Time:20230412T083000\nEND:VEVENT\nEND:VCALENDAR\n"
    )
    (tide,), _ = read("calendar", tmp_path / "a.ics")
    assert tide.created_at == ms(2023, 4, 12, 5, 30)


def test_a_chat_of_whatsapp_is_a_record_for_each_day(tmp_path: Path) -> None:
    drafts, _ = made("whatsapp", tmp_path)
    assert [(draft.title, draft.text) for draft in drafts] == [
        ("Bob, 2023-12-31", "Ada: The lamp burns again\nand the pier, too"),
        ("Bob, 2024-01-01", "Bob: IMG-1.jpg (file attached)"),
    ]


@pytest.mark.parametrize(
    ("line", "day"),
    [
        ("[31.12.23, 21:41:05] Ada: Hi", (2023, 12, 31, 21, 41, 5)),
        ("\u200e[2023-03-04, 21:41:05] Ada: Hi", (2023, 3, 4, 21, 41, 5)),
        ("12/31/23, 9:41\u202fPM - Ada: Hi", (2023, 12, 31, 21, 41)),
        ("3/4/23, 9:41 PM - Ada: Hi", (2023, 3, 4, 21, 41)),
        ("03/04/2023, 21:41 - Ada: Hi", (2023, 4, 3, 21, 41)),
        ("4/3/23 21:41 - Ada: Hi", (2023, 3, 4, 21, 41)),
    ],
)
def test_dates_of_whatsapp_are_those_of_the_country(
    line: str, day: tuple[int, ...], tmp_path: Path
) -> None:
    path = tmp_path / "_chat.txt"
    path.write_text(f"{line}\n{line}\n")
    assert for_path(path) == "whatsapp"
    drafts, _ = read("whatsapp", path)
    if line.startswith("4/3/23"):  # nothing tells the order: most countries have the day first
        assert drafts[0].created_at == ms(2023, 3, 4, 21, 41)
    else:
        assert drafts[0].created_at == ms(*day)


def test_escapes_of_telegram_are_letters_and_pieces_are_joined(tmp_path: Path) -> None:
    path = export_samples.telegram(tmp_path)
    assert "\\u0420" in path.read_text()
    (draft,), _ = read("telegram", path)
    assert draft.text == (
        "Ольга: Розы пересадили у калитки\n\nAda: look at https://x.example for the pergola"
    )
    assert (draft.title, draft.created_at) == ("Сад, 2023-03-14", ms(2023, 3, 14, 17, 2))


def test_all_chats_of_telegram_are_in_one_file(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    second = {**export_samples.TELEGRAM, "name": "Pier", "id": 2}
    chats = {"about": "x", "list": [export_samples.TELEGRAM, second]}
    path.write_text(json.dumps({"about": "Here is the data", "chats": chats}))
    assert for_path(path) == "telegram"
    drafts, _ = read("telegram", path)
    assert [draft.title for draft in drafts] == ["Сад, 2023-03-14", "Pier, 2023-03-14"]


def test_facebook_writes_bytes_as_letters(tmp_path: Path) -> None:
    (draft,), _ = made("messenger", tmp_path)
    assert draft.text == "Jörg: Grüße vom Pier\n(pier.jpg)\n\nAda: Yes ☃"
    assert draft.title == "Jörg, 2023-11-14"


def test_discord_without_who_joined(tmp_path: Path) -> None:
    (draft,), _ = made("discord", tmp_path)
    assert draft.text == "Ada: The lamp burns\n(lamp.png)"
    assert draft.title == "Harbour / #lamps, 2023-11-14"


def test_own_messages_of_discord_know_their_channel(tmp_path: Path) -> None:
    folder = tmp_path / "c77"
    folder.mkdir()
    (folder / "channel.json").write_text('{"id": "77", "name": "lamps", "guild": {"name": "Quay"}}')
    said = [
        {"ID": 1, "Timestamp": "2023-11-14 22:13:20", "Contents": "It burns", "Attachments": ""}
    ]
    (folder / "messages.json").write_text(json.dumps(said))
    (draft,), _ = read("discord", folder)
    assert (draft.text, draft.title) == ("You: It burns", "Quay / #lamps, 2023-11-14")


def test_signal_is_read_once_from_its_two_forms(tmp_path: Path) -> None:
    path = export_samples.signal(tmp_path)
    path.with_name("chat.md").write_text("[2023-05-29 15:04:04] Me: How is the lamp?\n")
    drafts, ledger = read("signal", tmp_path)
    assert [draft.text for draft in drafts] == [
        "Me: How is the lamp?", "Bob: It burns\n(lamp.jpg)",
    ]  # fmt: skip
    assert "data.json beside it has the same messages" in {each.reason for each in ledger}
    path.unlink()
    (draft,), _ = read("signal", tmp_path)
    assert draft.text == "Me: How is the lamp?"


def test_a_note_of_evernote_has_its_tags_dates_and_files(tmp_path: Path) -> None:
    (lamp, oil, pier), _ = made("evernote", tmp_path)
    assert (lamp.title, lamp.tags, lamp.url) == ("The lamp", ("sea",), "https://lamps.example/oil")
    assert lamp.created_at == ms(2024, 5, 1, 10, 15)
    assert "It burns & shines." in lamp.text
    assert "[x] Trim the wick" in lamp.text
    assert "[ ] Buy oil" in lamp.text
    assert (oil.kind, oil.text, oil.metadata["path"]) == ("file", "The oil is dear.", "oil.txt")
    assert lamp.links[0].to == oil.source_id
    assert pier.text == "Oak."


def test_a_note_of_keep_is_not_read_twice(tmp_path: Path) -> None:
    path = export_samples.keep(tmp_path)
    page = path.with_suffix(".html")
    page.write_text("<html><body>For the lamp</body></html>")
    assert for_path(page) == "keep"
    (note,), ledger = read("keep", tmp_path)
    assert note.text == "- [x] Oil\n- [ ] Wick\n\nLamps\nhttps://lamps.example"
    assert (note.title, note.tags) == ("For the lamp", ("sea",))
    assert note.created_at == 1690000000000
    assert "its JSON file beside it has the same note" in {each.reason for each in ledger}


def test_a_note_of_joplin_knows_its_notebook_and_tags(tmp_path: Path) -> None:
    (note,), _ = made("joplin", tmp_path)
    assert (note.title, note.text, note.tags) == ("The lamp", "It burns.\n\nname: value", ("sea",))
    assert (note.metadata["folder"], note.metadata["author"]) == ("Harbour", "Ada")
    assert note.created_at == ms(2024, 5, 1, 10, 15)


def test_a_highlight_has_its_book_place_and_date_in_any_language(tmp_path: Path) -> None:
    (lamp, pier), ledger = made("clippings", tmp_path)
    assert (lamp.title, lamp.metadata["author"]) == ("The Lamp", "Quay, Ada")
    assert lamp.metadata["place"] == "Your Highlight on page 12 | Location 170-172"
    assert lamp.text.startswith("It burns at night.")
    days = [datetime.fromtimestamp((each.created_at or 0) / 1000, UTC) for each in (lamp, pier)]
    assert [f"{day:%Y-%m-%d}" for day in days] == ["2014-05-29", "2015-01-05"]
    assert "1 bookmark without words" in {each.reason for each in ledger}


def test_a_work_in_bibtex_has_what_a_citation_needs(tmp_path: Path) -> None:
    (lamp, oak), ledger = made("library", tmp_path)
    assert (lamp.kind, lamp.title) == ("report", "The Lamp of Küste")
    assert lamp.metadata["authors"] == ["Quay, Ada", "Pier, Bob"]
    assert (lamp.metadata["journal"], lamp.metadata["published"]) == ("Harbour Journal", "2019")
    assert (lamp.url, lamp.tags) == ("https://doi.org/10.1000/lamp", ("lamp", "sea"))
    assert "It burns at night." in lamp.text
    assert oak.metadata["publisher"] == "Sea Press"
    assert not [each for each in ledger if each.outcome == "failed"]


@pytest.mark.parametrize(
    ("name", "said", "day"),
    [
        ("a.bib", "@book{a, title = {Lamp}, year = 2019}", ms(2019, 1, 1)),
        ("a.bib", "@book{a, title = {Lamp}, year = {2019}, month = mar}", ms(2019, 3, 1)),
        ("a.bib", "@book{a, title = {Lamp}, date = {2019-05}}", ms(2019, 5, 1)),
        ("a.bib", "@book{a, title = {Lamp}, year = {in press}}", None),
        ("a.ris", "TY  - BOOK\nTI  - Lamp\nPY  - 2019///\nER  - \n", ms(2019, 1, 1)),
    ],
)
def test_a_work_is_of_the_year_that_it_states(
    name: str, said: str, day: int | None, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(said)
    (draft,), _ = read("library", tmp_path / name)
    assert draft.created_at == day


def test_a_damaged_entry_does_not_hide_the_others(tmp_path: Path) -> None:
    path = tmp_path / "a.bib"
    path.write_text("@article{a, title = {Lamp}}\n@article{b, title = {Pier\n")
    drafts, ledger = read("library", path)
    assert [draft.title for draft in drafts] == ["Lamp"]
    failed = [each.reason for each in ledger if each.outcome == "failed"]
    assert not any(reason.endswith(": ") for reason in failed)
    assert len(failed) == 2


def test_ris_and_csl_give_the_same_work(tmp_path: Path) -> None:
    (tmp_path / "a.ris").write_bytes(export_samples.RIS.encode())
    (tmp_path / "b.json").write_text(
        json.dumps([{
            "id": "r1", "type": "article-journal", "title": "The lamp", "DOI": "10.1000/lamp",
            "author": [{"family": "Quay", "given": "Ada"}, {"family": "Pier", "given": "Bob"}],
            "issued": {"date-parts": [[2019, 5, 1]]}, "container-title": "Harbour Journal",
            "abstract": "It burns at night.",
        }])
    )  # fmt: skip
    (ris,), _ = read("library", tmp_path / "a.ris")
    assert for_path(tmp_path / "b.json") == "library"
    (csl,), _ = read("library", tmp_path / "b.json")
    for field in ("title", "source_id", "url"):
        assert getattr(ris, field) == getattr(csl, field)
    for key in ("authors", "journal", "doi"):
        assert ris.metadata[key] == csl.metadata[key]
    assert ris.created_at == csl.created_at == ms(2019, 5, 1)


def test_zotero_is_read_from_a_copy_of_its_database(tmp_path: Path) -> None:
    path = tmp_path / "zotero.sqlite"
    with closing(sqlite3.connect(path)) as store, store:
        store.executescript(
            """
            create table itemTypes(itemTypeID integer primary key, typeName text);
            create table items(itemID integer primary key, itemTypeID int, dateAdded timestamp,
                key text);
            create table fields(fieldID integer primary key, fieldName text);
            create table itemDataValues(valueID integer primary key, value);
            create table itemData(itemID int, fieldID int, valueID int);
            create table creators(creatorID integer primary key, firstName text, lastName text);
            create table itemCreators(itemID int, creatorID int, orderIndex int);
            create table itemNotes(itemID int, parentItemID int, note text);
            create table deletedItems(itemID int);
            insert into itemTypes values(1, 'journalArticle'), (2, 'note');
            insert into items values(1, 1, '2020-01-01 10:00:00', 'ABCD'), (2, 2, '', 'NOTE'),
                (3, 1, '', 'GONE');
            insert into fields values(1, 'title'), (2, 'date'), (3, 'DOI');
            insert into itemDataValues values(1, 'The lamp'), (2, '2019-05-00 May 2019'),
                (3, '10.1000/lamp');
            insert into itemData values(1, 1, 1), (1, 2, 2), (1, 3, 3), (3, 1, 1);
            insert into creators values(1, 'Ada', 'Quay');
            insert into itemCreators values(1, 1, 0);
            insert into itemNotes values(2, 1, '<p>Read it <b>again</b></p>');
            insert into deletedItems values(3);
            """
        )
    (lamp,), _ = read("library", path)
    assert (lamp.source_id, lamp.title) == ("ABCD", "The lamp")
    assert (lamp.metadata["authors"], lamp.metadata["published"]) == (["Quay, Ada"], "2019-05")
    assert "Read it again" in lamp.text


def firefox(folder: Path) -> Path:
    path = folder / "places.sqlite"
    with closing(sqlite3.connect(path)) as store, store:
        store.executescript(
            "create table moz_places(id integer primary key, url text, title text,"
            " visit_count int, last_visit_date int);"
            "insert into moz_places values(1, 'https://lamps.example/oil', 'Lamp oil', 3,"
            " 1700000000000000), (2, 'https://never.example', '', 0, null);"
        )
    return path


def safari(folder: Path) -> Path:
    path = folder / "History.db"
    with closing(sqlite3.connect(path)) as store, store:
        store.executescript(
            "create table history_items(id integer primary key, url text, visit_count int);"
            "create table history_visits(id integer primary key, history_item int,"
            " visit_time real, title text);"
            "insert into history_items values(1, 'https://lamps.example/oil', 3);"
            "insert into history_visits values(1, 1, 721692799.0, 'Old'),"
            " (2, 1, 721692800.0, 'Lamp oil');"
        )
    return path


@pytest.mark.parametrize("browser", [export_samples.browser_history, firefox, safari])
def test_a_visited_page_has_the_date_of_its_last_visit(
    browser: Callable[[Path], Path], tmp_path: Path
) -> None:
    (page,), _ = read("browser-history", browser(tmp_path))
    assert (page.url, page.title) == ("https://lamps.example/oil", "Lamp oil")
    assert page.created_at == 1700000000000


def test_artifacts_and_documents_of_projects_are_in_the_export_of_claude(tmp_path: Path) -> None:
    def tool(name: str, **given: str) -> dict[str, object]:
        return {"type": "tool_use", "name": name, "input": given}

    talk = {
        "uuid": "u-1", "name": "Glaze", "chat_messages": [
            {"sender": "human", "created_at": "2024-05-01T10:00:00Z",
             "content": [{"type": "text", "text": "Which feldspar?"}]},
            {"sender": "assistant", "created_at": "2024-05-01T10:01:00Z", "content": [
                {"type": "text", "text": "Custer."},
                tool("artifacts", id="r", command="create", title="Recipe", content="Silica 26"),
                tool("artifacts", id="r", command="update", old_str="26", new_str="27"),
            ]},
        ],
    }  # fmt: skip
    project = {"uuid": "p", "name": "Pottery", "prompt_template": "Be brief",
               "docs": [{"uuid": "d", "filename": "firing.md", "content": "Cone 04"}]}  # fmt: skip
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", json.dumps([talk]))
        archive.writestr("projects.json", json.dumps([project]))
    drafts, _ = read("claude-ai", path)
    found = {draft.source_id: (draft.title, draft.text) for draft in drafts}
    assert found["u-1#artifact-r"] == ("Recipe", "Silica 27")
    assert found["d"] == ("firing.md", "Cone 04")
    assert found["p#prompt_template"] == ("Pottery", "Be brief")
    assert [link.to for link in drafts[0].links] == ["u-1#artifact-r"]
