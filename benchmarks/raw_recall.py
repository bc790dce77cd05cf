"""The floor of recall: one encode and one query of a Chroma that is open in this process.

Prints the median in milliseconds. RAW_RECALL HOME LIMIT QUERY…
"""

import json
import sys
import time
from statistics import median

import chromadb
from chromadb.config import Settings

from skymem import app
from skymem.engine.models import open_embedder


def main() -> None:
    """Ask each query once."""
    name, limit, queries = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    home = app.open_home(name)
    embedder = open_embedder(home.rules.engine, home.paths.models)
    directory = home.paths.chroma_store / "sky"
    generation = json.loads((directory / "current.json").read_text())["generation"]
    settings = Settings(anonymized_telemetry=False)
    client = chromadb.PersistentClient(path=str(directory / generation), settings=settings)
    collection = client.get_collection("sky_memory", embedding_function=None)
    took = []
    for query in queries:
        start = time.perf_counter()
        vectors = embedder.encode([query])
        collection.query(query_embeddings=vectors, n_results=limit, include=["distances"])
        took.append(time.perf_counter() - start)
    sys.stdout.write(f"{median(took) * 1000}\n")


if __name__ == "__main__":
    main()
