"""Documents over HTTP: sent as a form, read by a job, opened in parts."""

from __future__ import annotations

import asyncio
import hashlib
import json
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from aiohttp import FormData
from http_worker import AUTHORIZED, Client, lifecycle_of
from people import join

from chosen_store import rows_on_the_server
from mem_search.features.documents import uploads
from mem_search.model import Location
from mem_search.settings import Settings

PAGES = b"# The lamp\n\nIt burns oil.\n\n" + b"The quay is long and the night is dark. " * 120


async def send(
    client: Client, data: bytes | None, filename: str = "lamp.md", **fields: str
) -> tuple[int, dict[str, Any]]:
    form = FormData()
    for key, value in fields.items():
        form.add_field(key, value)
    if data is not None:
        form.add_field("file", data, filename=filename)
    else:
        form.add_field("title", "no file", content_type="text/plain")
    reply = await client.post("/documents/upload", data=form, headers=AUTHORIZED)
    return reply.status, await reply.json()


async def read(
    client: Client, data: bytes, filename: str = "lamp.md", **fields: str
) -> dict[str, Any]:
    """The job of an upload, once it has ended."""
    status, body = await send(client, data, filename, **fields)
    assert status == 202, body
    for _ in range(3000):
        job = await (await client.get(f"/api/jobs/{body['job']}", headers=AUTHORIZED)).json()
        if job["state"] not in ("queued", "running"):
            return dict(job)
        await asyncio.sleep(0.02)
    raise AssertionError("the job did not end")


async def get(client: Client, path: str, status: int = 200) -> Any:
    reply = await client.get(path, headers=AUTHORIZED)
    assert reply.status == status, await reply.text()
    return await reply.json() if "json" in reply.content_type else await reply.text()


async def test_a_document_is_stored_with_what_is_said_about_it(
    empty: Client, settings: Settings
) -> None:
    job = await read(
        empty, PAGES, source_type="google_drive", source_id="drive-7", title="Lamps",
        created_at="2024-10-03T12:00:00Z", tags="harbour,night", project="quay",
        metadata=json.dumps({"vendor": "Quay & Sons", "amount": 12.5}),
    )  # fmt: skip
    assert job["state"] == "done", job
    ref = job["result"]["document"]
    document = await get(empty, f"/documents/{ref}")
    assert {n: document[n] for n in ("id", "source_type", "source_id", "title", "project")} == {
        "id": ref, "source_type": "google_drive", "source_id": "drive-7", "title": "Lamps",
        "project": "quay",
    }  # fmt: skip
    assert (document["created_at"], document["tags"]) == (
        "2024-10-03T12:00:00.000Z", ["harbour", "night"],
    )  # fmt: skip
    assert (document["metadata"]["vendor"], document["metadata"]["amount"]) == ("Quay & Sons", 12.5)
    assert document["metadata"]["sha256"] == hashlib.sha256(PAGES).hexdigest()
    assert await get(empty, f"/documents/{document['number']}") == document
    assert await get(empty, "/documents?source_id=drive-7") == document
    assert document["created_at"] < document["added_at"]
    lost = await get(empty, "/documents?source_id=drive-7&source=files", 404)
    assert (lost["code"], lost["field"]) == ("not_found", "source_id")
    assert list(settings.spool_dir.iterdir()) == []
    found = await get(empty, "/api/search?query=tag:harbour+oil&mode=keyword&format=json")
    assert [result["ref"] for result in found["results"]] == [ref]


