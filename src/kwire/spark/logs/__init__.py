"""The source `kwire-log`: log segments of brokers, read as files, in folders or in an object store."""
