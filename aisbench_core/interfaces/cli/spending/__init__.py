"""`aisbench spending`: what was spent, by whom, when and on what."""
