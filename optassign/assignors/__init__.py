"""The assignors, one file each."""