async def test_its_text_and_passages_are_opened_with_their_neighbours(empty: Client) -> None:
    ref = (await read(empty, PAGES))["result"]["document"]
    text = await get(empty, f"/documents/{ref}/content")
    assert text == PAGES.decode().rstrip()
    listed = await get(empty, f"/documents/{ref}/passages")
    passages = listed["passages"]
    assert (listed["document"], listed["total"]) == (ref, len(passages))
    assert [each.get("index") for each in passages] == [None, None, *range(len(passages) - 2)]
    assert len(passages) > 5
    assert (passages[0]["type"], passages[0]["text"]) == ("title", "The lamp")
    assert passages[1]["type"] == "summary"
    for each in passages[1:]:
        assert each["text"] == text[each["start"] : each["end"]]
    near = await get(empty, f"/documents/{ref}/passages?around=2&neighbours=1")
    assert near["passages"] == passages[3:6]
    paged = await get(empty, f"/documents/{ref}/passages?offset=1&limit=2")
    assert paged["passages"] == passages[1:3]
    assert (await get(empty, f"/documents/{ref}/passages?around=99", 422))["field"] == "around"
    assert (await get(empty, f"/documents/{ref}/content?page=2", 422))["field"] == "page"
    for path in ("/documents/file:999", "/documents/999/content", "/documents/999/original"):
        assert (await get(empty, path, 404))["code"] == "not_found"
    assert (await get(empty, "/documents/lamp", 422))["field"] == "id"


async def test_the_same_file_is_recognised_and_another_under_its_id_is_refused(
    empty: Client,
) -> None:
    first = (await read(empty, b"It burns oil."))["result"]
    again = (await read(empty, b"It burns oil.", "copy.md"))["result"]
    assert again["document"] == first["document"]
    named = (await read(empty, b"It burns oil.", source_id="x"))["result"]["document"]
    assert named != first["document"]
    status, problem = await send(empty, b"It burns gas.", source_id="x")
    assert (status, problem["code"], problem["field"]) == (409, "conflict", "source_id")
    assert named in problem["detail"]
    job = await read(empty, b"It burns gas.", source_id="x", replace="true")
    assert job["result"]["document"] == named
    assert await get(empty, f"/documents/{named}/content") == "It burns gas."
    form = FormData({"source_id": "x"})
    form.add_field("file", b"It burns wood.", filename="lamp.md")
    reply = await empty.post("/documents/upload?replace=true", data=form, headers=AUTHORIZED)
    assert reply.status == 202, await reply.text()


async def test_an_id_is_taken_while_the_file_that_has_it_waits(empty: Client) -> None:
    sent = [send(empty, text, source_id="x") for text in (b"It burns oil.", b"It burns gas.")]
    (first, job), (second, problem) = sorted(await asyncio.gather(*sent), key=lambda each: each[0])
    assert (first, second, problem["field"]) == (202, 409, "source_id"), problem
    assert job["job"] in problem["detail"]


async def test_a_file_of_many_programs_is_read_by_the_source_that_knows_its_content(
    empty: Client,
) -> None:
    packed = BytesIO()
    with ZipFile(packed, "w") as archive:
        archive.writestr("lamp.txt", "It burns oil.")
    assert (await read(empty, packed.getvalue(), "papers.zip"))["state"] == "done"
    assert (await get(empty, "/api/search?query=burns"))["counts_by_type"] == {"file": 1}
    assert (await read(empty, b'{"lamp": "oil"}', "lamp.json"))["result"]["document"]
    status, problem = await send(empty, b"\0\0\0\x18ftypmp42" + b"\0" * 99, "film.mp4")
    assert status == 415
    assert "save that as text, HTML or PDF" in problem["detail"]


async def test_a_mail_without_anything_fails_its_job(empty: Client) -> None:
    job = await read(empty, b" \n", "letter.eml")
    assert job["state"] == "failed", job
    assert job["message"] == "letter.eml: the file is empty"


