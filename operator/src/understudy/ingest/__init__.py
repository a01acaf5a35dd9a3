"""The process that takes tuples over HTTP and keeps them in a log until all subjobs have released them."""
