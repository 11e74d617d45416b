"""Refuses changes that an actor's roles do not permit: the decorators of every method that takes an actor."""

import inspect
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from threading import Thread
from typing import Any, ParamSpec, TypeVar

from aisbench_core.base.errors import AisbenchError, LedgerBusy, NotAllowed, ReadOnlyFolder
from aisbench_core.base.messages import Message
from aisbench_core.domain.access.audit_entry import Act, ActOutcome
from aisbench_core.domain.access.changes import NOTES, ChangeNotes
from aisbench_core.domain.access.permissions import PERMISSIONS, ROLES, Permission, has_role, role_of
from aisbench_core.domain.access.subjects import MADE, paths_of, subject_of
from aisbench_core.model import Actor

LOG = logging.getLogger(__name__)

P = ParamSpec("P")
R = TypeVar("R")
OwnerOf = Callable[..., str | None]
"""Gets a method's arguments by name; returns who owns what it changes: "" is nobody known, None nothing there yet."""

Recorder = Callable[[Act], None]
_RECORDERS: list[Recorder] = []


def record_with(recorder: Recorder) -> None:
    """Where this process records what is changed. As with its log file, it has one; the core opened last decides."""
    _RECORDERS[:] = [recorder]


def permitted(method: Callable[P, R]) -> Callable[P, R]:
    """The method for actors whose role PERMISSIONS names; it raises NotAllowed for others, before anything is done.

    A method that is not in the table cannot be decorated."""
    return _guard_method(method, PERMISSIONS[method.__qualname__], None)


def permitted_for(owner_of: OwnerOf) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """The same, with another role for things that others own."""

    def decorate(method: Callable[P, R]) -> Callable[P, R]:
        return _guard_method(method, PERMISSIONS[method.__qualname__], owner_of)

    return decorate


def _guard_method(method: Callable[P, R], permission: Permission, owner_of: OwnerOf | None) -> Callable[P, R]:
    signature = inspect.signature(method)
    if "actor" not in signature.parameters or (owner_of is None) != (permission.others is None):
        raise TypeError(f"{method.__qualname__} takes no actor, or its permission and its decorator differ on owners")
    named = {path.partition(".")[0] for paths in paths_of(permission.subject) for path in paths}
    if not named <= {*signature.parameters, MADE}:
        raise TypeError(f"{method.__qualname__} takes no {named - {*signature.parameters}}, its subject in the audit")

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        # The steps that a permitted change consists of are permitted with it: the runs of one's own series, for
        # example, can be stopped with it, even if somebody else launched one again. They are one entry of the audit.
        if NOTES.get():
            return method(*args, **kwargs)
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        with _record_outcome(permission, given):
            _check_permission(permission, owner_of, given)
            given[MADE] = made = method(*args, **kwargs)
        return made

    call.__permission__ = permission  # type: ignore[attr-defined]  # the generated table reads it
    return call


def _check_permission(permission: Permission, owner_of: OwnerOf | None, given: Mapping[str, Any]) -> None:
    actor: Actor = given["actor"]
    _require_role(actor, permission, of_others=False)
    if owner_of and permission.others and not has_role(actor, permission.others):
        _require_role(actor, permission, of_others=owner_of(**given) not in (None, actor.name))


@contextmanager
def _record_outcome(permission: Permission, given: Mapping[str, Any]) -> Iterator[None]:
    """A context whose outcome is recorded; it adds what the change returned to the arguments."""
    notes, outcome, is_busy = ChangeNotes(), ActOutcome.FAILED, False
    token = NOTES.set(notes)
    try:
        yield
        outcome = ActOutcome.DONE
    except NotAllowed as error:
        outcome = ActOutcome.REFUSED
        notes.sentences.append(str(error.message))
        raise
    except AisbenchError as error:
        notes.sentences.append(str(error))
        is_busy = isinstance(error, LedgerBusy)
        raise
    except Exception as error:  # its text may hold anything
        notes.sentences.append(type(error).__name__)
        raise
    finally:
        NOTES.reset(token)
        if permission.is_change:
            act = _describe_act(permission, given, outcome, notes)
            # Who has waited for the ledger already does not wait again. The process ends after this thread.
            Thread(target=_record_act, args=(act,), name="audit").start() if is_busy else _record_act(act)


def _describe_act(permission: Permission, given: Mapping[str, Any], outcome: ActOutcome, notes: ChangeNotes) -> Act:
    actor: Actor = given["actor"]
    role, subject = role_of(actor), subject_of(permission.subject, given)
    values = (notes.before, notes.after, "; ".join(notes.sentences))
    return Act(actor.name, role or "", actor.via, permission.change, subject, outcome, *values)


def _record_act(act: Act) -> None:
    for recorder in _RECORDERS:
        try:
            recorder(act)
        except ReadOnlyFolder:  # nothing was changed either
            pass
        except AisbenchError:  # such as a full disk: what was done is done, and the log says it
            LOG.exception("not in the audit: %s", act)


def require_permission(actor: Actor, method: str) -> None:
    """Raise NotAllowed if an actor may not call a method, by its qualified name, for things of their own."""
    _require_role(actor, PERMISSIONS[method], of_others=False)


def require_first(actor: Actor, method: str) -> None:
    """The same, for a way in that waits for something before it calls the method: a refusal is recorded here, too."""
    try:
        require_permission(actor, method)
    except NotAllowed as error:
        notes = ChangeNotes()
        notes.sentences.append(str(error.message))
        _record_act(_describe_act(PERMISSIONS[method], {"actor": actor}, ActOutcome.REFUSED, notes))
        raise


def _require_role(actor: Actor, permission: Permission, *, of_others: bool) -> None:
    change = Message("{change} of what others own", change=permission.change) if of_others else permission.change
    if actor.read_only and permission.is_change:
        raise NotAllowed(
            Message(
                "permission denied: {change} needs more than a read-only token, and {who} used one",
                change=change,
                who=actor.name,
            ),
            Message("use a token that was created without --read-only"),
        )
    needed = permission.needs(of_others=of_others)
    if has_role(actor, needed):
        return
    held: Any = role_of(actor)
    raise NotAllowed(
        Message(
            "permission denied: {change} needs the role {needed}, and {who} has {held}",
            who=actor.name,
            change=change,
            needed=ROLES[needed],
            held=ROLES[held] if held else Message("none"),
        ),
        Message("ask an admin for the role, or ask somebody who has it"),
    )
