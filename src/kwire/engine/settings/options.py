"""The keywords of the clients as type checkers see them: the tables of `clients.py`, name by name.

Layer 3, types only. The text below a keyword is what editors show of it; a test holds all of it to the tables.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from ssl import SSLContext

Servers = str | Sequence[str | tuple[str, int]]
"""Brokers to begin with: "host:port,host:port", or a sequence of "host:port" or (host, port)."""


Timeout = float | timedelta | None
"""Seconds, or a timedelta; None is the call's default."""


Token = tuple[str, float] | tuple[str, float, Mapping[str, str]]
"""A token, how many seconds it is valid, and SASL extensions if any."""

TokenSource = Callable[[], Token | Awaitable[Token]]
"""Returns a token each time one is needed; an `async def` in kwire.aio only."""


PartitionerName = Literal[
    "default",
    "uniform_sticky",
    "round_robin",
    "random",
    "consistent",
    "consistent_random",
    "murmur2",
    "murmur2_random",
    "fnv1a",
    "fnv1a_random",
]
"""The partitioners that kwire brings: Java's three, and librdkafka's seven."""

Partitioner = Callable[[Any, Any, Any], int | None]
"""Called with (key, all_partitions, available_partitions): bytes or None, and two tuples of numbers; the available ones
have a leader. Returns one of the numbers, or None to leave the choice to the producer."""


class ClientOptions(TypedDict, total=False):
    """The keywords that every client takes, beside `bootstrap_servers`."""

    client_id: str
    """The name under which brokers log and limit this client."""
    request_timeout_ms: int
    """A request without a response for this long fails, and its connection is closed."""
    socket_connection_setup_timeout_ms: int
    """How long one attempt to connect and to agree on versions may take."""
    reconnect_backoff_ms: int
    """The first wait before a broker is tried again; it doubles with each failure."""
    reconnect_backoff_max_ms: int
    """The longest wait before a broker is tried again."""
    retry_backoff_ms: int
    """The first wait before a failed request is sent again; it doubles with each failure."""
    retry_backoff_max_ms: int
    """The longest wait before a failed request is sent again."""
    metadata_max_age_ms: int
    """Metadata older than this is requested again."""
    send_buffer_bytes: int
    """SO_SNDBUF of each socket; -1 leaves it to the system."""
    receive_buffer_bytes: int
    """SO_RCVBUF of each socket; -1 leaves it to the system."""
    receive_message_max_bytes: int
    """A larger response is refused before memory is allocated for it."""
    default_api_timeout_ms: int
    """How long a blocking call without a timeout may take, and how long poll() waits for a first broker."""
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]
    """How connections are secured: SSL encrypts (TLS), SASL logs in."""
    ssl_context: SSLContext | None
    """An ssl.SSLContext to use as it is, instead of all other ssl settings."""
    ssl_ca_location: str | None
    """A PEM file or a directory of certificates to trust; None trusts what the system trusts."""
    ssl_ca_pem: str | None
    """Certificates to trust, as PEM text."""
    ssl_crl_location: str | None
    """A PEM file with certificates that were revoked (CRL)."""
    ssl_certificate_location: str | None
    """The client's certificate and its chain, a PEM file; it may hold the key, too."""
    ssl_certificate_pem: str | None
    """The client's certificate and its chain, as PEM text; it may hold the key, too."""
    ssl_key_location: str | None
    """The private key of the client's certificate, a PEM file."""
    ssl_key_pem: str | None
    """The private key of the client's certificate, as PEM text."""
    ssl_key_password: str | None
    """The password of an encrypted private key."""
    ssl_truststore_location: str | None
    """A PKCS12 or PEM store of certificates to trust, as Java has it."""
    ssl_truststore_password: str | None
    """The password of the trust store."""
    ssl_truststore_type: Literal["PEM", "PKCS12", "JKS"] | None
    """The format of the trust store; None finds out. JKS must be converted."""
    ssl_keystore_location: str | None
    """A PKCS12 or PEM store with the client's certificate and key, as Java has it."""
    ssl_keystore_password: str | None
    """The password of the key store."""
    ssl_keystore_type: Literal["PEM", "PKCS12", "JKS"] | None
    """The format of the key store; None finds out. JKS must be converted."""
    ssl_endpoint_identification_algorithm: Literal["https", ""]
    """Check that a broker's certificate is for its host name; '' checks the certificate but not the name."""
    enable_ssl_certificate_verification: bool
    """False accepts every certificate of a broker, and so everyone between it and this client."""
    ssl_enabled_protocols: str | Sequence[str]
    """The versions of TLS to offer."""
    ssl_cipher_suites: str | Sequence[str] | None
    """Cipher suites of TLS 1.2, by OpenSSL's or Java's names; those of TLS 1.3 are OpenSSL's choice."""
    https_ca_location: str | None
    """What to trust at the token endpoint, besides what the system trusts: a PEM file or a directory."""
    https_ca_pem: str | None
    """What to trust at the token endpoint, besides what the system trusts: PEM text."""
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI"] | None
    """How a client logs in."""
    sasl_username: str | None
    """The user of PLAIN and SCRAM, or the id of a delegation token."""
    sasl_password: str | None
    """The password of PLAIN and SCRAM, or the HMAC of a delegation token."""
    sasl_scram_token_auth: bool
    """The user and password of SCRAM are a delegation token's id and HMAC."""
    sasl_oauth_token: TokenSource | None
    """A callable that returns (token, lifetime in seconds) for OAUTHBEARER, and SASL extensions as a third if any."""
    sasl_oauthbearer_token_endpoint_url: str | None
    """Where OAUTHBEARER gets its tokens by client credentials: an https URL."""
    sasl_oauthbearer_client_id: str | None
    """The client's id at the token endpoint."""
    sasl_oauthbearer_client_secret: str | None
    """The client's secret at the token endpoint."""
    sasl_oauthbearer_scope: str | None
    """The scope to ask the token endpoint for."""
    sasl_oauthbearer_header_urlencode: bool
    """Encode the client's id and secret for URLs before they go into the header (RFC 6749)."""
    sasl_oauthbearer_extensions: str | Mapping[str, str] | None
    """SASL extensions that go with a token: a mapping, or 'name=value,other=value'."""
    sasl_oauthbearer_unsecured_claims: str | Mapping[str, Any] | None
    """Claims of a token without a signature, for tests: a mapping with 'sub', or 'sub=alice'."""
    sasl_oauthbearer_unsecured_lifetime_ms: int
    """How long a token without a signature is valid."""
    sasl_kerberos_service_name: str
    """The brokers' service name in Kerberos."""
    sasl_kerberos_principal: str | None
    """The client's principal; None takes that of the credentials cache or of the key table."""
    sasl_kerberos_keytab: str | None
    """The client's key table; None takes the credentials cache."""
    sasl_jaas_config: str | None
    """Java's login configuration, of one of the standard modules; the sasl settings above are made of it."""


