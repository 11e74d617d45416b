"""Evidence bundles: what a run left behind in one signed file, made, verified and imported."""
