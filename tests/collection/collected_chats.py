"""Chats as they are exported: WhatsApp, Telegram, Signal, Discord, Facebook, Google Chat, Slack, agents."""

# ruff: noqa: E501  a case is a row

from __future__ import annotations

import json

from cases import Case, case, zipped

NL = "\n"


def whatsapp(
    shape: str, lines: str, *found: str, name: str = "WhatsApp Chat with Bob.txt", **more: object
) -> Case:
    return case(name, shape, lines, *found, kind="whatsapp", **more)  # type: ignore[arg-type]


def of(kind: str, shape: str, name: str, value: object, *found: str, **more: object) -> Case:
    return case(name, shape, json.dumps(value), *found, kind=kind, **more)  # type: ignore[arg-type]


def folder(kind: str, shape: str, files: dict[str, object], *found: str, **more: object) -> Case:
    written = {
        name: each if isinstance(each, bytes) else json.dumps(each).encode()
        for name, each in files.items()
    }
    return Case(kind, shape, written, found, **more)  # type: ignore[arg-type]


def telegram(*messages: dict[str, object], **more: object) -> dict[str, object]:
    base = {"type": "message", "date": "2023-03-14T18:02:00", "from": "Olga"}
    return {
        "name": "Garden",
        "type": "personal_chat",
        "id": 1,
        "messages": [{"id": n, **base, **each} for n, each in enumerate(messages)],
        **more,
    }


WRONG = "M\u00c3\u00b6we"
POSTS = [
    {
        "timestamp": 1700000000,
        "data": [{"post": f"Posted Avocet, {WRONG}"}],
        "title": "Ada updated her status.",
        "attachments": [
            {
                "data": [
                    {
                        "external_context": {
                            "url": "https://x.example/bittern",
                            "name": "Linked Bittern",
                        }
                    },
                    {"media": {"uri": "photos/crake.jpg", "description": "Photo of Crake"}},
                    {"place": {"name": "Pier Dunlin"}},
                ]
            }
        ],
    },
    {"timestamp": 1700000100, "data": [], "title": "Ada shared a memory."},
]
COMMENTS = {
    "comments_v2": [
        {
            "timestamp": 1700000000,
            "title": "Ada commented on her own post.",
            "data": [
                {
                    "comment": {
                        "timestamp": 1700000000,
                        "comment": "Commented Eider",
                        "author": "Ada",
                    }
                }
            ],
        }
    ]
}
INSTAGRAM = [
    {
        "media": [
            {
                "uri": "media/a.jpg",
                "creation_timestamp": 1700000000,
                "title": f"Caption Fulmar {WRONG}",
            }
        ],
        "title": "",
        "creation_timestamp": 1700000000,
    }
]
GOOGLE = {"messages": [
    {"creator": {"name": "Ada Quay", "email": "ada@x", "user_type": "Human"}, "created_date": "Tuesday, 14 March 2023 at 10:12:00 UTC", "text": "Spoken Gadwall", "topic_id": "t1", "message_id": "s/t1/m1"},
    {"creator": {"name": "Bob", "email": "bob@x", "user_type": "Human"}, "created_date": "Wednesday, March 15, 2023 at 9:05:00 PM UTC", "text": "Answer Hobby", "attached_files": [{"original_name": "plan.pdf", "export_name": "File-plan.pdf"}], "annotations": [{"url_metadata": {"title": "Linked Jackdaw", "url": {"private_do_not_access_or_else_safe_url_wrapped_value": "https://x.example/j"}}}]},
    {"creator": {"name": "Bob"}, "created_date": "Wednesday, March 15, 2023 at 9:06:00 PM UTC", "message_state": "DELETED", "deletion_metadata": {"deletion_type": "CREATOR"}},
]}  # fmt: skip
SLACK_TEXT = [
    {"type": "message", "subtype": "channel_join", "user": "U1", "ts": "1699999999.0", "text": ""},
    {
        "type": "message",
        "user": "U1",
        "ts": "1700000000.000100",
        "text": "Said Kestrel &amp; <https://x.example|link> <@U1>",
    },
    {
        "type": "message",
        "subtype": "bot_message",
        "username": "bot",
        "ts": "1700000001.0",
        "text": "",
        "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "Blocked Linnet"}}],
        "attachments": [{"fallback": "Merlin alert", "text": "Attached Nuthatch"}],
    },
]
CHATGPT = [
    {
        "title": "Lamp",
        "create_time": 1700000000.0,
        "conversation_id": "c1",
        "mapping": {
            "r": {"id": "r", "children": ["a"], "parent": None},
            "a": {
                "id": "a",
                "parent": "r",
                "children": ["b"],
                "message": {
                    "author": {"role": "user"},
                    "create_time": 1700000000.0,
                    "content": {"content_type": "text", "parts": ["Asked Osprey"]},
                },
            },
            "b": {
                "id": "b",
                "parent": "a",
                "children": [],
                "message": {
                    "author": {"role": "assistant"},
                    "create_time": 1700000001.0,
                    "content": {
                        "content_type": "multimodal_text",
                        "parts": [{"content_type": "image_asset_pointer"}, "Answered Plover"],
                    },
                },
            },
        },
        "current_node": "b",
    }
]
CLAUDE = [
    {
        "uuid": "u1",
        "name": "Lamp",
        "created_at": "2024-05-01T10:00:00Z",
        "updated_at": "2024-05-01T10:00:00Z",
        "chat_messages": [
            {
                "uuid": "m1",
                "sender": "human",
                "text": "Asked Quail",
                "created_at": "2024-05-01T10:00:00Z",
                "content": [{"type": "text", "text": "Asked Quail"}],
                "attachments": [{"file_name": "plan.txt", "extracted_content": "Pasted Redshank"}],
                "files": [],
            }
        ],
    }
]

