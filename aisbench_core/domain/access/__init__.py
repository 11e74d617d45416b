"""Who may change what through the core."""

from aisbench_core.domain.access.guard import permitted, permitted_for
from aisbench_core.domain.access.permissions import PERMISSIONS, Permission

__all__ = ["PERMISSIONS", "Permission", "permitted", "permitted_for"]
