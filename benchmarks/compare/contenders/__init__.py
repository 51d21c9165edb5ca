"""Who is compared. Each module has VERBS: verb of a `Task` -> what does it and gives what it measured."""
