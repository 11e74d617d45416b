"""MindSpore's msrun on a node that shares its machine with others: `python msrun_node.py ARGS…`, ARGS as for msrun."""

# msrun starts the job's scheduler on the node that has the first node's address. Here every node has all addresses,
# so each would start one, and only the first could listen. Nothing else of msrun is changed.

import sys
from importlib import import_module
from importlib.util import find_spec

NOT_FOUND = 127
_MISSING = "[ModelArts Service Log][init] msrun: command not found. MindSpore is not installed in the sandbox's Python."


def main(arguments: list[str]) -> None:
    """Run msrun; the node with rank 0 runs the scheduler. Exits with 127 if MindSpore is not installed."""
    if find_spec("mindspore") is None:
        print(_MISSING, file=sys.stderr, flush=True)
        sys.exit(NOT_FOUND)
    manager = vars(import_module("mindspore.parallel.cluster.process_entity._api"))
    # Private to MindSpore, which may drop it: then each msrun decides for itself. The tests run 2.10.
    if "_is_local_ip" in manager:
        manager["_is_local_ip"] = lambda _address: "--node_rank=0" in arguments
    sys.argv[1:] = arguments
    import_module("mindspore.parallel.cluster.run").main()


if __name__ == "__main__":
    del sys.path[0]  # this file's directory; modules are to be found in the job's
    main(sys.argv[1:])
