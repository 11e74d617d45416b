"""The printed report: one self-contained HTML page about runs, in English, Chinese or both."""
