"""One run over HTTP: its check before the launch, why it failed, and what people say about it."""
