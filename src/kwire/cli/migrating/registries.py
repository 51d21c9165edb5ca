"""What `kwire.registry` has for confluent-kafka's registry client and its settings, and for serializers' settings."""

from __future__ import annotations

from collections.abc import Mapping

from kwire.engine.common.absent import Differs, Missing, NotNeeded

SERIALIZERS = {
    "AvroDeserializer": "AvroDeserializer(registry, reader_schema, from_dict=f(dict))",
    "AvroSerializer": "AvroSerializer(registry, schema, to_dict=f(object))",
    "JSONDeserializer": "JsonSchemaDeserializer(registry, schema, from_dict=f(dict))",
    "JSONSerializer": "JsonSchemaSerializer(registry, schema, to_dict=f(object))",
    "ProtobufDeserializer": "ProtobufDeserializer(registry, message_class)",
    "ProtobufSerializer": "ProtobufSerializer(registry, message_class)",
}
"""What each is in kwire.registry, called as there."""

CALLS: Mapping[str, str] = {
    "aclose": NotNeeded("nothing has to be closed"),
    "clear_caches": NotNeeded("what never changes is kept; nothing else is"),
    "clear_latest_caches": NotNeeded("latest() asks each time"),
    "close": NotNeeded("nothing has to be closed"),
    "config": Missing("a Registry does not show its settings"),
    "get_compatibility": "it is compatibility(subject) here",
    "get_latest_version": "it is latest(subject) here: .id, .version, .schema.text",
    "get_schema": "it is by_id(id) here: .text, .schema_type, .references",
    "get_schema_by_guid": "it is by_guid(guid) here",
    "get_subjects": "it is subjects(prefix) here",
    "get_version": "it is version(subject, number) here",
    "get_versions": "it is versions(subject) here",
    "lookup_schema": "it is lookup(subject, schema) here",
    "new_client": "it is kwire.registry.Registry(url) here",
    "register_schema": "it is register(subject, schema, schema_type) here, the schema a text or a Schema",
    "register_schema_full_response": "register(subject, schema) returns the id, lookup(subject, schema) all of it",
    "test_compatibility": "it is compatible(subject, schema, version=) here; incompatibilities() says why not",
    "test_compatibility_all_versions": "call compatible(subject, schema, version=) for each of versions(subject)",
    "get_config": "it is compatibility(subject) here, the level alone",
    "set_config": "it is set_compatibility(level, subject) here, the level alone",
    "set_compatibility": "it is set_compatibility(level, subject) here, the level first",
    **dict.fromkeys(
        (
            *(
                "create_association",
                "delete_associations",
                "delete_config",
                "delete_mode",
                "get_associations_by_resource_name",
            ),
            *("get_contexts", "get_global_mode", "get_latest_with_metadata", "get_mode", "get_referenced_by"),
            *(
                "get_schema_types",
                "get_schema_versions",
                "get_subjects_by_schema_id",
                "update_global_mode",
                "update_mode",
            ),
        ),
        Missing("kwire.registry has no call for it; `curl` asks the registry"),
    ),
}

SETTINGS: Mapping[str, str] = {
    "basic.auth.credentials.source": NotNeeded("username= and password=, or both in the URL"),
    "basic.auth.user.info": "username= and password=",
    "bearer.auth.client.id": "token=kwire.registry.ClientCredentials(url, client_id, client_secret, scope=)",
    "bearer.auth.client.secret": "token=kwire.registry.ClientCredentials(url, client_id, client_secret, scope=)",
    "bearer.auth.credentials.source": NotNeeded("token= takes a text or a callable"),
    "bearer.auth.custom.provider.function": "token=, a callable that returns a token, or (token, lifetime in seconds)",
    "bearer.auth.custom.provider.config": NotNeeded("the callable of token= knows what it needs"),
    "bearer.auth.identity.pool.id": "headers={'Confluent-Identity-Pool-Id': id}",
    "bearer.auth.issuer.endpoint.query": "token=, a callable that asks that address and returns (token, lifetime in "
    "seconds)",
    "bearer.auth.issuer.endpoint.url": "token=kwire.registry.ClientCredentials(url, client_id, client_secret, scope=)",
    "bearer.auth.logical.cluster": "headers={'target-sr-cluster': id}",
    "bearer.auth.scope": "token=kwire.registry.ClientCredentials(url, client_id, client_secret, scope=)",
    "bearer.auth.token": "token=",
    "cache.capacity": NotNeeded("what never changes is kept"),
    "cache.latest.ttl.sec": NotNeeded("latest() asks each time"),
    "max.retries": "retries=",
    "proxy": Differs("the environment's https_proxy, http_proxy and no_proxy are used"),
    "retries.max.wait.ms": NotNeeded("a try waits retry_backoff_ms, the next one twice that"),
    "retries.wait.ms": "retry_backoff_ms=",
    "ssl.ca.location": "ssl_ca_location=",
    "ssl.certificate.location": "ssl_certificate_location=",
    "ssl.key.location": "ssl_key_location=",
    "ssl.key.password": "ssl_key_password=",
    "timeout": "request_timeout_ms=, in milliseconds",
    "url": "the first argument of Registry(url)",
}

SERIALIZER_SETTINGS: Mapping[str, str] = {
    "auto.register.schemas": "auto_register=",
    "normalize.schemas": "normalize=",
    "reference.subject.name.strategy": "reference_subject=, a callable (context, name of the reference)",
    "schema.id.deserializer": NotNeeded("deserializers read both framings"),
    "schema.id.serializer": "framing='header' for GUIDs in headers",
    "skip.known.types": NotNeeded("types that Protobuf brings along are not registered"),
    "subject.name.strategy": "subject='topic', 'record', 'topic-record' or a callable (context, record_name)",
    "use.deprecated.format": Missing("messages of confluent-kafka before 1.8 are not read or written"),
    "use.latest.version": "use_latest=True",
    "use.latest.with.metadata": Missing("the newest version of a subject is used, whatever its metadata"),
    "use.schema.id": "schema=registry.by_id(id) with auto_register=False",
    "validate": "validate= of a JsonSchemaSerializer",
    **dict.fromkeys(
        ("subject.name.strategy.conf", "subject.name.strategy.type"),
        Differs("subject='topic', 'record', 'topic-record' or a callable (context, record_name)"),
    ),
    **dict.fromkeys(
        (
            *("validate.strict", "validate.strict.allow.default", "validation.rules.execution"),
            *("validation.rules.executor", "validation.rules.fail.fast"),
        ),
        Missing("values are checked against the schema, and against no rules beside it"),
    ),
}