async def test_what_is_wrong_with_a_form_is_named_by_field_and_leaves_nothing(
    empty: Client, settings: Settings
) -> None:
    for data, fields, status, named in (
        (None, {}, 422, {"file"}),
        (b"", {}, 422, {"file"}),
        (b"x", {"colour": "red"}, 422, {"colour"}),
        (b"x", {"metadata": "[1]", "created_at": "soon"}, 422, {"metadata", "created_at"}),
        (b"x", {"metadata": "{"}, 422, {"metadata"}),
        (
            b"x",
            {
                "source_type": "invoice",
                "metadata": '{"amount": "12 EUR", "due_date": "soon"}',
                "created_at": "soon",
            },
            422,
            {"created_at", "metadata.amount", "metadata.due_date"},
        ),
        (b"x", {"name": "../x.md"}, 422, {"name"}),
        (b"x", {"replace": "perhaps"}, 422, {"replace"}),
        (b"x", {f"f{number}": "x" for number in range(50)}, 422, {"f11"}),
        (b"\x89PNG\r\n\x1a\n", {"name": "lamp"}, 415, {"file"}),
        (b"\x7fELF\0\0", {"name": "lamp"}, 415, {"file"}),
    ):
        got, problem = await send(empty, data, **fields)
        assert got == status, (fields, problem)
        assert {fault["parameter"] for fault in problem["errors"]} == named, problem
    assert list(settings.spool_dir.iterdir()) == []
    listed = await get(empty, "/api/jobs")
    assert listed["jobs"] == []


async def test_a_file_over_the_limit_is_refused_before_all_of_it_came(
    empty: Client, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "MAX_BYTES", 2**19)
    status, problem = await send(empty, b"x" * (2**19 + 1))
    assert (status, problem["code"], problem["field"]) == (413, "body_too_large", "file")
    assert list(settings.spool_dir.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("lamp.pdf", b"%PDF-1.4\nhalf of it", "damaged or cut off"),
        ("lamp.docx", b"PK\x03\x04 half of it", "damaged or cut off"),
        ("lamp.pdf", b"Not found", "its name says that it is a PDF"),
        ("blank.txt", b"   \n", "no text"),
    ],
)
async def test_a_document_that_cannot_be_read_fails_its_job_with_the_reason(
    empty: Client, name: str, data: bytes, reason: str
) -> None:
    job = await read(empty, data, name)
    assert (job["state"], reason in job["message"]) == ("failed", True), job
    ledger = await get(empty, f"/api/ledger?item={name}")
    assert reason in ledger["entries"][0]["reason"]


MAIL = (
    b"From: ada@example.org\r\nSubject: Oil\r\nMessage-ID: <1@x>\r\nMIME-Version: 1.0\r\n"
    b'Content-Type: multipart/mixed; boundary="b"\r\n\r\n--b\r\n\r\nThe oil is here.\r\n--b\r\n'
    b'Content-Type: text/plain; name="list.txt"\r\n'
    b'Content-Disposition: attachment; filename="list.txt"\r\n\r\nTen barrels\r\n--b--\r\n'
)


async def test_a_message_takes_what_every_upload_takes(empty: Client) -> None:
    job = await read(
        empty, MAIL, "oil.eml", source_id="oil-1", title="Mine", tags="harbour,night",
        created_at="2014-04-03T12:00:00Z", project="quay", url="https://example.org/oil",
        metadata=json.dumps({"vendor": "Quay", "tags": ["barrel"]}),
    )  # fmt: skip
    assert job["state"] == "done", job
    mail, attached = [await get(empty, f"/documents/{e}") for e in job["result"]["documents"]]
    assert mail["id"] == job["result"]["document"]
    assert {n: mail[n] for n in ("kind", "source_id", "title", "project", "created_at")} == {
        "kind": "email", "source_id": "oil-1", "title": "Mine", "project": "quay",
        "created_at": "2014-04-03T12:00:00.000Z",
    }  # fmt: skip
    assert mail["metadata"]["vendor"] == "Quay"
    assert mail["tags"] == attached["tags"] == ["barrel", "harbour", "night"]
    assert attached["metadata"]["attached_to"] == "oil-1"
    found = await get(empty, "/api/search?query=tag:barrel+oil&mode=keyword&format=json")
    assert [each["ref"] for each in found["results"]][:1] == [mail["id"]]
    status, problem = await send(empty, MAIL.replace(b"Ten", b"Six"), "oil.eml", source_id="oil-1")
    assert (status, problem["field"]) == (409, "source_id")


