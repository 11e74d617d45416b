"""What the region offers: instance types, images, dedicated pools, quotas."""
