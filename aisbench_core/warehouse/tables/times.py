"""Times as tables hold them: in UTC, without a zone."""

from datetime import UTC, datetime


def to_aware(stored: datetime) -> datetime:
    """A stored time, with its zone."""
    return stored.replace(tzinfo=UTC)


def to_naive_utc(at: datetime) -> datetime:
    """UTC without a zone, as times are stored: reading DuckDB's zoned type would need one more library."""
    return at.astimezone(UTC).replace(tzinfo=None)
