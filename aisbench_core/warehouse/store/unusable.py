"""Engines that DuckDB has declared unusable after a fault of its own, and that nothing may touch any more.

DuckDB ends the whole process when such an engine is rolled back or closed while a lake is attached: the lake's own
rollback fails, in a place where C++ allows no error. It happens where PostgreSQL dies in the middle of an answer, or
another process removes tables of a former schema (github.com/duckdb/ducklake/issues/1305).
"""

import ctypes

import duckdb

ERRORS = (duckdb.InternalException, duckdb.FatalException)
"""What the fault itself is raised as, and everything that is asked of the engine afterwards."""


def leave(*connections: duckdb.DuckDBPyConnection) -> None:
    """Never close them, not even when the program ends: their memory is lost, which is better than the process."""
    for connection in connections:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(connection))
