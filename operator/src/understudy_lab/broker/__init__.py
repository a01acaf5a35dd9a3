"""A real Kafka broker on this machine, for tests, benchmarks and the demo."""
