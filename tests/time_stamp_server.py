"""A time-stamp server for tests: OpenSSL's (`openssl ts`) behind HTTP on this machine, with an authority of its own."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from aisbench_core.base.clock import utc_now

TYPE = "application/timestamp-reply"

SETTINGS = """
[tsa]
serial = {folder}/serial
signer_cert = {folder}/server.pem
signer_key = {folder}/server.key
signer_digest = sha256
default_policy = 1.2.3.4
digests = sha256, sha512
"""


@dataclass
class TimeStampServer:
    """`folder` holds its keys and certificates; `answer` takes the place of what OpenSSL says: status and body."""

    folder: Path
    answer: Callable[[bytes], tuple[int, bytes]] | None = None
    queries: list[bytes] = field(default_factory=list)
    url: str = ""
    head: object = None  # what a lie is about

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        authority, server = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
        self._write_certificate("authority", authority, "Test authority", authority)
        self._write_certificate("server", server, "Test time", authority)
        pem = server.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (self.folder / "server.key").write_bytes(pem)
        (self.folder / "serial").write_text("01\n")
        (self.folder / "openssl.cnf").write_text(SETTINGS.format(folder=self.folder))

    @property
    def authority(self) -> Path:
        """The certificate that those trust who trust the server."""
        return self.folder / "authority.pem"

    def reply(self, query: bytes) -> bytes:
        """What OpenSSL answers."""
        (self.folder / "query").write_bytes(query)
        command = ["openssl", "ts", "-reply", "-config", "openssl.cnf", "-section", "tsa", "-queryfile", "query"]
        subprocess.run([*command, "-out", "reply"], cwd=self.folder, check=True, capture_output=True)
        return (self.folder / "reply").read_bytes()

    @contextmanager
    def serve(self) -> Iterator[None]:
        """Answer on a free port, which `url` names."""
        with ThreadingHTTPServer(("127.0.0.1", 0), self._make_handler()) as server:
            thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
            thread.start()
            self.url = f"http://127.0.0.1:{server.server_port}/"
            try:
                yield
            finally:
                server.shutdown()
                thread.join()

    def _make_handler(self) -> type[BaseHTTPRequestHandler]:
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                query = self.rfile.read(int(self.headers["Content-Length"]))
                service.queries.append(query)
                status, body = service.answer(query) if service.answer else (200, service.reply(query))
                self.send_response(status)
                self.send_header("Content-Type", TYPE)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def _write_certificate(
        self, name: str, key: ec.EllipticCurvePrivateKey, subject: str, issuer: ec.EllipticCurvePrivateKey
    ) -> None:
        is_authority, now = key is issuer, utc_now()
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
            .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Test authority")]))
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )
        if not is_authority:
            usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.TIME_STAMPING])
            builder = builder.add_extension(usage, critical=True)
        certificate = builder.sign(issuer, SHA256())
        (self.folder / f"{name}.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
