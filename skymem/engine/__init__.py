"""The one owner of the embedding model and the vector index, as a process of its own."""
