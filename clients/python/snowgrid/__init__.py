"""Unique, time-ordered 64-bit IDs, made in this process under a grant of a snowgrid grid."""

from __future__ import annotations

from .errors import (
    ClosedError, DeadlineError, DestroyedError, ExhaustedError, RequestError, SnowgridError,
)
from .generator import Generator
from .layout import Layout, Parts

__all__ = [
    "ClosedError", "DeadlineError", "DestroyedError", "ExhaustedError", "Generator", "Layout",
    "Parts", "RequestError", "SnowgridError",
]
__version__ = "0.1.0"
