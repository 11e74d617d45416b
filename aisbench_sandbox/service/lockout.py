"""Locks an access key after too many wrong signatures, as the cloud's gateway does."""

import threading
from collections.abc import Callable

# API Request Signing Guide: 5 failures in a row lock an access key for 5 minutes.
MAX_FAILURES = 5
SECONDS = 300.0


class Lockout:
    """Counts consecutive failures by access key; off until it is switched on. `clock` returns seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._failures: dict[str, int] = {}
        self._until: dict[str, float] = {}
        self._on = False

    def switch(self, on: bool) -> None:
        """Turn the lockout on or off; either way no key is locked at first."""
        with self._lock:
            self._on = on
            self._failures.clear()
            self._until.clear()

    def is_locked(self, access_key: str) -> bool:
        """Whether requests with this key are refused, whatever their signature."""
        with self._lock:
            return self._on and self._clock() < self._until.get(access_key, 0.0)

    def note_failure(self, access_key: str) -> None:
        """Record a wrong signature with this key."""
        with self._lock:
            if not self._on:
                return
            self._failures[access_key] = self._failures.get(access_key, 0) + 1
            if self._failures[access_key] >= MAX_FAILURES:
                self._until[access_key] = self._clock() + SECONDS
                # After the five minutes, counting starts anew.
                del self._failures[access_key]

    def note_success(self, access_key: str) -> None:
        """Record a correct signature with this key."""
        with self._lock:
            self._failures.pop(access_key, None)
