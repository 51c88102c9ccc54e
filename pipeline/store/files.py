"""Writing files so that a crash or a full disk leaves either the old state or the new one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.errors import DataError


@contextmanager
def reported(doing: str, where: Path) -> Iterator[None]:
    """Turn an operating system's refusal (disk full, no permission) into a DataError that says what to do."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"{doing} failed: {error.strerror or error}",
            where=str(where),
            next_step="free some space or mend permissions, then start the same command again: "
            "finished cells are kept",
        ) from error


def append_synced(path: Path, data: bytes) -> None:
    """Append all of `data` and sync, or leave the file as it was.

    Raises:
        OSError: nothing of `data` is in the file then, as far as the disk allows.
    """
    with path.open("ab", buffering=0) as file:
        start = file.seek(0, os.SEEK_END)
        try:
            _write_all(file.fileno(), data)
            os.fsync(file.fileno())
        except OSError:
            file.truncate(start)
            raise


def write_synced(path: Path, data: bytes) -> None:
    """Write a file whole under a temporary name, sync and rename it."""
    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("wb", buffering=0) as file:
            _write_all(file.fileno(), data)
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError:
        partial.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames and new names in a folder survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def folder_written_whole(target: Path) -> Iterator[Path]:
    """Give a temporary folder to fill; it becomes `target` on success and vanishes on failure."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    try:
        yield partial
        partial.rename(target)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    sync_folder(target.parent)


def _write_all(handle: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(handle, left) :]
