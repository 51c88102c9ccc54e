"""`weighbridge cost`: what a request costs, or the least that it can cost."""

from __future__ import annotations

import json
from typing import Any, Literal

from pydantic import BaseModel, Field
from pydantic_settings import CliPositionalArg

from pipeline.catalogue import Catalogue, catalogue
from pipeline.derived.bounds import cost_floor
from pipeline.derived.cost import usd_per_gb_hour, usd_per_million_tokens, usd_per_request
from pipeline.derived.fit import Question, fit
from pipeline.errors import InputError
from pipeline.paths import Workspace
from pipeline.schemas.catalogue import Price


class CostCommand(BaseModel):
    """Price a request from a throughput you measured (--tok-s-per-gpu), or the least it can cost."""

    model: CliPositionalArg[str] = Field(
        description="catalogue name, Hugging Face id, or path of a config.json"
    )
    gpu: str = Field(description='board with a price, as in: weighbridge query "SELECT item FROM prices"')
    tp: int = Field(1, ge=1, description="GPUs of one replica")
    isl: int = Field(1000, ge=1, description="prompt, tokens")
    osl: int = Field(1000, ge=1, description="output, tokens")
    tok_s_per_gpu: float | None = Field(None, gt=0, description="output tokens a second and GPU, measured")
    utilisation: float = Field(1.0, gt=0, le=1, description="share of full load that comes")
    weight_bits: float | None = Field(
        None, gt=0, le=32, description="bits of a weight; the checkpoint's if not given"
    )
    format: Literal["text", "json"] = Field("text", description="text or json")

    def cli_cmd(self) -> None:
        """Print the answer."""
        found = self.answer(Workspace())
        print(json.dumps(found, indent=1, default=str) if self.format == "json" else _told(found))

    def answer(self, ws: Workspace) -> dict[str, Any]:
        """Columns as in the view `cost`, or those of a measured throughput.

        Raises:
            InputError: no such model, GPU or price; or the model does not fit.
        """
        known = catalogue(ws)
        price = _price(known, self.gpu)
        return self._measured(known, price) if self.tok_s_per_gpu else self._floor(known, price)

    def _measured(self, known: Catalogue, price: Price) -> dict[str, Any]:
        rate = float(self.tok_s_per_gpu or 0) * self.tp / self.osl
        return {
            "model": known.model(self.model).name,
            "gpu": self.gpu,
            "gpus": self.tp,
            "isl": self.isl,
            "osl": self.osl,
            "utilisation": self.utilisation,
            "usd_per_gpu_hour": price.usd,
            "price_dated": price.dated,
            "tok_s_per_gpu": self.tok_s_per_gpu,
            "usd_per_request": usd_per_request(price.usd, self.tp, rate, self.utilisation),
            "usd_per_million_tokens": usd_per_million_tokens(
                price.usd, float(self.tok_s_per_gpu or 0) * self.utilisation
            ),
            "usd_per_gb_hour": usd_per_gb_hour(price.usd, known.board(self.gpu).memory_gb),
        }

    def _floor(self, known: Catalogue, price: Price) -> dict[str, Any]:
        asked = Question(
            known.model(self.model),
            known.board(self.gpu),
            "vllm",
            self.tp,
            context=self.isl + self.osl,
            weight_bits=self.weight_bits,
        )
        row = cost_floor(asked, price, self.isl, self.osl, self.utilisation)
        if row is None:
            raise InputError(
                f"{asked.model.name} does not fit {self.tp} x {self.gpu}, so a request has no price there",
                where=fit(asked).notes,
                next_step="take more GPUs (--tp), a larger one (--gpu) or fewer bits (--weight-bits)",
            )
        return row.model_dump()


def _price(known: Catalogue, item: str) -> Price:
    known.board(item)
    price = known.price(item)
    if price is None:
        raise InputError(
            f"no price for {item}",
            where="data/catalogue/prices.toml",
            next_step="add one with source and date",
        )
    return price


def _told(found: dict[str, Any]) -> str:
    width = max(map(len, found))
    lines = [
        f"{name:<{width}}  {value:.6g}" if isinstance(value, float) else f"{name:<{width}}  {value}"
        for name, value in found.items()
    ]
    note = "" if "usd_per_request" in found else "\nfloor: no software is cheaper; real engines cost more"
    return "\n".join(lines) + note
