"""The commands of the laboratory. `understudy.cli` lists them where this package is installed."""
