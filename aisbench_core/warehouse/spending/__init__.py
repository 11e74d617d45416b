"""What runs cost, summed up."""