async def test_a_message_with_a_given_id_is_replaced_by_another_message(empty: Client) -> None:
    first = await read(empty, MAIL, "oil.eml", source_id="oil-1", title="Mine")
    other = MAIL.replace(b"The oil is here", b"The oil is gone")
    job = await read(empty, other, "oil.eml", source_id="oil-1", replace="true")
    assert job["result"]["document"] == first["result"]["document"]
    mail = await get(empty, f"/documents/{job['result']['document']}")
    assert (mail["source_id"], mail["title"]) == ("oil-1", "Oil")
    found = await get(empty, "/api/search?query=kind:email+oil&mode=keyword&format=json")
    assert [each["snippet"] for each in found["results"]] == ["The oil is gone."]


async def test_a_file_of_many_records_takes_only_what_holds_for_all(empty: Client) -> None:
    line = {"kind": "note", "text": "It burns oil.", "metadata": {"tags": "lamp, quay"}}
    data = "".join(json.dumps({**line, "source_id": str(n)}) + "\n" for n in range(2)).encode()
    status, problem = await send(empty, data, "notes.jsonl", title="Mine")
    assert (status, problem["field"]) == (422, "title")
    job = await read(empty, data, "notes.jsonl", tags="night", project="quay")
    assert [job["result"]["document"]] == job["result"]["documents"][:1]
    notes = [await get(empty, f"/documents/{each}") for each in job["result"]["documents"]]
    assert [each["tags"] for each in notes] == [["lamp", "night", "quay"]] * 2
    assert {each["project"] for each in notes} == {"quay"}
    assert all("tags" not in each["metadata"] for each in notes)


async def test_tags_in_the_metadata_are_the_tags_of_a_record(empty: Client) -> None:
    sent = {"kind": "note", "text": "It burns oil.", "metadata": {"tags": ["lamp"], "x": 1}}
    made = await (await empty.post("/api/records", json=sent, headers=AUTHORIZED)).json()
    assert (made["tags"], made["metadata"]) == (["lamp"], {"x": 1})
    found = await get(empty, "/api/search?query=oil&tags=lamp&mode=keyword&format=json")
    assert [each["ref"] for each in found["results"]] == [made["ref"]]
    uploaded = (await read(empty, b"The lamp.", metadata='{"tags": ["lamp"]}'))["result"]
    assert (await get(empty, f"/documents/{uploaded['document']}"))["tags"] == ["lamp"]


BILL = b"Stadtwerke GmbH\nRechnung\nRechnungsdatum: 03.04.2014\nGesamtbetrag: 820,00 EUR\n"


async def test_a_bill_is_from_the_day_that_it_bears_and_both_days_are_shown(
    empty: Client,
) -> None:
    for name, given in (("bill.txt", {}), ("mine.txt", {"created_at": "2020-01-02T12:00:00Z"})):
        ref = (await read(empty, BILL + name.encode(), name, **given))["result"]["document"]
        shown = await get(empty, f"/documents/{ref}")
        stated = given.get("created_at", "2014-04-03T12:00:00Z")[:10]
        assert shown["created_at"][:10] == stated, "what a person says comes first"
        assert shown["metadata"]["from_text"]["document_date"] == "2014-04-03"
    for asked, names in (("since:2014-04-03+until:2014-04-03", ["bill"]), ("in:2020", ["mine"])):
        found = await get(empty, f"/api/search?query={asked}&format=json")
        assert [each["title"] for each in found["results"]] == names, asked


