"""Removal of jobs, outputs, logs and folders of ended runs; their records stay."""
