"""Execution of work of any kind: local processes, Ray and Dask clusters, leases, and the scheduler."""

from probing.execution.backends import check_backend, choose_backend
from probing.execution.leases import Leases
from probing.execution.local import LocalProcesses
from probing.execution.scheduler import Waiting, execute, find_waiting
from probing.execution.work import AnyWork, Backend, RunWork
