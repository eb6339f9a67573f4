"""A real SMTP server on loopback: STARTTLS or TLS from the start, AUTH, and answers to choose."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from patience import PATIENCE


def certificate(folder: Path) -> Path:
    """The file of a key and its certificate for 127.0.0.1."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = folder / "smtp.pem"
    file.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return file


@dataclass
class Mailbox:
    """What came: (recipient, message), whether over TLS, and with which user and password.

    ``answers`` is the reply to a command, such as ``RCPT``, where it is not the usual one.
    """

    port: int = 0
    messages: list[tuple[str, EmailMessage]] = field(default_factory=list)
    encrypted: bool = False
    login: str = ""
    answers: Mapping[str, str] = field(default_factory=dict)
    came: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait_for(self, count: int) -> list[tuple[str, EmailMessage]]:
        async with asyncio.timeout(PATIENCE):
            while len(self.messages) < count:
                self.came.clear()
                await self.came.wait()
        return self.messages


@asynccontextmanager
async def mailbox(
    certificate: Path | None = None, *, implicit: bool = False
) -> AsyncIterator[Mailbox]:
    """A server; with a certificate it speaks TLS: from the start, or by STARTTLS."""
    box, context = Mailbox(encrypted=implicit), None
    if certificate is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        recipient = ""

        def say(*lines: str) -> None:
            writer.write("".join(f"{line}\r\n" for line in lines).encode())

        say("220 here")
        while line := (await reader.readline()).decode().strip():
            word = line[:4].upper()
            if word in box.answers:
                say(box.answers[word])
            elif word == "EHLO":
                more = ("250-AUTH PLAIN",) if box.encrypted else ("250-STARTTLS",) * bool(context)
                say("250-here", *more, "250 SIZE")
            elif word == "STAR" and context is not None:
                say("220 go on")
                await writer.drain()
                await writer.start_tls(context)
                box.encrypted = True
            elif word == "AUTH":
                box.login = base64.b64decode(line.split()[2]).decode()
                say("235 yes")
            elif word == "DATA":
                say("354 go on")
                content = (await reader.readuntil(b"\r\n.\r\n"))[:-3]
                found = message_from_bytes(content, policy=policy.default)
                assert isinstance(found, EmailMessage)
                box.messages.append((recipient, found))
                box.came.set()
                say("250 taken")
            elif word == "QUIT":
                say("221 bye")
                break
            else:
                recipient = line[8:].strip("<>") if word == "RCPT" else recipient
                say("250 yes")
        writer.close()

    server = await asyncio.start_server(talk, "127.0.0.1", 0, ssl=context if implicit else None)
    async with server:
        box.port = server.sockets[0].getsockname()[1]
        yield box
