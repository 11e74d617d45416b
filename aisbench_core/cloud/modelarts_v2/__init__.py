"""ModelArts training jobs through the newer API (v2)."""
