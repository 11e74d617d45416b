"""One log line for each change that a person makes, besides what the change itself records of its actor."""

import logging

from aisbench_core.model import Actor

LOG = logging.getLogger(__name__)


def log_change(actor: Actor, change: str) -> None:
    """Log who changed what. `change` names things by id or name, and holds no value that somebody typed as a secret."""
    LOG.info("%s (%s): %s", actor.name, actor.via, change)
