"""Certificates of a test's own, and a server that shows them."""

import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from Crypto.Hash import SHA256
from Crypto.PublicKey import RSA
from Crypto.Signature import pkcs1_15
from Crypto.Util.asn1 import (
    DerBitString,
    DerBoolean,
    DerInteger,
    DerNull,
    DerObjectId,
    DerOctetString,
    DerSequence,
)

SHA256_WITH_RSA = "1.2.840.113549.1.1.11"
COMMON_NAME, ALTERNATIVE_NAMES, IS_AUTHORITY = "2.5.4.3", "2.5.29.17", "2.5.29.19"


def self_signed(folder: Path, ends: datetime) -> Path:
    """A PEM file with key and certificate of 127.0.0.1, valid from 2020 to `ends`; nobody trusts it by itself."""
    key = RSA.generate(2048)
    algorithm = DerSequence([DerObjectId(SHA256_WITH_RSA), DerNull()])
    name = DerSequence([_set(DerSequence([DerObjectId(COMMON_NAME), _tagged(0x0C, b"a test's own")]))])
    body = DerSequence(
        [
            _tagged(0xA0, DerInteger(2).encode()),
            DerInteger(1),
            algorithm,
            name,
            DerSequence([_moment(datetime(2020, 1, 1, tzinfo=UTC)), _moment(ends)]),
            name,
            key.public_key().export_key("DER"),
            _tagged(0xA3, _extensions().encode()),
        ]
    ).encode()
    signature = pkcs1_15.new(key).sign(SHA256.new(body))
    certificate = DerSequence([body, algorithm, DerBitString(signature)]).encode()
    file = folder / "own.pem"
    file.write_text(key.export_key().decode() + "\n" + ssl.DER_cert_to_PEM_cert(certificate), "utf-8")
    return file


@contextmanager
def serving_tls(pem: Path) -> Iterator[str]:
    """The address of an https server that answers 403 to everything, and says what time it is."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # http.server looks for this name
            self.send_response(403)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """A client that hangs up because it trusts nobody is what the test wants."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    with Server(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield f"https://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def _extensions() -> DerSequence:
    here = DerSequence([_tagged(0x87, bytes((127, 0, 0, 1)))]).encode()
    authority = DerSequence([DerBoolean(True)]).encode()
    return DerSequence(
        [
            DerSequence([DerObjectId(IS_AUTHORITY), DerBoolean(True), DerOctetString(authority)]),
            DerSequence([DerObjectId(ALTERNATIVE_NAMES), DerOctetString(here)]),
        ]
    )


def _set(entry: DerSequence) -> bytes:
    return _tagged(0x31, entry.encode())


def _moment(at: datetime) -> bytes:
    return _tagged(0x17, f"{at:%y%m%d%H%M%S}Z".encode())


def _tagged(tag: int, content: bytes) -> bytes:
    """Content under a tag, with its length, as DER writes it."""
    size = len(content)
    if size < 0x80:
        return bytes([tag, size]) + content
    counted = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(counted)]) + counted + content
