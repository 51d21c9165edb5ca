"""Admin: configs of topics, brokers, groups and client metrics. Layer 5: signatures and docstrings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kwire._client import Client
from kwire._typing import TYPE_CHECKING, Any, TypeVar
from kwire.engine import admin as engine
from kwire.engine.common.secret import hiding_arguments
from kwire.engine.settings.clients import AdminSettings
from kwire.fronts.admin import AdminFront

if TYPE_CHECKING:
    from kwire.engine.admin.config_results import ConfigChange, ConfigEntry, ConfigResource, ConfigValue
    from kwire.engine.settings.options import Timeout

Resource = TypeVar("Resource", bound=tuple[str, str | int])


class ConfigCalls(AdminFront, Client[AdminSettings]):
    """Calls of an Admin about configs.

    What has configs is named by its type and name: ("topic", "orders"), ("broker", "1") and ("broker-logger", "1") by
    the broker's id, ("broker", "") for what holds for all brokers, ("group", "g"), ("client-metrics", "m").
    """

    def describe_configs(
        self,
        resources: Iterable[tuple[str, str | int] | Mapping[str, Any]] | Mapping[Resource, Iterable[str] | None],
        *,
        include_synonyms: bool = False,
        include_documentation: bool = False,
        timeout: Timeout = None,
    ) -> dict[ConfigResource, dict[str, ConfigEntry]]:
        """The configs that hold for each resource, by their names, and where each is set: [("topic", "t")] for all,
        {("topic", "t"): ["retention.ms"]} for some.

        Raises the BrokerError of the first resource that failed; its `failures` has the error of each.
        """
        return self._door.run(
            self._asked(
                engine.config_calls.describe_configs(
                    resources, include_synonyms=include_synonyms, include_documentation=include_documentation
                ),
                timeout,
            )
        )

    @hiding_arguments
    def incremental_alter_configs(
        self,
        changes: Mapping[Resource, Mapping[str, ConfigChange]],
        *,
        validate_only: bool = False,
        timeout: Timeout = None,
    ) -> None:
        """Changes single configs: {("topic", "t"): {"retention.ms": 1000, "cleanup.policy": ("append", "compact"),
        "segment.ms": None}} sets the first, adds to the list of the second ("subtract" takes away) and puts the third
        back to its default.

        Each resource is changed as a whole or not at all. Raises the BrokerError of the first that failed (code 40
        for a value that cannot be, 42 of older brokers); its `failures` has the error of each. Brokers before Kafka 2.3
        have only `alter_configs`.
        """
        self._door.run(
            self._asked(engine.config_calls.incremental_alter_configs(changes, validate_only=validate_only), timeout)
        )

    @hiding_arguments
    def alter_configs(
        self,
        configs: Mapping[Resource, Mapping[str, ConfigValue]],
        *,
        validate_only: bool = False,
        timeout: Timeout = None,
    ) -> None:
        """Sets these configs of each resource and resets all others that it had: the call of brokers before Kafka 2.3,
        where `incremental_alter_configs` does not work. Errors are as there."""
        self._door.run(self._asked(engine.config_calls.alter_configs(configs, validate_only=validate_only), timeout))

    def list_config_resources(
        self, types: Iterable[str] | None = None, *, timeout: Timeout = None
    ) -> list[ConfigResource]:
        """What has configs, of these types ("topic", "broker", "broker-logger", "client-metrics", "group"), sorted:
        every topic and broker, and the groups and client metrics for which something is set. No types, None or an empty
        list, are all types, as in Java. Brokers before Kafka 4.1 list client metrics alone."""
        return self._door.run(self._asked(engine.config_calls.list_config_resources(types), timeout))

    def list_client_metrics_resources(self, *, timeout: Timeout = None) -> list[str]:
        """The names of the client metrics that something is set for, sorted."""
        return self._door.run(self._asked(engine.config_calls.list_client_metrics_resources(), timeout))
