"""The sandbox's OBS: buckets and objects as files, and the protocol that clients speak."""
