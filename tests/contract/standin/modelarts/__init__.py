"""A stand-in for the package `modelarts`, which is on no registry: its signatures and replies as the public SDK
reference has them, over the sandbox's HTTP. Like the package, it prints, keeps addresses in a global, and says no by
dictionaries in some places and by exceptions in others. It needs nothing but Python's own library."""

__version__ = "0.0.standin"
