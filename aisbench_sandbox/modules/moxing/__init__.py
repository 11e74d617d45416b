"""MoXing's file interface, as far as the manuals show it, over the OBS that the container's variables name.

It belongs to the jobs of the sandbox; a MoXing that is installed goes before it. `import moxing as mox`."""

from moxing import file, framework

__all__ = ["file", "framework"]
__version__ = "2.0.0"