async def test_secrets_in_what_is_said_are_redacted(empty: Client) -> None:
    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"
    job = await read(
        empty, f"key {secret}".encode(), f"{secret}.txt", source_id=secret, title=secret,
        metadata=json.dumps({"token": secret}), tags=secret, project=secret,
        url=f"https://example.org/?token={secret}",
    )  # fmt: skip
    assert job["state"] == "done", job
    assert secret not in json.dumps(job)
    ref = job["result"]["document"]
    for path in (f"/documents/{ref}", f"/documents/{ref}/passages", "/api/jobs", "/api/ledger"):
        assert secret not in json.dumps(await get(empty, path)), path
    home = lifecycle_of(empty).settings.home
    files = [file.read_bytes() for file in home.glob("mem-search.db*")]
    rows = [str(rows) for _, rows in rows_on_the_server(home)]
    assert files or any("https://example.org/" in each for each in rows)
    assert secret.encode() not in b"".join(files)
    assert secret not in "".join(rows)


async def test_the_original_of_a_followed_file_is_sent_while_it_is_unchanged(
    empty: Client, tmp_path: Path
) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "lamp.txt").write_text("It burns oil.")
    (tmp_path / "secret.txt").write_text("outside")
    runtime = lifecycle_of(empty).runtime
    await runtime.ingest.reader.read(Location("files", str(folder)))
    record = await runtime.store.records.named("files", str(folder / "lamp.txt"))
    assert record is not None
    path = f"/documents/{record.ref}/original"
    reply = await empty.get(path, headers=AUTHORIZED)
    assert await reply.read() == b"It burns oil."
    assert reply.headers["Content-Disposition"] == 'attachment; filename="lamp.txt"'
    assert (await empty.get(path)).status == 401  # an original is not redacted
    ada = await join(empty, "ada")
    assert (await empty.get(path, headers=ada.headers)).status in (403, 404)
    # A record can say that it was read from anywhere; the file was not.
    forged = {"kind": "file", "source": "files", "text": "x",
              "source_id": str(tmp_path / "secret.txt")}  # fmt: skip
    made = await (await empty.post("/api/records", json=forged, headers=AUTHORIZED)).json()
    assert (await get(empty, f"/documents/{made['ref']}/original", 404))["field"] == "id"
    (folder / "lamp.txt").unlink()
    (folder / "lamp.txt").symlink_to(tmp_path / "secret.txt")
    assert "moved or changed" in (await get(empty, path, 404))["detail"]


async def test_a_user_uploads_into_a_store_of_their_own(empty: Client) -> None:
    ada = await join(empty, "ada")
    form = FormData()
    form.add_field("file", b"It burns oil.", filename="lamp.txt")
    reply = await empty.post("/documents/upload", data=form, headers=ada.headers)
    assert reply.status == 202
    assert (await get(empty, "/documents/1", 404))["field"] == "id"


PART = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'


NESTED = b"--x\r\nContent-Type: multipart/mixed; boundary=y\r\n\r\n--y\r\n\r\n--y--\r\n--x--\r\n"
FORM = "multipart/form-data; boundary=x"


@pytest.mark.parametrize(
    ("content_type", "body", "status"),
    [
        ("multipart/form-data", b"no boundary", 400),
        (FORM, b"", 400),
        (FORM, b"garbage", 400),
        (FORM, PART + b"half of a file", 400),
        (FORM, b"--x\r\nno header\r\n\r\n\r\n--x--\r\n", 400),
        (FORM, PART.replace(b'"file"', b'"\xff"') + b"a\r\n--x--\r\n", 422),
        (FORM, b"--x\r\nX: " + b"y" * 100_000 + b"\r\n\r\n\r\n--x--\r\n", 400),
        (FORM, NESTED, 400),
        ("multipart/mixed; boundary=x", PART + b"a\r\n--x--\r\n", 415),
        ("application/json", b"{}", 415),
    ],
)
async def test_a_body_that_is_no_form_is_refused_and_leaves_nothing(
    empty: Client, settings: Settings, content_type: str, body: bytes, status: int
) -> None:
    headers = {**AUTHORIZED, "Content-Type": content_type}
    reply = await empty.post("/documents/upload", data=body, headers=headers)
    assert reply.status == status, await reply.text()
    left = list(settings.spool_dir.iterdir()) if settings.spool_dir.exists() else []
    assert left == []


