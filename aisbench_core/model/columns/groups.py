"""Which columns runs have in common that make one row of the leaderboard."""

# Stored names, in the order in which `group_id` hashes them: one benchmark configuration, system, code and data.
#
# An unknown value is a value of its own.
GROUP_KEYS = (
    "region", "rehearsal", "fingerprint", "framework_version", "flavor", "pool_id", "node_count", "cards_per_node",
    "synthetic_data", "throughput_unit", "origin", "accelerator", "image", "code_sha256", "dataset_sha256",
)  # fmt: skip

# Stored names of what the fingerprint covers: equal in all runs of a group.
FINGERPRINTED = ("workload", "model", "mode", "throughput_definition", "dataset")
