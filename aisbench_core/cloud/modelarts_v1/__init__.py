"""ModelArts training jobs through the older API (v1)."""
