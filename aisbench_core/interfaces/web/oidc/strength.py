"""How strong a sign-in at the provider has to be: its class (`acr`), and the factors that were used (`amr`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aisbench_core.base.errors import SignInFailed
from aisbench_core.base.messages import Message


@dataclass(frozen=True, slots=True)
class Strength:
    """`classes`: one of them is needed; `factors`: each of them is. Empty ones let every sign-in through."""

    classes: Sequence[str] = ()
    factors: Sequence[str] = ()

    @property
    def requested(self) -> dict[str, str]:
        """What the provider is asked for; there is no parameter for factors."""
        return {"acr_values": " ".join(self.classes)} if self.classes else {}

    def require(self, claims: Mapping[str, Any]) -> None:
        """Raise SignInFailed for claims of an ID token that name none of the classes, or not every factor."""
        if self.classes and claims.get("acr") not in self.classes:
            self._refuse_claim("acr", claims.get("acr"), self.classes)
        found = claims.get("amr")
        used = found if isinstance(found, list) else []
        if missing := [factor for factor in self.factors if factor not in used]:
            self._refuse_claim("amr", ", ".join(map(str, used)), missing)

    def _refuse_claim(self, claim: str, found: object, needed: Sequence[str]) -> None:
        raise SignInFailed(
            Message(
                "you signed in with {claim} {found}, but this console requires {needed}",
                claim=claim,
                found=str(found)[:80] if found else Message("none"),
                needed=", ".join(needed),
            ),
            Message("sign in again with another factor, or ask an admin to check oidc_acr_values and oidc_amr_values"),
        )
