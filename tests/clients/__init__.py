"""The public clients, against the embedded broker and real ones."""
