"""MoXing's file interface as documented in the manuals, for the OBS of the container's environment variables."""

# It is for the sandbox's jobs; an installed MoXing takes precedence. `import moxing as mox`.

from moxing import file, framework

__all__ = ["file", "framework"]
__version__ = "2.0.0"
