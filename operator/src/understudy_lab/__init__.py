"""The laboratory: what proves the product. It imports understudy, never the other way round; no image carries
it."""
