"""Kafka topics, read and written with the guarantees of docs/kafka.md."""
