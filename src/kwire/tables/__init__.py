"""Topics as tables: `kwire.read`, `kwire.read_batches` and `kwire.write`. Layer 6: on the clients, by pyarrow.

Nothing here is imported before one of them is used.
"""

from __future__ import annotations

from kwire.tables.reading import read as read
from kwire.tables.reading import read_batches as read_batches
from kwire.tables.writing import write as write
