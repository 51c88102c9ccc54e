"""Every error a user can cause or meet, each with what happened, where, and what to do next."""

from __future__ import annotations


class WeighbridgeError(Exception):
    """Root of all expected errors: printed as one message, never as a traceback.

    Args:
        what: what happened, in one sentence.
        where: file, line, field, process or address it happened at.
        next_step: what the user can do now.
    """

    exit_code = 1

    def __init__(self, what: str, *, where: str | None = None, next_step: str | None = None) -> None:
        self.what, self.where, self.next_step = what, where, next_step
        super().__init__(self.message)

    @property
    def message(self) -> str:
        """The message as a user sees it, up to three lines."""
        lines = [self.what]
        if self.where:
            lines.append(f"  where: {self.where}")
        if self.next_step:
            lines.append(f"  next:  {self.next_step}")
        return "\n".join(lines)


class InputError(WeighbridgeError):
    """A file, option or query of the user's is wrong; nothing on disk was changed."""

    exit_code = 2


class EnvironmentMissing(WeighbridgeError):
    """A tool's environment is absent or cannot be installed on this machine."""

    exit_code = 3


class EngineFailure(WeighbridgeError):
    """An engine or router did not start, or died."""

    exit_code = 4


class LoadFailure(WeighbridgeError):
    """The load generator gave no usable result."""

    exit_code = 5


class DataError(WeighbridgeError):
    """Stored data are missing, damaged or contradict themselves."""

    exit_code = 6


class BusyError(WeighbridgeError):
    """Another run holds this machine."""

    exit_code = 7


class CheckFailed(WeighbridgeError):
    """A check of pages, claims or data found something wrong."""

    exit_code = 8
