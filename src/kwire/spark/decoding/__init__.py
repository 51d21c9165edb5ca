"""Values to columns while they are read: decoders by format, and the schemas that they ask for."""
