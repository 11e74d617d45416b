"""Results and configurations of other tools, in and out."""