class TransactionOptions(TypedDict, total=False):
    """The keywords of transactional producers."""

    transactional_id: str | None
    """Makes a transactional producer: this name is its own over restarts, and a newer producer with it takes over."""
    transaction_timeout_ms: int
    """The broker aborts a transaction that is open for this long; brokers take 15 minutes at most by default."""
    transaction_two_phase_commit_enable: bool
    """Take part in another system's two-phase commit (KIP-939): brokers never abort these transactions by time."""


class ProducerOptions(ClientOptions, TransactionOptions, total=False):
    """The keywords that only a Producer takes."""

    acks: int | Literal["all", "0", "1", "-1"]
    """How many replicas must have a record before it is acknowledged: 0, 1, or 'all' (-1)."""
    linger_ms: int
    """How long a batch waits for more records before it is sent."""
    batch_size: int
    """A batch of this size is sent at once."""
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] | None
    """The compression codec of batches; None means 'none'."""
    level: int | None
    """The compression level; None means the codec's default."""
    enable_idempotence: bool | None
    """Write each record once and in order: None means where the broker can, True raises where it cannot."""
    max_in_flight_requests_per_connection: int
    """How many Produce requests may be in flight to one broker."""
    delivery_timeout_ms: int
    """A record that is not acknowledged within this time has failed."""
    buffer_memory: int
    """How much memory records may take until they are delivered; when it is full, send() blocks (asyncio: raises)."""
    max_block_ms: int
    """How long send() may block, and how long records of a topic that does not exist wait for it."""
    max_request_size: int
    """The largest request, and so the largest record."""
    retries: int
    """How often a batch is sent again; delivery_timeout_ms ends that sooner."""
    metadata_max_idle_ms: int
    """Metadata of a topic without records for this long is no longer asked for."""
    partitioner: PartitionerName | Partitioner
    """'default': the partition of the key's murmur2 hash, without a key one that changes with each batch."""
    allow_auto_create_topics: bool
    """Let the broker create a missing topic on first use, if the broker is configured to do so."""


