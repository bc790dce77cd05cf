"""Other libraries' ways to say it, over one agent's memory: LangGraph's store, mem0's verbs."""
