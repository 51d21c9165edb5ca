"""What `kwire migrate-check` knows of other clients, and how it reads programs that use them."""
