"""Evaluation: recorded conversations lived through again, and what their requests would have lacked and cost."""
