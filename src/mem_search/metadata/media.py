"""Documents that are known by their form: files, pictures, pages, notes, chats."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from mem_search.metadata.common import Day, DocumentMetadata, Text, Texts


class Pdf(DocumentMetadata):
    """A PDF or an office file. ``ocr_confidence`` is from 0 to 1."""

    type_name = "pdf"
    also = ("docx", "document", "file", "scan")

    author: Text | Texts | None = None
    pages: Annotated[int, Field(ge=0)] | None = None
    keywords: Texts | None = None
    description: Text | None = None
    ocr_confidence: Annotated[float, Field(ge=0, le=1)] | None = None


class Image(DocumentMetadata):
    """A picture or a photograph."""

    type_name = "image"
    also = ("photo", "picture", "screenshot")

    author: Text | Texts | None = None
    description: Text | None = None
    camera: Text | None = None
    ocr_confidence: Annotated[float, Field(ge=0, le=1)] | None = None


class WebPage(DocumentMetadata):
    """A web page."""

    type_name = "website"
    also = ("web", "webpage", "web_page", "bookmark")

    author: Text | Texts | None = None
    site: Text | None = None
    published: Day | None = None
    domain: Text | None = None


class Note(DocumentMetadata):
    """A note."""

    type_name = "note"
    also = ("markdown", "memo")

    folder: Text | None = None
    aliases: Texts | None = None


class Chat(DocumentMetadata):
    """A talk of people, or of a person with a model."""

    type_name = "chat"
    also = ("conversation",)

    participants: Texts | None = None
    channel: Text | None = None