CHATS: tuple[Case, ...] = (
    whatsapp("12 hours, first month", "[3/14/23, 9:41:05\u202fPM] Ada: Said Avocet\n[3/14/23, 9:42:05\u202fPM] Bob: Answer Bittern\nsecond line\n", "Said Avocet", "Answer Bittern\nsecond line"),
    whatsapp("German with a system line", "14.03.23, 21:41 - Nachrichten sind verschlüsselt.\n14.03.23, 21:42 - Ada: Said Crake\n14.03.23, 21:43 - Bob: <Medien ausgeschlossen>\n", "Said Crake", said=("1 notice of WhatsApp itself, such as who joined",)),
    whatsapp("Brazilian", "14/03/2023 21:41 - Ada: Disse Dunlin\n15/03/2023 21:42 - Bob: Sim: Eider\n", "Disse Dunlin", "Sim: Eider"),
    whatsapp("ISO with seconds", "[2023-03-14, 21:41:05] Ada: Said Fulmar\n[2023-03-14, 21:41:06] Ada: More Gadwall\n", "Said Fulmar", "More Gadwall", name="_chat.txt"),
    whatsapp("a. m. in Spanish", "14/3/23, 9:41 p.\u00a0m. - Ada: Dijo Hobby\n14/3/23, 9:42 p.\u00a0m. - Bob: Sí Jackdaw\n", "Dijo Hobby", "Sí Jackdaw"),
    whatsapp("Dutch with dashes", "14-03-2023 21:41 - Ada: Zei Kestrel\n14-03-2023 21:42 - Bob: Ja Linnet\n", "Zei Kestrel", "Ja Linnet"),
    whatsapp("French of old", "14/03/2023 à 21:41 - Ada: Dit Pipit\n14/03/2023 à 21:42 - Bob: Oui Quail\n", "Dit Pipit", "Oui Quail", records=1),
    whatsapp("Japanese", "2023/03/14 21:41 - Ada: 言った Merlin\n2023/03/14 21:42 - Bob: はい Nuthatch\n", "言った Merlin", "はい Nuthatch"),
    of("telegram", "edited, forwarded and replied", "result.json", telegram({"text": "Said Osprey"}, {"text": [{"type": "bold", "text": "Bold Plover"}, " and"], "forwarded_from": "Quail Club"}, {"text": "", "file": "files/redshank.pdf", "file_name": "redshank.pdf"}), "Said Osprey", "Bold Plover and", "redshank.pdf"),
    of("telegram", "notices", "result.json", telegram({"text": "Said Pipit"}, {"type": "service", "action": "edit_group_title", "title": "Quail Club"}, {"type": "service", "action": "join_group_by_link"}), "Said Pipit", said=("2 notices of Telegram itself, such as who joined",)),
    of("telegram", "poll, contact and place", "result.json", telegram({"text": "", "poll": {"question": "Which Sanderling?", "answers": [{"text": "The Tern", "voters": 1}]}}, {"text": "", "contact_information": {"first_name": "Urial", "last_name": "", "phone_number": "+49 171"}}, {"text": "", "location_information": {"latitude": 54.3, "longitude": 10.1}, "place_name": "Pier Veery"}), "Which Sanderling?", "The Tern", "Urial", "Pier Veery"),
    of("signal", "in lines", "Bob/data.json", {"date": "2023-05-29T15:04:04", "sender": "Me", "body": "Said Wren", "quote": "", "sticker": None, "reactions": [], "attachments": []}, "Said Wren"),
    of("discord", "embeds, replies, stickers", "Harbour - lamps [77].json", {"guild": {"id": "9", "name": "Harbour"}, "channel": {"id": "77", "type": "GuildTextChat", "name": "lamps"}, "messages": [{"id": "1", "type": "Reply", "timestamp": "2023-11-14T22:13:20+00:00", "content": "Said Yellowhammer", "author": {"id": "5", "name": "ada"}, "attachments": [], "embeds": [{"title": "Title Avocet", "description": "Described Bittern", "fields": [{"name": "Field", "value": "Crake"}], "footer": {"text": "Footer Dunlin"}}]}, {"id": "2", "type": "ChannelPinnedMessage", "timestamp": "2023-11-14T22:13:21+00:00", "content": "Pinned a message.", "author": {"id": "5", "name": "ada"}}], "messageCount": 2}, "Said Yellowhammer", "Title Avocet", "Described Bittern", "Crake", "Footer Dunlin", said=("1 notice of Discord itself, such as who joined",)),
    folder("discord", "one's own messages as CSV", {"messages/c77/messages.csv": b"ID,Timestamp,Contents,Attachments\n1,2021-11-14 22:13:20.123000+00:00,Written Eider,\n", "messages/c77/channel.json": {"id": "77", "type": 0, "name": "lamps"}}, "Written Eider"),
    folder("facebook", "messages in two files", {"inbox/bob_1/message_1.json": {"participants": [{"name": "Ada"}], "messages": [{"sender_name": "Ada", "timestamp_ms": 1700000060000, "content": f"Newer {WRONG}"}], "title": "Bob", "thread_path": "inbox/bob_1"}, "inbox/bob_1/message_2.json": {"participants": [{"name": "Ada"}], "messages": [{"sender_name": "Ada", "timestamp_ms": 1600000060000, "content": "Older Fulmar"}], "title": "Bob", "thread_path": "inbox/bob_1"}}, "Newer Möwe", "Older Fulmar"),
    of("facebook", "posts", "your_facebook_activity/posts/your_posts__check_ins__photos_and_videos_1.json", POSTS, "Posted Avocet, Möwe", "Linked Bittern", "https://x.example/bittern", "Photo of Crake", "Pier Dunlin"),
    of("facebook", "comments", "comments_and_reactions/comments.json", COMMENTS, "Commented Eider"),
    of("instagram", "captions", "your_instagram_activity/content/posts_1.json", INSTAGRAM, "Caption Fulmar Möwe"),
    folder("google-chat", "space with its name", {"Google Chat/Groups/Space AAA/messages.json": GOOGLE, "Google Chat/Groups/Space AAA/group_info.json": {"name": "Harbour Club", "members": [{"name": "Ada Quay", "email": "ada@x"}]}}, "Spoken Gadwall", "Answer Hobby", "plan.pdf", "Linked Jackdaw", "Harbour Club", "2023-03-14", "2023-03-15", records=2, said=("messages.json beside it",)),
    folder("google-chat", "direct messages", {"Google Chat/Groups/DM BBB/messages.json": GOOGLE, "Google Chat/Groups/DM BBB/group_info.json": {"members": [{"name": "Ada Quay"}, {"name": "Bob"}]}}, "Spoken Gadwall", "Answer Hobby", "Ada Quay, Bob", said=("messages.json beside it",)),
    case("export.zip", "workspace", zipped({"users.json": json.dumps([{"id": "U1", "name": "ada", "profile": {"real_name": "Ada Quay"}}]), "channels.json": json.dumps([{"id": "C1", "name": "lamps", "members": ["U1"]}]), "lamps/2023-11-14.json": json.dumps(SLACK_TEXT)}), "Said Kestrel", "Blocked Linnet", "Attached Nuthatch", kind="slack", said=("1 notice of Slack itself, such as who joined",)),
    case("chatgpt.zip", "picture and text", zipped({"conversations.json": json.dumps(CHATGPT), "chat.html": "<html></html>"}), "Asked Osprey", "Answered Plover", kind="chatgpt"),
    case("claude.zip", "pasted file", zipped({"conversations.json": json.dumps(CLAUDE), "users.json": "[]"}), "Asked Quail", "Pasted Redshank", kind="claude"),
)  # fmt: skip
