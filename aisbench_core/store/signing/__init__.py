"""The key with which this console signs evidence, and the keys of other consoles that it trusts."""
