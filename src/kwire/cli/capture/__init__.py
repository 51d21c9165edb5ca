"""Packet captures of Kafka: from the bytes of a pcap file to requests with their responses.

Part of layer 7. Each module takes the output of the one before it, a piece at a time, and holds no more than it must:

    files          pcap and pcapng: packets
    packets        link layer, IP, TCP: segments
    streams        the bytes of each direction of a connection, in order, with the gaps in them
    framing        frames, and how to find the next one after a gap
    conversations  which side asks, what it asked, which response belongs to which request
"""
