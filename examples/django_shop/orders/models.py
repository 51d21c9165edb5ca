"""What the shop remembers."""

from django.db import models


class Order(models.Model):
    customer = models.CharField(max_length=80)
    cents = models.PositiveIntegerField()
    billed = models.BooleanField(default=False)
