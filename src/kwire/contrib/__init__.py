"""kwire in the systems that watch programs: Prometheus and OpenTelemetry."""
