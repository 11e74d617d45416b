"""TensorBoard as a process whose path comes on stdin: whoever has an account here sees the arguments of processes."""

import runpy
import sys

if __name__ == "__main__":
    sys.argv += ["--path_prefix", sys.stdin.readline().strip()]
    runpy.run_module("tensorboard.main", run_name="__main__", alter_sys=True)
