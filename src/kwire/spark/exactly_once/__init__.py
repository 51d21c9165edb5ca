"""Writes that count once: transactions that the tasks leave open, and the decision that ends them."""
