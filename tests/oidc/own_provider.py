"""An OpenID Connect provider that says what a test wants: also what no provider should."""

import json
import threading
import time
from collections.abc import Mapping
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from joserfc import jwt
from joserfc.jwk import KeySet, OctKey, RSAKey
from joserfc.jws import JWSRegistry

from tests.oidc.providers import CLIENT_ID, SECRET

SUBJECT, CODE, ACCESS = "s-1", "code-1", "canary-of-the-access-token"
CALLBACK = "http://127.0.0.1:8501/oauth2callback"


class OwnProvider:
    """Answers on a free port. Its parts are what it says; `requests` is what it was sent at the token's address."""

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.issuer = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.keys = [RSAKey.generate_key(2048, {"kid": "k-1"})]
        self.odd_keys: list[object] = []
        self.signing: RSAKey | OctKey = self.keys[0]
        self.algorithm = "RS256"
        self.claims: dict[str, Any] = {}
        self.user_info: dict[str, Any] = {"sub": SUBJECT}
        self.metadata: dict[str, Any] = {}
        self.refusal: tuple[int, object] | None = None
        self.nonce = ""
        self.requests: list[dict[str, list[str]]] = []
        self.passwords: list[str] = []
        serve = partial(self._server.serve_forever, poll_interval=0.05)  # `stop` waits for so long
        threading.Thread(target=serve, daemon=True).start()

    def stop(self) -> None:
        """Be down."""
        self._server.shutdown()
        self._server.server_close()

    def described(self) -> Mapping[str, Any]:
        """Its metadata."""
        ends = {f"{name}_endpoint": f"{self.issuer}/{name}" for name in ("authorization", "token", "userinfo")}
        return {"issuer": self.issuer, "jwks_uri": f"{self.issuer}/keys", **ends, **self.metadata}

    def id_token(self) -> str:
        """What it says of a person, signed."""
        now = int(time.time())
        said = {"iss": self.issuer, "sub": SUBJECT, "aud": CLIENT_ID, "iat": now, "exp": now + 300, "nonce": self.nonce}
        claims = {name: value for name, value in {**said, **self.claims}.items() if value is not None}
        header = {"alg": self.algorithm, "kid": self.signing.kid or "k-1"}
        registry = JWSRegistry(algorithms=["RS256", "HS256"])
        return jwt.encode(header, claims, self.signing, registry=registry)

    def answer(self, path: str) -> tuple[int, object]:
        """Status and document at a path."""
        match path:
            case "/.well-known/openid-configuration":
                return 200, self.described()
            case "/keys":
                return 200, {"keys": [*self.odd_keys, *KeySet([*self.keys]).as_dict(private=False)["keys"]]}
            case "/userinfo":
                return 200, self.user_info
            case "/token":
                if self.refusal:
                    return self.refusal
                return 200, {"access_token": ACCESS, "token_type": "Bearer", "id_token": self.id_token()}
        return 404, {}


def _handler(provider: OwnProvider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer()

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            provider.requests.append(parse_qs(body))
            provider.passwords.append(self.headers.get("Authorization", ""))
            self._answer()

        def log_message(self, *_: object) -> None:
            pass

        def _answer(self) -> None:
            status, document = provider.answer(self.path)
            content = document if isinstance(document, bytes) else json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    return Handler


__all__ = ["ACCESS", "CALLBACK", "CLIENT_ID", "CODE", "SECRET", "SUBJECT", "OwnProvider"]
