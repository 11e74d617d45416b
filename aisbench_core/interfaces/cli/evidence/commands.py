"""`aisbench evidence`: the head of the audit, and the keys that sign."""

from pathlib import Path

import click

from aisbench_core.base.errors import ConfigError
from aisbench_core.base.messages import Message
from aisbench_core.interfaces.cli import display
from aisbench_core.interfaces.cli.core import get_actor, open_core
from aisbench_core.interfaces.cli.evidence.bundles import bundle
from aisbench_core.interfaces.cli.options import Group, yes_option
from aisbench_core.interfaces.cli.remote.paths import InputPath
from aisbench_core.store.signing.heads import SignedHead
from aisbench_core.store.signing.ledger import KnownKey
from aisbench_core.store.signing.public_key import FINGERPRINT

MOST_LETTERS = 4 * 1024 * 1024  # of a file; a report begins with its fonts

evidence = Group("evidence", help="Sign results, so that others can verify them.")
evidence.add_command(bundle)


class KeySource(InputPath):
    """A file with a public key, or a fingerprint."""

    def __init__(self) -> None:
        super().__init__(as_text=True)

    def is_file(self, typed: str) -> bool:
        """Whether it is not a fingerprint."""
        return FINGERPRINT.fullmatch(typed) is None


@evidence.command()
@click.option("--publish", is_flag=True, help="Write it to head_directory on OBS, too.")
@click.option("--stamp", is_flag=True, help="Ask timestamp_url for a time stamp, which is printed below it.")
def head(publish: bool, stamp: bool, as_json: bool) -> None:
    """Print the head of the audit, signed: number and hash of its newest entry, time, key, signature.

    Keep it where no account of this machine can write: only a head kept elsewhere proves later that no entries are
    missing at the end. With the setting head_directory, the follower writes it there daily.
    """
    core = open_core(writing=True)
    if publish:
        published = core.head_publishing.publish(get_actor())
        display.print_message(f"written to {published.path}")
    signed = published.head if publish else core.heads.sign()
    if stamp and not signed.stamp:
        signed = core.time_stamps.ask(signed)
    display.print_result(display.as_dict(signed), as_json, lambda: signed.text)


@evidence.command()
@click.argument("file", metavar="HEADFILE", type=InputPath())
def check(file: Path, as_json: bool) -> None:
    """Prove that the audit continues from a head that was kept elsewhere, and verify all of it.

    HEADFILE is a file with what `aisbench evidence head` printed, or an export as CSV or JSON, a report as HTML, or a
    bundle.
    Exits with 1 and names what is missing or was changed.
    """
    found = SignedHead.find_in(_read_text(file, errors="replace"))  # a bundle begins with its part of the audit
    if found is None:
        raise ConfigError(
            Message("{path} holds no head of an audit", path=file),
            Message("expected NUMBER:HASH, as `aisbench evidence head` prints it"),
        )
    core = open_core(writing=False)
    checked = core.heads.check(found, get_actor())
    stamp = core.time_stamps.check(found) if found.stamp else None
    audit = checked.audit
    by = f"signed with {found.key}" if found.key else "not signed"
    by += f", stamped at {stamp.at.isoformat()} by {stamp.signer}" if stamp else ""
    text = (
        f"the audit continues from entry {found.number:,} ({by}); entries verified: {audit.entries:,}; last entry:"
        f" {audit.last_number}:{audit.last_hash}"
    )
    answer = {
        "head": display.as_dict(found),
        "stamp": stamp and display.as_dict(stamp),
        "audit": display.as_dict(audit),
    }
    display.print_result(answer, as_json, lambda: text)


@evidence.command()
@click.option("--public", is_flag=True, help="Print this console's public key only, for others to trust.")
def keys(public: bool, as_json: bool) -> None:
    """List the keys of this console and those that it trusts.

    A fingerprint is what `ssh-keygen -l` prints of the key.
    """
    signing = open_core(writing=False).signing_keys
    if public:
        key = signing.get_public_key()
        display.print_result({"fingerprint": key.fingerprint, "public_key": str(key)}, as_json, lambda: str(key))
        return
    listed = signing.list_keys()
    display.print_result([display.as_dict(key) for key in listed], as_json, lambda: display.table_of(listed, COLUMNS))


@evidence.command()
@click.argument("key", metavar="KEYFILE|FINGERPRINT", type=KeySource())
@click.option("--name", required=True, help="Whose key it is, as shown beside what it signed.")
def trust(key: str, name: str, as_json: bool) -> None:
    """Trust what another console signs.

    Compare the fingerprint with one that you got in another way, such as by telephone.
    """
    known = open_core(writing=True).signing_keys.trust(_read_key(key), name, get_actor())
    display.print_result(display.as_dict(known), as_json, lambda: f"{known.fingerprint}  {known.owner}")


@evidence.command()
@click.argument("fingerprint")
def withdraw(fingerprint: str, as_json: bool) -> None:
    """Trust another console's key no longer."""
    key = open_core(writing=True).signing_keys.withdraw(fingerprint, get_actor())
    display.print_result(display.as_dict(key), as_json, lambda: f"{key.fingerprint}  withdrawn")


@evidence.command()
@click.option("--lost", is_flag=True, help="The key is lost, so it cannot sign the new one.")
@yes_option
def rotate(lost: bool, yes: bool, as_json: bool) -> None:
    """Replace the key of this console.

    The old key signs the new one, and stays known: what it signed can still be verified. Send the new public key to
    those who trust the old one, and copy data/signing-key.pem to the other machines of this ledger.
    """
    core = open_core(writing=True)
    if not yes:
        click.confirm("replace the key with which this console signs?", abort=True, err=True)
    key = core.signing_keys.rotate(get_actor(), is_lost=lost)
    display.print_result({"fingerprint": key.fingerprint, "public_key": str(key)}, as_json, lambda: str(key))


COLUMNS: display.Columns[KnownKey] = {
    "fingerprint": lambda key: key.fingerprint,
    "of": lambda key: key.owner or "this console",
    "since": lambda key: display.local_time(key.added_at),
    "by": lambda key: key.added_by,
    "until": lambda key: display.local_time(key.ended_at),
}


def _read_key(typed: str) -> str:
    return typed if FINGERPRINT.fullmatch(typed) else _read_text(Path(typed))


def _read_text(file: Path, errors: str = "strict") -> str:
    """The beginning of a file, which may be a large export."""
    try:
        with file.open(encoding="utf-8", errors=errors) as text:
            return text.read(MOST_LETTERS)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", Message("not UTF-8"))
        raise ConfigError(Message("{path} cannot be read: {why}", path=file, why=why)) from None
