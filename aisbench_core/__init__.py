"""The core of the AISBench console: authoring, running, collecting and comparing training benchmarks."""
