"""kwire's own broker where clients log in over TLS.

    python -m benchmarks.compare.login_broker

Prints its address and the file with the certificate to trust, and serves until its stdin ends.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.compare.contenders.task import PASSWORD, USER
from kwire import testing


def main() -> None:
    """Serves."""
    with TemporaryDirectory() as folder, testing.Broker(users={USER: PASSWORD}, tls=True) as broker:
        trusted = Path(folder, "ca.pem")
        trusted.write_text(broker.ca_pem, encoding="ascii")
        print(f"{broker.bootstrap_servers} {trusted}", flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
