"""Preflight: checks a spec before anything is sent to the cloud."""
