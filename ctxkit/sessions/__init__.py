"""Sessions: conversations as append-only logs in a store, safe under concurrency and crashes."""
