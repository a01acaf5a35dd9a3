"""Building images without a container engine: a Debian root file system in a chroot, an OCI archive out of it."""
