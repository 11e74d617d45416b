"""The ground that everything stands on: errors, messages, formats, private files. Nothing of the domain."""
