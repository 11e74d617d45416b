"""TLS of the console itself, without a proxy: from a certificate and its key."""

import ssl
from dataclasses import dataclass
from pathlib import Path

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message, make_verbatim
from aisbench_core.config.settings import Settings

READABLE_BY_OTHERS = 0o077


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files: the certificate with those above it, and its key."""

    certificate: Path
    key: Path

    def client_context(self) -> ssl.SSLContext:
        """Trusts this certificate only, under any name: for a process that asks its own server at 127.0.0.1."""
        context = ssl.create_default_context(cafile=str(self.certificate))
        context.check_hostname = False
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        return context


def tls_files(settings: Settings) -> TlsFiles | None:
    """The files of the settings; None without them. Raises ConfigError when they cannot be served."""
    if not settings.tls_certificate and not settings.tls_key:
        return None
    if not settings.tls_certificate or not settings.tls_key:
        raise ConfigError(
            Message("tls_certificate and tls_key must be set together"),
            Message("set both, or neither if a proxy terminates TLS"),
        )
    files = TlsFiles(Path(settings.tls_certificate).expanduser(), Path(settings.tls_key).expanduser())
    _require_private(files.key)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(files.certificate, files.key, password="")
        files.client_context()
    except OSError as error:  # an SSLError is one, too
        raise ConfigError(
            Message(
                "tls_certificate {certificate} cannot be used with tls_key {key}: {reason}",
                certificate=make_verbatim(files.certificate),
                key=make_verbatim(files.key),
                reason=make_verbatim(getattr(error, "reason", "") or error.strerror or str(error)),
            ),
            Message("both must be PEM files, the key that of the certificate and without a password"),
        ) from error
    return files


def require_tls(settings: Settings, served_with: str) -> None:
    """Raise ConfigError if the settings name a certificate and this server was started without one."""
    if tls_files(settings) and not served_with:
        raise ConfigError(
            Message("tls_certificate is set, but this server was started without it"),
            Message(
                "start it with `aisbench serve`, or pass --server.sslCertFile and --server.sslKeyFile to Streamlit"
            ),
        )


def _require_private(key: Path) -> None:
    try:
        mode = key.stat().st_mode & 0o777
    except OSError as error:
        raise ConfigError(
            Message(
                "tls_key {key} cannot be read: {reason}", key=make_verbatim(key), reason=make_verbatim(error.strerror)
            )
        ) from error
    if mode & READABLE_BY_OTHERS:
        raise ConfigError(
            Message("others may read tls_key {key}: its mode is {mode}", key=make_verbatim(key), mode=f"{mode:04o}"),
            Message("chmod 600 {key}", key=make_verbatim(key)),
        )
