"""The sandbox's training service: what the API answers, and what is known of each job."""