class GroupOptions(TypedDict, total=False):
    """The keywords of members of consumer groups."""

    group_id: str | None
    """The consumer group; None reads without one."""
    group_protocol: Literal["classic", "consumer"]
    """Who assigns partitions: 'classic', the members; 'consumer' (KIP-848), brokers of Kafka 4.0 or newer."""
    group_instance_id: str | None
    """Makes a static member, which keeps its partitions over a restart that takes less than the session timeout."""
    partition_assignment_strategy: str | Sequence[Any]
    """Assignors, the preferred one first: 'range', 'roundrobin', 'sticky', 'cooperative-sticky', or objects."""
    group_remote_assignor: str | None
    """The broker's assignor, for group_protocol='consumer': 'uniform' or 'range'; None lets the broker choose."""
    session_timeout_ms: int
    """A member that is not heard of for this long has left; brokers before 0.10.1 get 30000 by default."""
    heartbeat_interval_ms: int
    """How often a member says that it lives; poll() is not needed for it."""
    max_poll_interval_ms: int
    """A member that does not poll for this long leaves its group, and joins again with the next poll."""
    enable_auto_commit: bool
    """Commit, now and then, what earlier polls returned; only with a group_id."""
    auto_commit_interval_ms: int
    """How often that is done, while the consumer is polled."""
    exclude_internal_topics: bool
    """Leave the cluster's own topics, such as __consumer_offsets, out of subscriptions by pattern."""


class ConsumerOptions(ClientOptions, GroupOptions, total=False):
    """The keywords that only a Consumer takes."""

    auto_offset_reset: Literal["earliest", "latest", "none"] | str
    """Where to begin without a position, or if it is gone: 'earliest', 'latest', 'none', or 'by_duration:PT1H'."""
    fetch_min_bytes: int
    """How much data a broker gathers before it responds to a fetch."""
    fetch_max_bytes: int
    """The largest response to a fetch; less is requested where that is as fast."""
    fetch_max_wait_ms: int
    """How long a broker waits for fetch_min_bytes."""
    max_partition_fetch_bytes: int
    """The largest share of one partition in a response."""
    max_poll_records: int | None
    """The largest number of records of one poll; None: 2 MB or 16384, in a group what is done in 3 s."""
    check_crcs: bool
    """Verify the checksum of each batch."""
    isolation_level: Literal["read_uncommitted", "read_committed"]
    """Whether to return records of open and aborted transactions."""
    client_rack: str
    """The rack of this client, to read from a replica near it."""
    max_decompressed_bytes: int
    """A batch whose content and index take more memory is refused."""
    allow_auto_create_topics: bool
    """Let the broker create a missing topic on first use, if the broker is configured to do so."""


class ShareConsumerOptions(ClientOptions, total=False):
    """The keywords that only a ShareConsumer takes."""

    group_id: str
    """The share group; it must be given."""
    share_acknowledgement_mode: Literal["implicit", "explicit"]
    """'implicit': the next poll or commit accepts what was not acknowledged; 'explicit': all must be acknowledged."""
    share_acquire_mode: Literal["batch_optimized", "record_limit"]
    """'batch_optimized': brokers acquire whole batches; 'record_limit': max_poll_records at most (Kafka 4.2)."""
    max_poll_records: int
    """The largest number of records of one poll, and about how many are acquired."""
    max_poll_interval_ms: int
    """A member that does not poll for this long leaves its group, and joins again with the next poll."""
    fetch_min_bytes: int
    """How much data a broker gathers before it responds to a fetch."""
    fetch_max_bytes: int
    """The largest response to a fetch; less is requested where that is as fast."""
    fetch_max_wait_ms: int
    """How long a broker waits for fetch_min_bytes."""
    check_crcs: bool
    """Verify the checksum of each batch."""
    client_rack: str
    """The rack of this client, to read from a replica near it."""
    max_decompressed_bytes: int
    """A batch whose content and index take more memory is refused."""
    allow_auto_create_topics: bool
    """Let the broker create a missing topic on first use, if the broker is configured to do so."""


class AdminOptions(ClientOptions, total=False):
    """An Admin takes no keywords of its own yet."""
