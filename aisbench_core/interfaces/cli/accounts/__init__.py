"""Commands about people and what they changed."""
