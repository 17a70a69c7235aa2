"""Models that strategies may ask: one small interface, and what is done when one does not answer."""