async def test_passages_of_recognised_text_have_a_type_of_their_own(empty: Client) -> None:
    found = {}
    for name, metadata in {
        "picture": {"ocr": "tesseract", "ocr_confidence": 0.8},
        "scan": {"ocr": "tesseract", "ocr_pages": 2, "pages": 2},
        "partly": {"ocr": "tesseract", "ocr_pages": 1, "pages": 2},
        "typed": {"pages": 2},
    }.items():
        record = {"kind": "file", "source_id": name, "text": "It burns\foil.", "metadata": metadata}
        made = await (await empty.post("/api/records", json=record, headers=AUTHORIZED)).json()
        reply = await get(empty, f"/documents/{made['ref']}/passages")
        found[name] = [passage["type"] for passage in reply["passages"]]
    assert found == {
        "picture": ["title", "ocr"],
        "scan": ["title", "ocr"],
        "partly": ["title", "content"],
        "typed": ["title", "content"],
    }


HEADED = (
    "---\ndescription: All about the lamps of this coast\n---\n# Guide\n\n## Lamps\n\n"
    + "The keeper fills the lamp with oil. " * 60
    + "\n\n## Prices\n\n| name | price |\n|---|---|\n"
    + "".join(f"| lamp {n} | {n} EUR |\n" for n in range(99))
    + "| zeppelin | 7 EUR |\n"
)  # fmt: skip


async def test_passages_follow_the_structure_and_a_result_says_under_which_heading(
    empty: Client,
) -> None:
    ref = (await read(empty, HEADED.encode(), "guide.md"))["result"]["document"]
    title, summary, *content = (await get(empty, f"/documents/{ref}/passages"))["passages"]
    assert (title["type"], title["text"]) == ("title", "Guide")
    assert (summary["type"], summary.keys() & {"index"}) == ("summary", set())
    assert summary["text"] == "All about the lamps of this coast"
    assert [each["index"] for each in content] == list(range(len(content)))
    assert content[0]["heading"] == "Guide"
    assert content[-1]["heading"] == "Guide › Prices"
    assert content[-1]["above"] == "# Guide\n## Prices\n| name | price |"
    assert (await get(empty, f"/documents/{ref}"))["passages"] == len(content)
    near = await get(empty, f"/documents/{ref}/passages?around=1&neighbours=1")
    assert near["passages"] == content[:3]
    last = len(content) - 1
    near = await get(empty, f"/documents/{ref}/passages?around={last}&neighbours=0")
    assert near["passages"] == content[-1:]
    await get(empty, f"/documents/{ref}/passages?around={last + 1}", 422)
    body = {"query": "zeppelin", "bm25_weight": 1, "vector_weight": 0, "graph_weight": 0}
    reply = await empty.post("/api/v2/search/hybrid", json=body, headers=AUTHORIZED)
    item = (await reply.json())["data"]["items"][0]
    assert (item["chunk_index"], item["total_chunks"]) == (content[-1]["index"], len(content))
    found = await get(empty, "/api/search?query=zeppelin&mode=keyword&format=json")
    assert found["results"][0]["snippet_span"]["heading"] == "Guide › Prices"
    # The words of the head are found with the row, and the row is what is shown.
    found = await get(empty, "/api/search?query=zeppelin+name+price&mode=keyword&format=json")
    assert "zeppelin" in found["results"][0]["snippet"]


async def test_nobody_else_finds_a_document_by_its_source_id(empty: Client) -> None:
    await read(empty, PAGES, source_id="drive-7", title="Zebra")
    path, scope = "/documents?source_id=drive-7", {"filter": "tag:work"}
    made = await empty.put("/api/v1/scopes/work", json=scope, headers=AUTHORIZED)
    assert made.status in (200, 201), await made.text()
    guest = await join(empty, "", "guest", scope="work")
    for other, status in ((await join(empty, "ada"), 404), (guest, 403)):
        reply = await empty.get(path, headers=other.headers)
        assert reply.status == status
        assert "Zebra" not in await reply.text()
    assert (await get(empty, path))["title"] == "Zebra"
