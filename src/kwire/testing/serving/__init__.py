"""From sockets to handlers: the broker's thread, its listeners, TLS and logins of connections, old wire formats."""
