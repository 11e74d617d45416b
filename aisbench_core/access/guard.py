"""Refuses changes that an actor's roles do not permit: the decorators of every method that takes an actor."""

import inspect
from collections.abc import Callable
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from aisbench_core.access.permissions import PERMISSIONS, ROLES, Permission, has_role, role_of
from aisbench_core.errors import NotAllowed
from aisbench_core.messages import Message
from aisbench_core.model import Actor

P = ParamSpec("P")
R = TypeVar("R")
OwnerOf = Callable[..., str | None]
"""Gets a method's arguments by name; returns who owns what it changes: "" is nobody known, None nothing there yet."""

# Set while a permitted change is under way in this thread: the steps that it consists of are permitted with it. The
# runs of one's own series, for example, can be stopped with it, even if somebody else launched one of them again.
_WITHIN: ContextVar[bool] = ContextVar("within a permitted change", default=False)


def permitted(method: Callable[P, R]) -> Callable[P, R]:
    """The method for actors whose role PERMISSIONS names; it raises NotAllowed for others, before anything is done.

    A method that is not in the table cannot be decorated."""
    return _guarded(method, PERMISSIONS[method.__qualname__], None)


def permitted_for(owner_of: OwnerOf) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """The same, with another role for things that others own."""

    def decorated(method: Callable[P, R]) -> Callable[P, R]:
        return _guarded(method, PERMISSIONS[method.__qualname__], owner_of)

    return decorated


def _guarded(method: Callable[P, R], permission: Permission, owner_of: OwnerOf | None) -> Callable[P, R]:
    signature = inspect.signature(method)
    if "actor" not in signature.parameters or (owner_of is None) != (permission.others is None):
        raise TypeError(f"{method.__qualname__} takes no actor, or its permission and its decorator differ on owners")

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        actor: Actor = given.arguments["actor"]
        if _WITHIN.get():
            return method(*args, **kwargs)
        _require(actor, permission, of_others=False)
        if owner_of and permission.others and not has_role(actor, permission.others):
            _require(actor, permission, of_others=owner_of(**given.arguments) not in (None, actor.name))
        token = _WITHIN.set(True)
        try:
            return method(*args, **kwargs)
        finally:
            _WITHIN.reset(token)

    call.__permission__ = permission  # type: ignore[attr-defined]  # the generated table reads it
    return call


def _require(actor: Actor, permission: Permission, *, of_others: bool) -> None:
    change = Message("{change} of what others own", change=permission.change) if of_others else permission.change
    if actor.read_only:
        raise NotAllowed(
            Message("{who} may not do this: {change} needs more than a read-only token", who=actor.name, change=change),
            Message("`aisbench token create` makes a token that may change something"),
        )
    needed = permission.needs(of_others=of_others)
    if has_role(actor, needed):
        return
    held: Any = role_of(actor)
    raise NotAllowed(
        Message(
            "{who} may not do this: {change} needs the role {needed}, and {who} has {held}",
            who=actor.name,
            change=change,
            needed=ROLES[needed],
            held=ROLES[held] if held else Message("none"),
        ),
        Message("ask an admin for the role, or somebody who has it to do it"),
    )
