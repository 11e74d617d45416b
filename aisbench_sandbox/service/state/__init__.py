"""What the region knows, and how it is read and answered."""
