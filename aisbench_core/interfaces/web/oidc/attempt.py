"""A sign-in under way: what the browser keeps, signed, until the provider sends it back."""

import re
import secrets
import threading
import time
from dataclasses import asdict, dataclass
from hashlib import sha256

from itsdangerous import BadData, URLSafeTimedSerializer

MOST_SECONDS = 600
LONGEST_PAGE = 2000  # a cookie holds 4,096 bytes

# Printable ASCII without a backslash, which browsers read as a slash, and no second slash: that would be another host.
_PAGE = re.compile(r"/(?!/)[\x21-\x5b\x5d-\x7e]*")


@dataclass(frozen=True, slots=True)
class SignInAttempt:
    """`page`: where the person wanted to go; `again`: the provider has to ask who they are even if it knows them."""

    state: str
    nonce: str
    verifier: str
    page: str
    again: bool
    began_at: float

    @classmethod
    def begin(cls, page: str, *, again: bool) -> "SignInAttempt":
        """A new one, whose random parts nobody can guess."""
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        return cls(state, nonce, verifier, own_page(page), again, time.time())


def own_page(address: str) -> str:
    """The path and query of a page of the console; `/` for anything that could lead elsewhere."""
    return address if _PAGE.fullmatch(address) and len(address) <= LONGEST_PAGE else "/"


class Attempts:
    """Puts attempts into cookies, and reads each once. The key is this process's, and is drawn at its start.

    So it knows all that it has read: a copy of the cookie opens nothing."""

    def __init__(self) -> None:
        self._signed = URLSafeTimedSerializer(
            secrets.token_bytes(32), salt="sign-in", signer_kwargs={"digest_method": sha256}
        )
        self._used: dict[str, float] = {}
        self._guard = threading.Lock()

    def text_of(self, attempt: SignInAttempt) -> str:
        """For the cookie."""
        return str(self._signed.dumps(asdict(attempt)))

    def read(self, text: str, state: str) -> SignInAttempt | None:
        """The attempt in a cookie, once; None if it is not ours, too old, not the one of this state, or was read."""
        try:
            attempt = SignInAttempt(**self._signed.loads(text, max_age=MOST_SECONDS))
        except BadData:
            return None
        if not secrets.compare_digest(attempt.state.encode(), state.encode()):
            return None
        return attempt if self._mark_used(attempt) else None

    def _mark_used(self, attempt: SignInAttempt) -> bool:
        """Whether this is the first use. What is too old to be read needs not be known any more."""
        now = time.time()
        with self._guard:
            # An attempt is not read in its last second, so one second more is enough.
            self._used = {state: at for state, at in self._used.items() if now - at <= MOST_SECONDS + 1}
            if attempt.state in self._used:
                return False
            self._used[attempt.state] = now
        return True
