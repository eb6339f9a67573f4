"""A real IMAP server on loopback for tests: pymap, with its store in memory, in a thread."""

from __future__ import annotations

import asyncio
import imaplib
import ssl
import threading
from argparse import Namespace
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from proxyprotocol.reader import ProxyProtocolReader
from proxyprotocol.version import ProxyProtocolVersion
from pymap.backend.dict import DictBackend
from pymap.imap import IMAPServer

from patience import PATIENCE

USER = "ada"
PASSWORD = 'lamp "oil" \\ Öl'


class ImapServer:
    """``port`` is where it listens; ``commands`` are the lines that clients have sent."""

    def __init__(self, certificate: Path | None, *, implicit: bool) -> None:
        self.port = 0
        self.commands: list[str] = []
        self._certificate = certificate
        self._implicit = implicit
        self._ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._task: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, name="imap server")
        self._thread.start()
        assert self._ready.wait(PATIENCE)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._task = self._loop.create_task(self._serve())
        with suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._task)
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    async def _serve(self) -> None:
        args = Namespace(
            host="127.0.0.1", port=0, debug=False, cert=self._certificate, key=None,
            tls=self._certificate is not None, passlib_cfg=None, proxy_protocol=None,
            demo_data=False, demo_user=USER, demo_password=PASSWORD, inherited_sockets=None,
        )  # fmt: skip
        backend, config = await DictBackend.init(args, invalid_user_sleep=0.0)
        config.apply_context()
        commands = self.commands

        class Recorded(IMAPServer):
            async def __call__(self, reader, writer, sock_info) -> None:  # type: ignore[no-untyped-def]
                read = reader.readline

                async def readline() -> bytes:
                    line: bytes = await read()
                    commands.append(line.decode("utf-8", "replace").strip())
                    return line

                reader.readline = readline
                await super().__call__(reader, writer, sock_info)

        reader = ProxyProtocolReader(ProxyProtocolVersion.get(None))
        context = config.ssl_context if self._implicit else None
        async with AsyncExitStack() as stack:
            await backend.start(stack)
            server = await asyncio.start_server(
                reader.get_callback(Recorded(backend.login, config)), "127.0.0.1", 0, ssl=context
            )
            self.port = server.sockets[0].getsockname()[1]
            self._ready.set()
            async with server:
                await server.serve_forever()

    def close(self) -> None:
        assert self._task is not None
        self._loop.call_soon_threadsafe(self._task.cancel)
        self._thread.join(PATIENCE)

    @contextmanager
    def client(self) -> Iterator[imaplib.IMAP4]:
        """Another mail program, which may write."""
        if self._implicit:
            assert self._certificate is not None
            context = ssl.create_default_context(cafile=str(self._certificate))
            client: imaplib.IMAP4 = imaplib.IMAP4_SSL("127.0.0.1", self.port, ssl_context=context)
        else:
            client = imaplib.IMAP4("127.0.0.1", self.port)
        with client:
            client.authenticate("PLAIN", lambda _: f"\0{USER}\0{PASSWORD}".encode())
            yield client

    def deliver(self, *messages: bytes, folder: str = "INBOX") -> None:
        with self.client() as client:
            if folder != "INBOX":
                client.create(f'"{folder}"')
            for message in messages:
                state, said = client.append(
                    f'"{folder}"', "", imaplib.Time2Internaldate(0), message
                )
                assert state == "OK", said


@contextmanager
def imap_server(certificate: Path | None = None, *, implicit: bool = False) -> Iterator[ImapServer]:
    """A server; with a ``certificate`` it offers STARTTLS, or ``implicit`` TLS."""
    server = ImapServer(certificate, implicit=implicit)
    try:
        yield server
    finally:
        server.close()


def write_certificate(file: Path) -> Path:
    """A certificate of 127.0.0.1, with its key, that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mail server of a test")])
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    file.write_bytes(pem + certificate.public_bytes(serialization.Encoding.PEM))
    return file
