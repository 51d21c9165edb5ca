"""A Django project that tells Kafka of orders once they are in its database, and reads them by a command.

    python examples/django_shop/manage.py migrate
    python examples/django_shop/manage.py runserver
    python examples/django_shop/manage.py consume_orders

orders/kafka.py                                  the producer of each process
orders/views.py                                  POST /orders/: to the database, and after its commit to Kafka
orders/management/commands/consume_orders.py     bills orders as they come from Kafka
shop/                                            the project: settings, urls, wsgi
"""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shop.settings")
    execute_from_command_line(sys.argv)
