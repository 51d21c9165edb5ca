"""A Kerberos realm on loopback: MIT's KDC with a database, principals and keytabs of its own.

It needs Debian's krb5-kdc (`scripts/ensure kerberos` installs it where it may). It touches no file of the system's own
realm: every program is told its configuration by KRB5_CONFIG and KRB5_KDC_PROFILE.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.brokers.failures import BrokerError
from tests.brokers.ports import LOOPBACK, free_ports, is_open
from tests.brokers.processes import Child

REALM = "KWIRE.TEST"
SERVICE = f"kafka/{LOOPBACK}@{REALM}"
CLIENT = f"alice@{REALM}"

_READY_WITHIN_S = 20.0
_SYSTEM_FOLDERS = "/usr/sbin:/usr/local/sbin"
_CIPHERS = "aes256-cts-hmac-sha1-96 aes128-cts-hmac-sha1-96"

# Names are taken as they are given, and TCP only: one port is enough.
_KRB5_CONF = """[libdefaults]
 default_realm = {realm}
 dns_lookup_realm = false
 dns_lookup_kdc = false
 dns_canonicalize_hostname = false
 rdns = false
 udp_preference_limit = 1
 ticket_lifetime = 1h
 permitted_enctypes = {ciphers}
[realms]
 {realm} = {{
  kdc = {address}
 }}
[domain_realm]
 {host} = {realm}
[logging]
 kdc = FILE:{folder}/requests.log
"""

_KDC_CONF = """[kdcdefaults]
 kdc_listen = {address}
 kdc_tcp_listen = {address}
[realms]
 {realm} = {{
  database_name = {folder}/principals
  key_stash_file = {folder}/stash
  acl_file = {folder}/acl
  supported_enctypes = aes256-cts-hmac-sha1-96:normal aes128-cts-hmac-sha1-96:normal
 }}
"""


class Kdc:
    """A context manager: on entry the KDC answers and the keytabs of SERVICE and CLIENT are written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: Child | None = None
        [self._port] = free_ports(1)
        self.config = folder / "krb5.conf"
        self.service_keytab = folder / "service.keytab"
        self.client_keytab = folder / "client.keytab"

    @staticmethod
    def missing() -> str | None:
        """The first program that is not there, None when a realm can be started."""
        programs = ("krb5kdc", "kdb5_util", "kadmin.local")
        return next((name for name in programs if _find(name) is None), None)

    @property
    def client_environment(self) -> Mapping[str, str]:
        """What a client's process needs: tickets are taken by its keytab and kept in a file of their own."""
        return {
            "KRB5_CONFIG": str(self.config),
            "KRB5_CLIENT_KTNAME": f"FILE:{self.client_keytab}",
            "KRB5CCNAME": f"FILE:{self._folder / 'tickets'}",
        }

    def __enter__(self) -> Self:
        self._folder.mkdir(parents=True, exist_ok=True)
        words = {
            "realm": REALM,
            "folder": self._folder,
            "host": LOOPBACK,
            "address": f"{LOOPBACK}:{self._port}",
            "ciphers": _CIPHERS,
        }
        self.config.write_text(_KRB5_CONF.format(**words), encoding="utf-8")
        (self._folder / "kdc.conf").write_text(_KDC_CONF.format(**words), encoding="utf-8")
        self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master")
        for principal, keytab in ((SERVICE, self.service_keytab), (CLIENT, self.client_keytab)):
            self._run("kadmin.local", "-r", REALM, "addprinc", "-randkey", principal)
            self._run("kadmin.local", "-r", REALM, "ktadd", "-k", str(keytab), principal)
        command = ["/usr/bin/env", *self._environment(), _find("krb5kdc") or "krb5kdc", "-n", "-r", REALM]
        self._process = Child("the KDC", command, self._folder / "kdc.log", self._folder)
        self._wait_until_ready()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.kill()

    def _environment(self) -> list[str]:
        return [f"KRB5_CONFIG={self.config}", f"KRB5_KDC_PROFILE={self._folder / 'kdc.conf'}"]

    def _run(self, program: str, *arguments: str) -> None:
        run = subprocess.run(
            ["/usr/bin/env", *self._environment(), _find(program) or program, *arguments],
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=60,
            check=False,
        )
        if run.returncode != 0:
            raise BrokerError(f"{program} {' '.join(arguments)}: {run.stdout}{run.stderr}")

    def _wait_until_ready(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + _READY_WITHIN_S
        while self._process.exit_code is None and time.monotonic() < deadline:
            if is_open(self._port):
                return
            time.sleep(0.02)
        raise BrokerError(f"the KDC did not come up:\n{self._process.tail()}")


def _find(program: str) -> str | None:
    return shutil.which(program, path=f"{os.environ.get('PATH', '')}:{_SYSTEM_FOLDERS}")
