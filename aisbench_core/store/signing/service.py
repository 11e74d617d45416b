"""Signs with the console's key, replaces it, and knows which keys of other consoles are trusted."""

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.domain.access import permitted
from aisbench_core.domain.access.audit_entry import Act, ActOutcome
from aisbench_core.domain.access.changes import log_change, note_values
from aisbench_core.model import Actor, Clock, WayIn
from aisbench_core.store.audit.audit import Audit
from aisbench_core.store.ledger.database.connection import LedgerConnection
from aisbench_core.store.ledger.ledger import Ledger
from aisbench_core.store.signing.ledger import (
    KnownKey,
    add_key,
    end_key,
    list_keys,
    read_active_key,
    read_key,
    replace_key,
)
from aisbench_core.store.signing.private_key import KeyFile, PrivateKey
from aisbench_core.store.signing.public_key import FINGERPRINT, PublicKey, Signature

MADE = "signing_key.create"

MOST_LETTERS = 80  # of a console's name


class SigningKeys:
    """The keys of one ledger. Its private key is a file in each data folder that shares the ledger."""

    def __init__(self, file: KeyFile, ledger: Ledger, audit: Audit, clock: Clock) -> None:
        self._file, self._ledger, self._audit, self._clock = file, ledger, audit, clock

    def sign(self, payload: bytes) -> Signature:
        """Sign with the console's key, which is made at first use.

        Raises ConfigError if the key is lost, replaced or damaged, and ReadOnlyFolder instead of making one."""
        return self._load_key().sign(payload)

    def get_public_key(self) -> PublicKey:
        """The key of this console, which is made at first use. Raises as `sign` does."""
        active = self.find_active()
        return PublicKey.parse(active.public_key) if active else self._load_key().public

    def list_keys(self) -> list[KnownKey]:
        """This console's keys, the newest first, then those of others by name."""
        with self._ledger.connection() as con:
            return list_keys(con)

    def find(self, fingerprint: str) -> KnownKey | None:
        """The key with this fingerprint; None if neither this console nor anybody trusted has it."""
        return next((key for key in self.list_keys() if key.fingerprint == fingerprint), None)

    def find_active(self) -> KnownKey | None:
        """The key of this console; None before first use."""
        return next((key for key in self.list_keys() if key.is_ours and key.is_active), None)

    @permitted
    def rotate(self, actor: Actor, *, is_lost: bool = False) -> PublicKey:
        """Replace the console's key; the old one signs the new one, unless it `is_lost`. Raises ConfigError."""
        old = None if is_lost else self._load_key()
        if is_lost and (active := self.find_active()) and self._is_here(active):
            raise ConfigError(
                Message("the signing key {key} is in {file}", key=active.fingerprint, file=self._file.path.name),
                Message("omit --lost: then it signs the new key"),
            )
        new = self._file.next.create().public
        endorsement = old.sign(endorsed_text(new)).text if old else ""
        with self._ledger.transaction() as con:
            former = read_active_key(con)
            if old and (former is None or former.fingerprint != old.public.fingerprint):
                raise _missing_key(former)
            self._replace_key(con, former, new, actor.name, endorsement)
        self._settle(new.fingerprint)
        note_values(former.fingerprint if former else "", f"{new} {endorsement}".rstrip())
        log_change(actor, f"{new.fingerprint} signs from now on" + (", the key before was lost" if is_lost else ""))
        return new

    @permitted
    def trust(self, key: str, name: str, actor: Actor) -> KnownKey:
        """Trust what another console signs. `key`: a public key, or the fingerprint of one. Raises ConfigError."""
        name, fingerprint, public_key = _parse_name(name), key.strip(), ""
        if not FINGERPRINT.fullmatch(fingerprint):
            parsed = PublicKey.parse(key)
            fingerprint, public_key = parsed.fingerprint, str(parsed)
        with self._ledger.transaction() as con:
            before = read_key(con, fingerprint)
            if before and before.is_ours:
                raise ConfigError(Message("{key} is a key of this console", key=fingerprint))
            public_key = public_key or (before.public_key if before else "")
            known = KnownKey(fingerprint, public_key, name, self._clock(), actor.name)
            replace_key(con, known)
        note_values(f"{before.owner}{'' if before.is_active else ' (withdrawn)'}" if before else "", name)
        log_change(actor, f"trusts {fingerprint} of {name}")
        return known

    @permitted
    def withdraw(self, fingerprint: str, actor: Actor) -> KnownKey:
        """Trust another console's key no longer. Raises ConfigError if it is not trusted."""
        key = self.find(fingerprint)
        if key is None or key.is_ours or not key.is_active:
            raise ConfigError(
                Message("{key} is not trusted", key=fingerprint), Message("`aisbench evidence keys` lists the keys")
            )
        with self._ledger.transaction() as con:
            end_key(con, key, self._clock(), actor.name)
        note_values(key.owner, "")
        log_change(actor, f"no longer trusts {fingerprint} of {key.owner}")
        return key

    def _load_key(self) -> PrivateKey:
        active = self.find_active()
        return self._require_file(active) if active else self._make_first()

    def _require_file(self, active: KnownKey) -> PrivateKey:
        if key := self._find_file(active.fingerprint):
            return key
        raise _missing_key(active)

    def _is_here(self, key: KnownKey) -> bool:
        try:
            return self._find_file(key.fingerprint) is not None
        except ConfigError:  # a damaged file is lost, too
            return False

    def _find_file(self, fingerprint: str) -> PrivateKey | None:
        """The private key with this fingerprint, if it is here."""
        for file in (self._file, self._file.next):
            key = file.load()
            if key and key.public.fingerprint == fingerprint:
                self._settle(fingerprint)
                return key
        return None

    def _make_first(self) -> PrivateKey:
        with self._ledger.transaction() as con:
            active = read_active_key(con)
            if active is None:
                key = self._file.load() or self._file.create()
                new = key.public
                self._replace_key(con, None, new, "aisbench", "")
                act = Act("aisbench", "", WayIn.FOLLOWER, MADE, new.fingerprint, ActOutcome.DONE, "", str(new))
                head = self._audit.append(con, [act])
        if active:  # another process was quicker
            return self._require_file(active)
        self._audit.store_head(head)
        return key

    def _replace_key(
        self, con: LedgerConnection, former: KnownKey | None, new: PublicKey, who: str, endorsement: str
    ) -> None:
        now = self._clock()
        if former:
            end_key(con, former, now, who)
        known = KnownKey(new.fingerprint, str(new), "", now, who, endorsement)
        add_key(con, known)

    def _settle(self, fingerprint: str) -> None:
        """Put a new key in its place once the ledger knows it, also after a kill in between."""
        waiting = self._file.next
        key = waiting.load() if waiting.path.exists() else None
        if key and key.public.fingerprint == fingerprint:
            waiting.path.replace(self._file.path)


def endorsed_text(key: PublicKey) -> bytes:
    """What the key before signs of a new one."""
    return f"aisbench signing key\n{key}\n".encode()


def _missing_key(active: KnownKey | None) -> ConfigError:
    return ConfigError(
        Message("the signing key {key} of this console is not in its data folder", key=active and active.fingerprint),
        Message(
            "copy data/signing-key.pem from another machine with this ledger, or from where you keep it; if it is lost:"
            " `aisbench evidence rotate --lost`"
        ),
    )


def _parse_name(name: str) -> str:
    name = " ".join(name.split())
    if not name or len(name) > MOST_LETTERS or not name.isprintable():
        raise ConfigError(Message("a name must have 1 to {most} printable characters", most=MOST_LETTERS))
    return name
