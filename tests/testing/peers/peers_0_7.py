"""What brod 0.4.3 and samsa 0.3.11, clients of the days of Kafka 0.7, do with a broker. Runs under Python 2.7.

    python2.7 peers_0_7.py brod|samsa PORT

They are used as their packages are, unmodified; what they saw is printed as one line of JSON.
"""

import json
import sys


def brod(port):  # type: ignore[no-untyped-def]
    from brod import Kafka

    kafka = Kafka("127.0.0.1", port)
    kafka.produce("clicks", ["one", "two"])
    kafka.produce("clicks", ["three"], 1)
    latest = kafka.latest_offset("clicks", 0)
    return {
        "latest": latest,
        "earliest": kafka.earliest_offset("clicks", 0),
        "fetched": [[offset, message] for offset, message in kafka.fetch("clicks", 0)],
        "elsewhere": [[offset, message] for offset, message in kafka.fetch("clicks", 0, 1)],
        "theirs": [[offset, message] for offset, message in kafka.fetch("kwires", 0)],
        "at the end": [[offset, message] for offset, message in kafka.fetch("clicks", latest)],
    }


def samsa(port):  # type: ignore[no-untyped-def]
    from samsa.client import Client
    from samsa.handlers import ThreadingHandler

    client = Client("127.0.0.1", ThreadingHandler(), port)
    client.produce("clicks", 0, ("one", "two"))
    client.multiproduce((("clicks", 0, ("three",)), ("others", 1, ("four", "five"))))
    seen = {
        "latest": client.offsets("clicks", 0, -1, 1),
        "earliest": client.offsets("clicks", 0, -2, 1),
        "fetched": [[message.offset, str(message.payload)] for message in client.fetch("clicks", 0, 0, 1000)],
        "theirs": [[message.offset, str(message.payload)] for message in client.fetch("kwires", 0, 0, 1000)],
        "many": [
            [[message.offset, str(message.payload)] for message in messages]
            for messages in client.multifetch((("clicks", 0, 0, 1000), ("others", 1, 0, 1000)))
        ],
    }
    client.disconnect()
    return seen


if __name__ == "__main__":
    act = {"brod": brod, "samsa": samsa}[sys.argv[1]]
    sys.stdout.write(json.dumps(act(int(sys.argv[2]))) + "\n")
