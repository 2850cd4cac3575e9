"""Shapes that annotations promise, checked while models of every form train and answer."""

from __future__ import annotations

import subprocess
import sys

import pytest

HOOKED = """
from jaxtyping import install_import_hook

CHECKED = ("lib.core.model", *(f"lib.core.train.{name}" for name in ("ensemble", "native", "optim")))
with install_import_hook(CHECKED, "beartype.beartype"):
    from lib.core.model.transformer import ActivationCache, ModelSpec
    from lib.core.model.query_attention import QueryAttention
    from lib.core.model.rng import randint
    from lib.core.train.ensemble import Ask, Ensemble

import torch
from lib.core.record.spec import RunSpec, TrainSpec


def ensemble(backend="eager", **form):
    model = ModelSpec(vocab=20, positions=5, depth=2, d_model=16, d_ff=32, d_k=16, d_v=16, **form)
    train = TrainSpec(batch=6, steps=4, warmup=1, eval_every=2)
    specs = [RunSpec("shapes", 1, 0.5, seed, 1e-3, 0.01, model, train) for seed in range(3)]
    made = Ensemble(specs[0], 3, torch.device("cpu"), torch.float32, backend)
    for slot, spec in enumerate(specs):
        made.load(slot, spec)
    return made
"""


FORMS = ['norm="post"', 'norm="pre", activation="gelu", bias=True, heads=2', 'norm="none", activation="tanh"']


SOUND = f"""
from lib.core.train import native
rows = lambda seed, index: (torch.randint(20, (3, 6, 5)), torch.randint(20, (3, 6)))
for form in ({", ".join(f"dict({form})" for form in FORMS)}):
    for backend in ("eager", "native"):
        one = ensemble(**form)
        if backend == "native":
            if not native.trains(one.model.spec, 6, 5, torch.float32):
                continue
            one = ensemble("native", **form)
        one.train_step(rows)
        assert Ask(one)(torch.randint(20, (7, 5))).shape == (3, 7)
        assert Ask(one).logits(torch.randint(20, (7, 5))).shape == (3, 7, 20)
        one.restore(one.runs, one.state())
        one.model(torch.randint(20, (3, 7, 5)), ActivationCache({{"embedding": lambda value: 0 * value}}))
assert QueryAttention(3, 8, 0.5).asked(torch.rand(3, 6, 8)).shape == (3, 6, 8)
assert randint(torch.tensor([[1], [2]]), 0, torch.arange(5), 7).shape == (2, 5)
print("sound")
"""
WRONG = """
less = ActivationCache({"embedding": lambda value: value[:, :, :1]})
for wrong in ((torch.randint(20, (6, 5)),), (torch.rand(3, 6, 5),), (torch.randint(20, (3, 6, 5)), less)):
    try:
        ensemble().model(*wrong)
    except Exception as error:
        print(type(error).__name__)
"""


@pytest.fixture(scope="module")
def done() -> subprocess.CompletedProcess:
    """What a process says of both, with checks in place."""
    return subprocess.run([sys.executable, "-c", HOOKED + SOUND + WRONG], capture_output=True, text=True)


def test_training_and_answers_have_the_shapes_that_are_promised(done: subprocess.CompletedProcess) -> None:
    assert done.stdout.splitlines()[:1] == ["sound"], done.stderr[-2000:]


def test_an_input_of_another_shape_or_kind_is_caught(done: subprocess.CompletedProcess) -> None:
    """No run axis; numbers in place of tokens; an intervention that leaves positions out."""
    assert done.stdout.splitlines()[1:] == ["TypeCheckError"] * 3
