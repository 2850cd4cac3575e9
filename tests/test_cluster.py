"""Sweeps on a Ray cluster of two nodes, started here: the same results, retried, reported, with the resources asked for."""

from __future__ import annotations

import builtins
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import SpecFactory, scalars
from tiny import broken_at_depth_1

from lib.composition.study import Composition, make_study
from lib.core.record.spec import RunSpec, SpecError
from lib.core.record.store import Store, load
from lib.core.sweep.cluster import ClusterError, RayExecutor
from lib.core.sweep.jobs import SweepError, sweep
from lib.core.train.plan import Options

PLAIN = Options(device="cpu", bf16=False, backend="eager")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Two nodes of one core and one (pretended) card each."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray
    from ray.cluster_utils import Cluster

    for name in (__name__, "tiny"):
        ray.cloudpickle.register_pickle_by_value(sys.modules[name])
    node = {"num_cpus": 1, "num_gpus": 1, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=node)
    cluster.add_node(num_cpus=1, num_gpus=1)
    yield cluster.address
    cluster.shutdown()


@pytest.fixture(scope="module")
def cluster(address: str) -> Iterator[RayExecutor]:
    """A job for each core; other demands are made before it, since a process is on one cluster at a time."""
    with RayExecutor(address) as cluster:
        yield cluster


@pytest.fixture
def specs(tiny_spec: SpecFactory) -> list[RunSpec]:
    return [tiny_spec(depth=depth, seed=seed) for depth in (1, 2) for seed in (0, 1)]


def assigned() -> dict[str, Any]:
    import ray

    return ray.get_runtime_context().get_assigned_resources()


def test_a_fraction_of_a_card_is_requested_when_asked(address: str) -> None:
    with RayExecutor(address, cpus=0.25, gpus=0.25) as cluster:
        assert (cluster.workers, cluster.sharing) == (8, 4)
        assert cluster.submit(assigned).result() == {"CPU": 0.25, "GPU": 0.25}


def test_no_room_for_a_job_is_said(address: str) -> None:
    with pytest.raises(ClusterError, match=r"no machine of the cluster has 1 CPUs and 2 GPUs for a job: ask for less"):
        RayExecutor(address, gpus=2)


def test_same_results_as_in_process(cluster: RayExecutor, specs: list[RunSpec], tmp_path: Path) -> None:
    here, there = Store(tmp_path / "here"), Store(tmp_path / "there")
    sweep(specs, here, make_study, PLAIN, progress=False)
    assert (cluster.workers, cluster.sharing) == (2, 1)
    report = sweep(specs, there, make_study, PLAIN, executor=cluster, progress=False)
    assert (report.found, report.trained) == (0, 4)
    for one, other in zip(load(specs, here), load(specs, there), strict=True):
        assert scalars(one.metrics) == pytest.approx(scalars(other.metrics), abs=2 / 560)
        assert one.history["loss"] == pytest.approx(other.history["loss"], rel=1e-4)


def kill_once(marker: Path) -> Callable[[RunSpec], Composition]:
    def make(spec: RunSpec) -> Composition:
        if not marker.exists():
            marker.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return make_study(spec)

    return make


def test_a_worker_killed_once_is_retried(cluster: RayExecutor, specs: list[RunSpec], tmp_path: Path) -> None:
    marker, store = tmp_path / "killed", Store(tmp_path / "store")
    report = sweep(specs, store, kill_once(marker), PLAIN, executor=cluster, progress=False)
    assert int(marker.read_text()) != os.getpid()
    assert report.trained == 4
    assert len(load(specs, store)) == 4


def test_a_failing_group_is_reported_and_the_rest_finishes(cluster: RayExecutor, specs: list[RunSpec], tmp_path: Path) -> None:
    store = Store(tmp_path)
    with pytest.raises(SweepError, match=r"runs at depth 1 .*seeds 0.*RuntimeError: boom.*seeds 1.*RuntimeError: boom"):
        sweep(specs, store, broken_at_depth_1, PLAIN, executor=cluster, progress=False)
    assert [store.get(spec) is not None for spec in specs] == [False, False, True, True]


def test_a_worker_that_always_dies_is_reported(cluster: RayExecutor, specs: list[RunSpec], tmp_path: Path) -> None:
    def die(spec: RunSpec) -> Composition:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    with pytest.raises(SweepError, match="WorkerCrashedError"):
        sweep(specs[:1], Store(tmp_path), die, PLAIN, executor=cluster, progress=False)


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere", "127.0.0.1:notaport", "127.0.0.1:99999"])
def test_an_unreachable_address_is_said_at_once(address: str) -> None:
    with pytest.raises(ClusterError, match=r"no Ray cluster answers at .*: start one with `ray start --head`"):
        RayExecutor(address)


def test_without_ray_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    genuine = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "ray":
            raise ImportError(name)
        return genuine(name, *args, **kwargs)

    monkeypatch.setattr("importlib.import_module", without)
    with pytest.raises(ClusterError, match=r"Ray is not installed: pip install -r requirements-ray\.txt"):
        RayExecutor("127.0.0.1:6379")


@pytest.mark.parametrize("asked", [{"cpus": 0}, {"gpus": -1}, {"gpus": float("nan")}])
def test_resources_that_make_no_sense_are_refused(asked: dict[str, float]) -> None:
    with pytest.raises(SpecError, match=f"{next(iter(asked))} must be"):
        RayExecutor(None, **asked)
