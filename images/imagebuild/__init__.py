"""Building images without a container engine: a Debian in a chroot, and an OCI archive out of it."""
