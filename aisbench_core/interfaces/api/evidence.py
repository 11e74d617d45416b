"""The signed head of the audit, for who keeps it elsewhere."""

from aisbench_core.interfaces.api.endpoint import ApiCall
from aisbench_core.store.signing.heads import SignedHead


def show_head(call: ApiCall) -> SignedHead:
    """Number and hash of the newest entry, its time, the key's fingerprint, and the signature."""
    return call.core.heads.sign()
