"""Plays the tasks of a campaign on a Dask cluster, and keeps each result."""

import contextlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from conformance.campaigns import task as worker
from conformance.campaigns.plan import Task
from conformance.campaigns.task import Outcome
from conformance.configuration import ConfigurationError
from conformance.running.machine import core_count

AHEAD = 2  # tasks for each thread of the cluster that are handed over ahead of time
RETRIES = 2  # further tries of a task whose worker crashes
_COARSE = {
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.worker.profile.enabled": False,
}
"""Settings of a local cluster: Dask need not watch itself often, because tasks take seconds."""


class ClusterLost(Exception):
    """The scheduler is gone; all results that had arrived are kept."""


@contextlib.contextmanager
def cluster(address: str) -> Iterator[Any]:
    """A client of the named scheduler, or of a cluster of this machine's cores.

    Raises ConfigurationError if Dask is not installed or the scheduler cannot be reached.
    """
    try:
        import dask
        import distributed
    except ImportError as error:
        raise ConfigurationError(
            "a campaign needs Dask: pip install 'conformance[campaign]'"
        ) from error
    with contextlib.ExitStack() as stack:
        try:
            if address:
                client = distributed.Client(address, timeout="10s")
            else:
                stack.enter_context(dask.config.set(_COARSE))
                local = distributed.LocalCluster(
                    n_workers=core_count(),
                    threads_per_worker=1,
                    host="127.0.0.1",
                    dashboard_address="127.0.0.1:0",
                )
                stack.enter_context(local)
                client = distributed.Client(local)
        except (OSError, TimeoutError) as error:
            raise ConfigurationError(f"--cluster {address}: {error}") from error
        stack.enter_context(client)
        yield client


def play(
    client: Any, tasks: Sequence[Task], ended: Callable[[Task, Outcome | None, str], None]
) -> None:
    """Play all tasks; ``ended`` is called with each outcome, or with the reason of its loss.

    Only a few tasks are with the cluster at a time, so the memory of the client stays flat. Raises
    ClusterLost if the scheduler is gone.
    """
    from distributed import as_completed
    from distributed.client import FutureCancelledError

    waiting = deque(tasks)
    by_key = {task.id: task for task in tasks}

    def submit() -> Any:
        task = waiting.popleft()
        return client.submit(worker.run, task, key=task.id, retries=RETRIES, pure=False)

    threads = max(sum(client.nthreads().values()), 1)
    first = [submit() for _ in range(min(AHEAD * threads, len(waiting)))]
    arriving = as_completed(first)
    for future in arriving:
        task = by_key[future.key]
        try:
            ended(task, future.result(), "")
        except (FutureCancelledError, OSError) as error:
            raise ClusterLost(str(error)) from error
        except Exception as error:
            ended(task, None, f"{type(error).__name__}: {error}")
        future.release()
        if waiting:
            arriving.add(submit())
