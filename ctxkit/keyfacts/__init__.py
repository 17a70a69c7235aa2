"""Key facts: what of a conversation has to outlast its messages, found by rule and held to a cap."""
