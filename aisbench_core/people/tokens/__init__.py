"""Access tokens: what a program shows where a person would sign in."""
