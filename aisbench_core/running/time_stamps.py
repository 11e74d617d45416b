"""Time stamps (RFC 3161) of signed heads: a server that others trust says when a head was there."""

import base64
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from cryptography.x509 import Certificate, load_der_x509_certificate, load_pem_x509_certificates

from aisbench_core.base.errors import CloudRejected, CloudUnavailable, ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.config.settings import Settings
from aisbench_core.store.signing.heads import SignedHead

MOST_BYTES = 64 * 1024  # of an answer
WAIT_SECONDS = 10.0

_QUERY = "time stamp"


@dataclass(frozen=True, slots=True)
class TimeStamp:
    """When a server stamped, and its name."""

    at: datetime
    signer: str


@dataclass(frozen=True, slots=True)
class TimeStamps:
    """Asks the server of the settings, and verifies what it says. Threads may share it."""

    settings: Settings

    def add(self, head: SignedHead) -> SignedHead:
        """A head with a time stamp, or as it is where no server is configured. Raises as `ask` does."""
        return self.ask(head) if self.settings.timestamp_url else head

    def ask(self, head: SignedHead) -> SignedHead:
        """A head with a time stamp of its line.

        Raises ConfigError without the package, a server, or the certificates that it is trusted by, CloudUnavailable if
        it does not answer, and CloudRejected if it refuses, or what it says is wrong."""
        if not self.settings.timestamp_url:
            raise ConfigError(Message("timestamp_url is not set"), Message("set it to that of an RFC 3161 server"))
        client, message = _load_client(), str(head).encode()
        query = client.TimestampRequestBuilder().data(message).hash_algorithm(client.HashAlgorithm.SHA256).build()
        authorities = self._read_authorities()
        stamp = base64.b64encode(_send_query(self.settings.timestamp_url, query.as_bytes())).decode()
        _verify_stamp(stamp, message, authorities, query.nonce)
        return replace(head, stamp=stamp)

    def check(self, head: SignedHead) -> TimeStamp:
        """What a head's stamp says. Raises ConfigError without what verifies it, CloudRejected if it does not fit."""
        return _verify_stamp(head.stamp, str(head).encode(), self._read_authorities())

    def _read_authorities(self) -> list[Certificate]:
        why: object = Message("it is not set")
        if self.settings.timestamp_certificates:
            try:
                return load_pem_x509_certificates(Path(self.settings.timestamp_certificates).expanduser().read_bytes())
            except OSError as error:
                why = error.strerror
            except ValueError:
                why = Message("it holds no certificate")
        raise ConfigError(
            Message("timestamp_certificates cannot be used: {why}", why=why),
            Message("set it to a PEM file with the certificates of the server's authority"),
        )


def _load_client() -> Any:
    try:
        import rfc3161_client
    except ImportError as error:
        raise ConfigError(
            Message("time stamps need the package rfc3161-client: {why}", why=error),
            Message("pip install --constraint constraints.txt 'aisbench-console[timestamps]'"),
        ) from error
    return rfc3161_client


def _send_query(url: str, query: bytes) -> bytes:
    import requests  # takes 0.1 s, which commands need not wait for

    headers = {"Content-Type": "application/timestamp-query"}
    try:
        with requests.post(
            url, query, headers=headers, timeout=WAIT_SECONDS, stream=True, allow_redirects=False
        ) as answer:
            content = answer.raw.read(MOST_BYTES + 1)
    except (requests.RequestException, OSError) as error:
        raise CloudUnavailable(
            Message("the time-stamp server cannot be reached ({why})", why=type(error).__name__), operation=_QUERY,
            hint=Message("try again; without a stamp, the head is the same"),
        ) from None  # fmt: skip
    if answer.status_code != requests.codes.ok or len(content) > MOST_BYTES:
        raise _make_refusal(Message("HTTP {status}, {count:,} bytes", status=answer.status_code, count=len(content)))
    return bytes(content)


def _verify_stamp(stamp: str, message: bytes, authorities: list[Certificate], nonce: int | None = None) -> TimeStamp:
    """Raises CloudRejected if it is no stamp of this message by somebody whom these authorities vouch for."""
    client = _load_client()
    roots = [each for each in authorities if each.issuer == each.subject]
    others = [each for each in authorities if each.issuer != each.subject]
    try:
        response = client.decode_timestamp_response(base64.b64decode(stamp))
        if response.status != client.PKIStatus.GRANTED:
            raise _make_refusal("; ".join(response.status_string) or f"status {response.status}")
        client.VerifierBuilder(roots=roots, intermediates=others, nonce=nonce).build().verify_message(response, message)
        [signer] = response.signed_data.signer_infos
        certificates = map(load_der_x509_certificate, response.signed_data.certificates)
        names = [each.subject for each in certificates if each.serial_number == signer.serial_number]
        return TimeStamp(response.tst_info.gen_time, names[0].rfc4514_string())
    except (ValueError, LookupError, client.VerificationError) as error:
        raise _make_refusal(str(error).partition(": ErrorStack")[0][:200]) from None


def _make_refusal(why: object) -> CloudRejected:
    return CloudRejected(
        Message("the time stamp cannot be verified: {why}", why=why), operation=_QUERY,
        hint=Message("compare timestamp_url and timestamp_certificates with what the server's owner says"),
    )  # fmt: skip
