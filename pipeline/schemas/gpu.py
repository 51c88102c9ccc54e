"""What an owner says about a machine with GPUs: `.weighbridge/gpu.toml`, every line of it optional."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from pipeline.schemas.base import Authored
from pipeline.schemas.words import Engine, Launcher


class EngineSetting(Authored):
    """How one engine is started here."""

    launcher: Launcher = Field("container", description="container, venv, or url of a server that runs")
    image: str | None = Field(None, description="image by tag, instead of the profile's")
    python: str | None = Field(None, description="Python of an environment made by hand (venv launcher)")
    url: str | None = Field(None, description="address of a running server (url launcher)")

    @model_validator(mode="after")
    def _url_where_needed(self) -> Self:
        if (self.launcher == "url") != (self.url is not None):
            raise ValueError("launcher = 'url' and url belong together")
        return self


class OwnWeights(Authored):
    """Real weights instead of the made ones of a size class."""

    name: str = Field(pattern=r"^[A-Za-z0-9._-]+$", description="name that rows carry as their model")
    path: str = Field(description="folder with config.json, tokenizer and safetensors")


class GpuSettings(Authored):
    """The whole file."""

    program: Literal["docker", "podman"] = Field("docker", description="container program")
    gpus: tuple[int, ...] | None = Field(None, description="cards to use, by number; all if unset")
    engines: dict[Engine, EngineSetting] = Field(default_factory=dict, description="engine to how it starts")
    weights: dict[str, OwnWeights] = Field(default_factory=dict, description="size class to real weights")

    def engine(self, name: Engine) -> EngineSetting:
        """How an engine starts here."""
        return self.engines.get(name) or EngineSetting()
