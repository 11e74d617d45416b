"""How training jobs are grouped: tags and experiments."""
