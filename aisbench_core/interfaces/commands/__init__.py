"""Commands of `aisbench` that people on other machines run on the server: what is sent, and the processes that run."""
