"""Seals of run folders: hashes of their files in the audit, so that only what was recorded here is believed."""
