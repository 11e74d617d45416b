"""The adapter for SWR, the registry of images."""
