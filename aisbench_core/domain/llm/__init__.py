"""Numbers of LLM training, each with what it was divided by: tokens, FLOPs per token, peaks, windows of steps."""
