"""Why a run failed: causes found by rules in what the platform and the logs say, and corrected specs."""
