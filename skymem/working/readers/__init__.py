"""Reading documents: one module for each format, which makes blocks of text of a file's bytes."""
