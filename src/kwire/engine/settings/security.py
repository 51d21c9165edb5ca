"""The settings of TLS and SASL that every client has.

Layer 3, no I/O: files are opened, and TLS contexts made, by `drivers/tls_context.py`. Which of them need or forbid each
other is in `security_conflicts.py`. A secret is a `Secret`: nothing here or in an error shows it.
"""

from __future__ import annotations

from collections.abc import Mapping

from kwire._typing import Any, override
from kwire.engine.common.secret import Secret
from kwire.engine.settings.connection import ConnectionSettings
from kwire.engine.settings.kinds import optional_setting, secret_setting, setting, verbatim_text
from kwire.engine.settings.values import (
    TLS_VERSIONS,
    cipher_suites,
    claims,
    extensions,
    source,
    tls_context,
    tls_versions,
)

_STORES = ("PEM", "PKCS12", "JKS")
_DAY_MS = 86_400_000


class SecuritySettings(ConnectionSettings):
    """How connections are encrypted, and how a client logs in."""

    security_protocol: str = setting(
        str,
        "PLAINTEXT",
        "How connections are secured: SSL encrypts (TLS), SASL logs in.",
        choices=("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    )
    ssl_context: Any = optional_setting(
        object,
        "An ssl.SSLContext to use as it is, instead of all other ssl settings.",
        convert=tls_context,
        wanted="an ssl.SSLContext for clients, or None",
        given_as="SSLContext",
        instead="give files or PEM text where a client is pickled, such as ssl_ca_location or ssl_ca_pem",
    )
    ssl_ca_location: str | None = optional_setting(
        str,
        "A PEM file or a directory of certificates to trust; None trusts what the system trusts.",
        synonyms={"probe": None},
        aliases=("ssl.cafile",),
    )
    ssl_ca_pem: str | None = optional_setting(
        str, "Certificates to trust, as PEM text.", aliases=("ssl.truststore.certificates",)
    )
    ssl_crl_location: str | None = optional_setting(
        str, "A PEM file with certificates that were revoked (CRL).", aliases=("ssl.crlfile",)
    )
    ssl_certificate_location: str | None = optional_setting(
        str, "The client's certificate and its chain, a PEM file; it may hold the key, too.", aliases=("ssl.certfile",)
    )
    ssl_certificate_pem: Secret | None = secret_setting(
        "The client's certificate and its chain, as PEM text; it may hold the key, too.",
        aliases=("ssl.keystore.certificate.chain",),
    )
    ssl_key_location: str | None = optional_setting(
        str, "The private key of the client's certificate, a PEM file.", aliases=("ssl.keyfile",)
    )
    ssl_key_pem: Secret | None = secret_setting(
        "The private key of the client's certificate, as PEM text.", aliases=("ssl.keystore.key",)
    )
    ssl_key_password: Secret | None = secret_setting(
        "The password of an encrypted private key.", aliases=("ssl.password",)
    )
    ssl_truststore_location: str | None = optional_setting(
        str, "A PKCS12 or PEM store of certificates to trust, as Java has it."
    )
    ssl_truststore_password: Secret | None = secret_setting("The password of the trust store.")
    ssl_truststore_type: str | None = optional_setting(
        str, "The format of the trust store; None finds out. JKS must be converted.", choices=_STORES
    )
    ssl_keystore_location: str | None = optional_setting(
        str, "A PKCS12 or PEM store with the client's certificate and key, as Java has it."
    )
    ssl_keystore_password: Secret | None = secret_setting("The password of the key store.")
    ssl_keystore_type: str | None = optional_setting(
        str, "The format of the key store; None finds out. JKS must be converted.", choices=_STORES
    )
    ssl_endpoint_identification_algorithm: str = setting(
        str,
        "https",
        "Check that a broker's certificate is for its host name; '' checks the certificate but not the name.",
        choices=("https", ""),
        synonyms={"none": "", "false": "", False: "", "true": "https", True: "https"},
        aliases=("ssl.check.hostname",),
    )
    enable_ssl_certificate_verification: bool = setting(
        bool, True, "False accepts every certificate of a broker, and so everyone between it and this client."
    )
    ssl_enabled_protocols: Any = setting(
        object,
        TLS_VERSIONS,
        "The versions of TLS to offer.",
        convert=tls_versions,
        wanted="'TLSv1.2', 'TLSv1.3' or both",
        given_as="str | Sequence[str]",
    )
    ssl_cipher_suites: Any = optional_setting(
        object,
        "Cipher suites of TLS 1.2, by OpenSSL's or Java's names; those of TLS 1.3 are OpenSSL's choice.",
        aliases=("ssl.ciphers",),
        convert=cipher_suites,
        wanted="names of cipher suites or None",
        given_as="str | Sequence[str]",
    )
    https_ca_location: str | None = optional_setting(
        str, "What to trust at the token endpoint, besides what the system trusts: a PEM file or a directory."
    )
    https_ca_pem: str | None = optional_setting(
        str, "What to trust at the token endpoint, besides what the system trusts: PEM text."
    )
    sasl_mechanism: str | None = optional_setting(
        str,
        "How a client logs in.",
        choices=("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI"),
        aliases=("sasl.mechanisms",),
    )
    sasl_username: str | None = optional_setting(
        str,
        "The user of PLAIN and SCRAM, or the id of a delegation token.",
        convert=verbatim_text,
        wanted="a string that can be encoded as UTF-8, or None",
        aliases=("sasl.plain.username",),
    )
    sasl_password: Secret | None = secret_setting(
        "The password of PLAIN and SCRAM, or the HMAC of a delegation token.", aliases=("sasl.plain.password",)
    )
    sasl_credentials: Any = optional_setting(
        object,
        "A callable that returns (user, password) for PLAIN and SCRAM, asked at each login: for passwords that change.",
        convert=source,
        secret=True,
        wanted="a callable without arguments, or None",
        given_as="CredentialsSource",
    )
    sasl_scram_token_auth: bool = setting(
        bool, False, "The user and password of SCRAM are a delegation token's id and HMAC."
    )
    sasl_oauth_token: Any = optional_setting(
        object,
        "A callable that returns (token, lifetime in seconds) for OAUTHBEARER, and SASL extensions as a third if any.",
        convert=source,
        secret=True,
        wanted="a callable without arguments, or None",
        given_as="TokenSource",
    )
    sasl_oauthbearer_token_endpoint_url: str | None = optional_setting(
        str, "Where OAUTHBEARER gets its tokens by client credentials: an https URL."
    )
    sasl_oauthbearer_client_id: str | None = optional_setting(
        str,
        "The client's id at the token endpoint.",
        convert=verbatim_text,
        wanted="a string that can be encoded as UTF-8, or None",
        aliases=("sasl.oauthbearer.client.credentials.client.id",),
    )
    sasl_oauthbearer_client_secret: Secret | None = secret_setting(
        "The client's secret at the token endpoint.", aliases=("sasl.oauthbearer.client.credentials.client.secret",)
    )
    sasl_oauthbearer_scope: str | None = optional_setting(str, "The scope to ask the token endpoint for.")
    sasl_oauthbearer_header_urlencode: bool = setting(
        bool, False, "Encode the client's id and secret for URLs before they go into the header (RFC 6749)."
    )
    sasl_oauthbearer_extensions: Any = optional_setting(
        object,
        "SASL extensions that go with a token: a mapping, or 'name=value,other=value'.",
        convert=extensions,
        wanted="names (letters only, not 'auth') with values, as a mapping or 'name=value,other=value'",
        given_as="str | Mapping[str, str]",
    )
    sasl_oauthbearer_unsecured_claims: Any = optional_setting(
        object,
        "Claims of a token without a signature, for tests: a mapping with 'sub', or 'sub=alice'.",
        convert=claims,
        wanted="claims, as a mapping or 'sub=alice'",
        given_as="str | Mapping[str, Any]",
    )
    sasl_oauthbearer_unsecured_lifetime_ms: int = setting(
        int, 3_600_000, "How long a token without a signature is valid.", minimum=1, maximum=_DAY_MS
    )
    sasl_kerberos_service_name: str = setting(str, "kafka", "The brokers' service name in Kerberos.")
    sasl_kerberos_principal: str | None = optional_setting(
        str, "The client's principal; None takes that of the credentials cache or of the key table."
    )
    sasl_kerberos_keytab: str | None = optional_setting(
        str, "The client's key table; None takes the credentials cache."
    )
    sasl_jaas_config: Secret | None = secret_setting(
        "Java's login configuration, of one of the standard modules; the sasl settings above are made of it."
    )

    @property
    def uses_tls(self) -> bool:
        """Whether connections are encrypted."""
        return self.security_protocol in ("SSL", "SASL_SSL")

    @property
    def uses_sasl(self) -> bool:
        """Whether the client logs in."""
        return self.security_protocol in ("SASL_PLAINTEXT", "SASL_SSL")

    @classmethod
    @override
    def expanded(cls, given: Mapping[str, object], refusals: list[str]) -> Mapping[str, object]:
        if not given.get("sasl_jaas_config"):
            return given
        from kwire.engine.settings.jaas import without_jaas

        return without_jaas(given, refusals)
