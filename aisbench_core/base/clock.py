"""The clock of this machine."""

from datetime import UTC, datetime


def utc_now() -> datetime:
    """The time, aware and in UTC."""
    return datetime.now(UTC)
