"""Errors of the client."""

from __future__ import annotations

# The codes that need a correction: a client without a usable grant raises them immediately (G12).
CORRECTIONS = frozenset(
    ("not_found", "conflict", "bad_request", "invalid_config", "unauthenticated", "denied")
)


class SnowgridError(Exception):
    """The base of all errors. code is the field of the HTTP API, or empty."""

    code = ""


class RequestError(SnowgridError):
    """A request got no grant. code is empty if there was no reply, or none of a member."""

    def __init__(self, message: str, code: str = "", retry_after_ms: int = 0) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after_ms = retry_after_ms


class DeadlineError(SnowgridError, TimeoutError):
    """No ID could be made before the deadline of the call."""


class DestroyedError(SnowgridError):
    """The sequencer was destroyed: this generator makes no ID again."""

    code = "destroyed"


class ExhaustedError(SnowgridError):
    """The layout of the sequencer has no timestamps left."""

    code = "exhausted"


class ClosedError(SnowgridError):
    """The generator was closed."""

    code = "ended"
