"""Algorithms that are kept under an id, own and subscribed ones."""
