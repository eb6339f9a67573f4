"""Chains of searches that are stored as steps, to replay them and to cite what they found."""
