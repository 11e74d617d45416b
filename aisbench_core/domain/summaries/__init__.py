"""Event files, which training code writes for TensorBoard or MindInsight: fetched from OBS, and read as curves."""
