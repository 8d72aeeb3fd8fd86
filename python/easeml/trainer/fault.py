"""Faults that people are told about: one sentence, the place, and what to do."""

from __future__ import annotations


class Fault(Exception):
    """A failure with a message for a person, not a bug of ours.

    ``kind`` is one of ``data memory timeout bug unsupported``; ``where`` may hold ``file``,
    ``row``, ``line``, ``column`` and ``field``; ``hint`` is what to do about it.
    """

    def __init__(self, message: str, *, kind: str = "data", where: dict | None = None, hint: str | None = None):
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.where = {k: v for k, v in (where or {}).items() if v is not None}
        self.hint = hint

    def as_event(self) -> dict:
        """The fields of a ``failed`` event or reply."""
        event: dict = {"kind": self.kind, "message": self.message}
        if self.where:
            event["where"] = self.where
        if self.hint:
            event["hint"] = self.hint
        return event


def one_sentence(error: BaseException) -> str:
    """What an exception says, on one line of at most 300 characters, with its type."""
    text = " ".join(str(error).split())
    if len(text) > 300:
        text = text[:297] + "…"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def no_rows(names: list[str]) -> Fault:
    """The fault for files in which there are columns and nothing in them."""
    few = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return Fault(f"{few} {'has' if len(names) == 1 else 'have'} no rows, only names of columns.", where={"file": names[0]} if names else None)
