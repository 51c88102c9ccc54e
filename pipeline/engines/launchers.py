"""Three ways to get a server on GPUs: a container image, an environment, or one that runs already."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.engines import trtllm, vllm
from pipeline.engines.containers import PORT, Container, Containers
from pipeline.engines.models import model_folder, weighted_folder
from pipeline.engines.openai import Handle, OpenAiServer
from pipeline.engines.processes import ContainerHandle, GroupHandle, StrangerHandle
from pipeline.engines.server import Server, ServerSpec
from pipeline.engines.trtllm import TrtLlmServer
from pipeline.engines.vllm import VllmServer
from pipeline.environments import environment
from pipeline.errors import EnvironmentMissing
from pipeline.paths import cache_root, without_places
from pipeline.process import ProcessGroup, child_environment
from pipeline.schemas.cell import EngineKnobs
from pipeline.schemas.gpu import EngineSetting, GpuSettings
from pipeline.schemas.launch import Launch, launch_id
from pipeline.schemas.profile import EngineSource
from pipeline.schemas.words import Engine

ENVIRONMENTS: Mapping[Engine, str] = {"vllm": "gpu-vllm"}
CONFIG = "config.yaml"
INSIDE_MODEL, INSIDE_CONFIG, INSIDE_CACHE = "/model", "/config", "/cache"


@dataclass(frozen=True)
class Garage:
    """What starting a server needs to know about this machine.

    Args:
        settings: the owner's file.
        sources: engines as the profile pins them.
        digests: image by tag to the digest that was recorded at set-up.
    """

    settings: GpuSettings
    sources: Mapping[Engine, EngineSource]
    digests: Mapping[str, str]

    def setting(self, engine: Engine) -> EngineSetting:
        """How an engine starts here."""
        return self.settings.engine(engine)

    def version(self, knobs: EngineKnobs) -> str | None:
        """The version that is asked for; None for a server that ran already."""
        if self.setting(knobs.name).launcher == "url":
            return None
        return knobs.version or self.sources[knobs.name].version

    def image(self, engine: Engine, version: str) -> str:
        """The image of a version by tag."""
        return self.setting(engine).image or self.sources[engine].image_of(version)

    def missing(self, engine: Engine, version: str | None = None) -> str | None:
        """What keeps an engine from starting here, None when nothing does."""
        setting, wanted = self.setting(engine), version or self.sources[engine].version
        if setting.launcher == "url":
            return None
        if setting.launcher == "venv":
            return self._missing_environment(engine, setting, wanted)
        if shutil.which(self.settings.program) is None:
            return f"{engine}: {self.settings.program} is not installed"
        image = self.image(engine, wanted)
        return None if image in self.digests else f"{engine}: image {image} (weighbridge gpu setup)"

    def _missing_environment(self, engine: Engine, setting: EngineSetting, version: str) -> str | None:
        if version != self.sources[engine].version:
            return f"{engine} {version}: only a container holds a version other than the pinned one"
        if setting.python:
            return None if Path(setting.python).exists() else f"{engine}: {setting.python} is not there"
        name = ENVIRONMENTS.get(engine)
        if name is None:
            return f"{engine} has no pinned environment: use its image, or name python in gpu.toml"
        try:
            environment(name)
        except EnvironmentMissing:
            return f"{engine}: environment {name} (weighbridge env setup {name})"
        return None


@dataclass(frozen=True)
class Start:
    """One start: the arguments of the engine as they read at the place it runs in."""

    program: list[str]
    arguments: list[str]
    config: str
    variables: dict[str, str]


def start_server(spec: ServerSpec, garage: Garage, say: Callable[[str], None]) -> Server:
    """Start one replica, or take the one that runs.

    Raises:
        EnvironmentMissing: image, environment or room for the weights is missing.
        EngineFailure: the program could not be started.
    """
    launcher = garage.setting(spec.knobs.name).launcher
    reason = garage.missing(spec.knobs.name, garage.version(spec.knobs))
    if reason:
        raise EnvironmentMissing(f"cannot start {reason}", next_step="weighbridge run PROFILE --plan")
    start = {"container": _in_container, "venv": _in_environment, "url": _stranger}[launcher]
    return start(spec, garage, say)


def folder_of(knobs: EngineKnobs, settings: GpuSettings, say: Callable[[str], None]) -> Path:
    """The model's folder: the owner's, or the made one, with weights where they are asked for."""
    if knobs.weights == "own":
        return next(Path(own.path) for own in settings.weights.values() if own.name == knobs.model)
    return weighted_folder(knobs.model, say) if knobs.weights == "gaussian" else model_folder(knobs.model)


def plan_start(knobs: EngineKnobs, model: str, host: str, port: int, config: str) -> Start:
    """What is run for these knobs, wherever that is.

    Args:
        knobs: of the replica.
        model: folder as the engine sees it.
        host: address it binds to.
        port: port it binds to.
        config: path of the configuration file as the engine sees it.
    """
    if knobs.name == "vllm":
        line = ["-m", vllm.MODULE, *vllm.gpu_arguments(knobs, model, host, port)]
        return Start(["python3"], line, "", dict(vllm.QUIET))
    text = trtllm.configuration(knobs)
    quiet = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TLLM_LOG_LEVEL": "INFO"}
    return Start([trtllm.PROGRAM], trtllm.arguments(knobs, model, host, port, config), text, quiet)


def _in_container(spec: ServerSpec, garage: Garage, say: Callable[[str], None]) -> Server:
    knobs, containers = spec.knobs, Containers(garage.settings.program)
    folder = folder_of(knobs, garage.settings, say)
    start = plan_start(knobs, INSIDE_MODEL, "0.0.0.0", PORT, f"{INSIDE_CONFIG}/{CONFIG}")  # noqa: S104
    configs, cache = _config_folder(spec, start.config), cache_root() / "engine-cache" / knobs.name
    cache.mkdir(parents=True, exist_ok=True)
    image = garage.image(knobs.name, str(garage.version(knobs)))
    is_vllm = knobs.name == "vllm"
    wanted = Container(
        name=f"weighbridge-{spec.index}-{spec.port}",
        image=garage.digests[image],
        gpus=spec.gpus,
        port=spec.port,
        folders={folder: f"{INSIDE_MODEL}:ro", configs: f"{INSIDE_CONFIG}:ro", cache: INSIDE_CACHE},
        variables=start.variables | ({"VLLM_CACHE_ROOT": INSIDE_CACHE} if is_vllm else {}),
        # The image's own entry point would put the server's name first; TensorRT-LLM's sets up its libraries.
        arguments=start.arguments if is_vllm else [*start.program, *start.arguments],
        entrypoint=start.program[0] if is_vllm else None,
    )
    line = containers.line(wanted)
    launch = _launch(spec, garage, line, start, image)
    group = ProcessGroup(line, child_environment({}), _log(spec), spec.notes)
    return _served(spec, ContainerHandle(group, containers, wanted.name), launch)


def _in_environment(spec: ServerSpec, garage: Garage, say: Callable[[str], None]) -> Server:
    knobs, setting = spec.knobs, garage.setting(spec.knobs.name)
    folder = folder_of(knobs, garage.settings, say)
    path = spec.logs.parent / "configs" / f"{spec.index}-{spec.port}" / CONFIG
    start = plan_start(knobs, str(folder), "127.0.0.1", spec.port, str(path))
    _config_folder(spec, start.config)
    python = Path(setting.python) if setting.python else environment(ENVIRONMENTS[knobs.name]).python
    first = [str(python)] if knobs.name == "vllm" else [str(python.parent / trtllm.PROGRAM)]
    line = [*first, *start.arguments]
    cards = {"CUDA_VISIBLE_DEVICES": ",".join(map(str, spec.gpus))}
    launch = _launch(spec, garage, line, start, None)
    group = ProcessGroup(line, child_environment(start.variables | cards), _log(spec), spec.notes)
    return _served(spec, GroupHandle(group), launch)


def _stranger(spec: ServerSpec, garage: Garage, _: Callable[[str], None]) -> Server:
    url = str(garage.setting(spec.knobs.name).url)
    start = Start([], [], "", {})
    launch = _launch(spec, garage, ["(a server that its owner started)"], start, None)
    return _served(spec, StrangerHandle(url, _log(spec)), launch, url)


def _served(spec: ServerSpec, handle: Handle, launch: Launch, url: str | None = None) -> Server:
    kinds: dict[Engine, type[OpenAiServer]] = {"vllm": VllmServer, "tensorrt-llm": TrtLlmServer}
    return kinds[spec.knobs.name](spec, handle, launch, url)  # type: ignore[return-value]  # both kinds have all that Server asks


def _config_folder(spec: ServerSpec, text: str) -> Path:
    folder = spec.logs.parent / "configs" / f"{spec.index}-{spec.port}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CONFIG).write_text(text, encoding="utf-8")
    return folder


def _log(spec: ServerSpec) -> Path:
    return spec.logs / f"{spec.knobs.name}-{spec.index}-{spec.port}.log"


def _launch(spec: ServerSpec, garage: Garage, line: list[str], start: Start, image: str | None) -> Launch:
    """What is stored: ports and names that change at every start are left out, so equal starts are equal."""
    knobs, setting = spec.knobs, garage.setting(spec.knobs.name)
    shown = without_places(shlex.join(line), spec.logs.parent).replace(str(spec.port), "$PORT")
    shown = shown.replace(f"configs/{spec.index}-$PORT", "configs")
    shown = shown.replace(f"weighbridge-{spec.index}-", "weighbridge-")
    for own in garage.settings.weights.values():
        shown = shown.replace(own.path, f"$MODELS/{own.name}")
    variables = " ".join(f"{name}={value}" for name, value in sorted(start.variables.items()))
    digest = garage.digests.get(image) if image else None
    version = garage.version(knobs)
    parts = (knobs.name, version, setting.launcher, image, digest, shown, variables, start.config)
    return Launch(
        launch_id=launch_id(parts),
        engine=knobs.name,
        version=version,
        launcher=setting.launcher,
        image=image,
        image_digest=digest,
        command=shown,
        environment=variables,
        config=start.config,
    )
