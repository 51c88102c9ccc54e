"""Tiny packages and a catalogue entry made of them, so that set-up is tried with the real pip in seconds."""

from __future__ import annotations

import hashlib
import zipfile
from dataclasses import dataclass
from pathlib import Path

from pipeline.environments import Spec


@dataclass(frozen=True)
class Shelf:
    """A folder of wheels that pip is pointed to, and of requirement files that name them."""

    root: Path

    def wheel(self, name: str, version: str = "1.0", body: str = "VALUE = 1\n") -> str:
        """Write a wheel with one module; gives its pinned and hashed requirement."""
        path = self.root / f"{name}-{version}-py3-none-any.whl"
        info = f"{name}-{version}.dist-info"
        files = {
            f"{name}.py": body,
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        record = "".join(f"{one},,\n" for one in [*files, f"{info}/RECORD"])
        with zipfile.ZipFile(path, "w") as archive:
            for one, text in (files | {f"{info}/RECORD": record}).items():
                archive.writestr(one, text)
        return f"{name}=={version} \\\n    --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"

    def requirements(self, filename: str, *pins: str) -> Path:
        """Write a requirement file."""
        path = self.root / filename
        path.write_text("".join(pins))
        return path

    def spec(self, *pins: str, probe: str = "import tiny", **more: object) -> Spec:
        """An environment of these pins."""
        files = (self.requirements("tiny.txt", *pins),)
        fields = {"name": "tiny", "purpose": "a test", "probe": ("-c", probe), "disk_gib": 0.01} | more
        return Spec(requirements=files, reports=("tiny",), **fields)  # type: ignore[arg-type]


MISSING = "absent==1.0 --hash=sha256:" + "0" * 64 + "\n"
"""A pin that no registry serves."""
