"""Time per run-step of the language models: a plain loop and the engine, in turns in one run.

`python benchmarks/language.py > benchmarks/language.json`. The plain loop is what one would write with PyTorch's own layers: a
model, single precision, rows drawn at random and padded to the longest of the data set, as many threads as there are cores. The
engine trains as a sweep does: buckets by length, several runs at once; in bfloat16, where the machine has it, and in single
precision.
"""

from __future__ import annotations

import dataclasses
import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.speed import Measure, _Contender, _round, _stepping
from lib.book.registry import EXPERIMENTS
from lib.core.model.init import apply_gamma
from lib.core.model.transformer import IGNORED
from lib.core.record.spec import RunSpec
from lib.core.train.loop import Trainer
from lib.core.train.machine import cores, has_bf16, keep_freed_memory
from lib.core.train.plan import Options, backend_for, slots_that_fit, workers_for
from lib.language.experiments import CHAIN, LARGE, TURN, asking_specs, cogs_specs, mix_specs, scan_specs
from lib.language.models import CausalSpec

ROUNDS, SECONDS = 5, 4.0
TIMED: dict[str, Callable[[], RunSpec]] = {
    "SCAN": lambda: scan_specs("laptop")[(TURN, 21_890, *LARGE)][0],
    "COGS": lambda: cogs_specs("laptop")[("COGS", 16_000, *LARGE)][0],
    "PrOntoQA": lambda: asking_specs("laptop")[(CHAIN, 16_000, *LARGE)][0],
    "mix": lambda: mix_specs("laptop")[(True, 0.5)][0],
}


class PlainGPT(nn.Module):
    """tokens (B, N) → logits of every position (B, N, V): PyTorch's own pre-norm layers, tied output."""

    def __init__(self, spec: CausalSpec) -> None:
        super().__init__()
        if (spec.norm, spec.activation, spec.bias, spec.tied) != ("pre", "gelu", True, True):
            raise ValueError("the plain language model has GPT-2's form with tied embeddings.")
        self.token = nn.Embedding(spec.vocab, spec.d_model)
        self.position = nn.Embedding(spec.positions, spec.d_model)
        layer = nn.TransformerEncoderLayer(
            spec.d_model, spec.heads, spec.d_ff, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.blocks = nn.TransformerEncoder(layer, spec.depth, nn.LayerNorm(spec.d_model), enable_nested_tensor=False)

    def forward(self, tokens: Tensor) -> Tensor:
        n = tokens.shape[1]
        x = self.token(tokens) + self.position(torch.arange(n, device=tokens.device))
        mask = nn.Transformer.generate_square_subsequent_mask(n, device=tokens.device)
        return self.blocks(x, mask=mask, is_causal=True) @ self.token.weight.T


def plain_losses(model: PlainGPT, tokens: Tensor, target: Tensor) -> Tensor:
    return F.cross_entropy(model(tokens).flatten(0, 1), target.flatten(), ignore_index=IGNORED)


def _plain(spec: RunSpec, options: Options) -> Measure:
    keep_freed_memory()
    study = EXPERIMENTS[spec.experiment].make_study(spec)
    model = PlainGPT(spec.model)
    apply_gamma(model, spec.gamma)
    optimizer = torch.optim.AdamW(model.parameters(), lr=spec.rate, weight_decay=spec.decay)

    def step() -> float:
        rows = torch.randint(len(study.tokens), (spec.train.batch,))
        optimizer.zero_grad()
        loss = plain_losses(model, study.tokens[rows], study.target[rows])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), spec.train.clip)
        optimizer.step()
        return loss.item()

    return _stepping(step, torch.device("cpu"), 1)


def _engine(spec: RunSpec, options: Options) -> Measure:
    keep_freed_memory()
    runs = [dataclasses.replace(spec, seed=i) for i in range(options.slots)]
    group = Trainer(runs, EXPERIMENTS[spec.experiment].make_study(spec), options)
    group.refill()
    for _ in range(30):  # every bucket has its program before anything is timed
        group.step()
    return _stepping(group.step, group.device, len(runs))


def _as_sweep(spec: RunSpec, longest: int, bf16: bool) -> Options:
    """How a sweep would train, whose processes are `sharing`."""
    workers = workers_for([spec] * cores(), Options(bf16=bf16))
    slots = slots_that_fit(spec, longest, Options(sharing=workers, bf16=bf16))
    return Options(slots=slots, sharing=workers, bf16=bf16)


def time_task(name: str) -> dict[str, object]:
    """A row of the table: milliseconds for one step of one run, and their ratio round by round."""
    spec = TIMED[name]()
    longest = EXPERIMENTS[spec.experiment].make_study(spec).length
    options = {
        precision: _as_sweep(spec, longest, bf16)
        for precision, bf16 in (("bfloat16", True), ("float32", False))
        if not bf16 or has_bf16(torch.device("cpu"))
    }
    contenders = {"plain": [_Contender(_plain, spec, Options(slots=1), cores())]}
    for precision, how in options.items():
        threads = max(1, cores() // how.sharing)
        contenders[precision] = [_Contender(_engine, spec, how, threads) for _ in range(how.sharing)]
    for group in contenders.values():
        for contender in group:
            contender.answer()
    times: dict[str, list[float]] = {which: [] for which in contenders}
    for _ in range(ROUNDS):
        for which, group in contenders.items():
            for contender in group:
                contender.work(SECONDS)
            times[which].append(statistics.mean(c.answer() for c in group) / len(group))
    for group in contenders.values():
        for contender in group:
            contender.work(None)
            contender.process.join()
    record: dict[str, object] = {
        "task": name,
        "d_model": spec.model.d_model,
        "depth": spec.model.depth,
        "batch": spec.train.batch,
        "longest": longest,
        "rounds": ROUNDS,
        "plain_ms": _round(statistics.median(times["plain"]) * 1e3),
    }
    for precision, how in options.items():
        ratios = [theirs / ours for theirs, ours in zip(times["plain"], times[precision], strict=True)]
        record[precision] = {
            "program": backend_for([spec], how),
            "slots": how.slots,
            "ms": _round(statistics.median(times[precision]) * 1e3),
            "ratio": _round(statistics.median(ratios)),
            "ratio_lowest": _round(min(ratios)),
        }
    return record


if __name__ == "__main__":
    print(json.dumps([time_task(name) for name in (sys.argv[1:] or TIMED)], indent=1))
