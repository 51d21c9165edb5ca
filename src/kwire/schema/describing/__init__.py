"""Frames explained: which bytes of a frame are which field, what they hold and what that means.

Part of layer 2: bytes in, a tree of fields out; no I/O. It reads frames by the same field specifiers as the plans of
the codec, but in Python and field by field, so that it can say where damage begins and show what precedes it.

    frames       describe and describe_records
    frame_walk   size, header and body of a request or response; frame_0_7 those of Kafka 0.7
    walk         the fields of a message, by its specifiers
    blobs        which bytes fields hold messages of their own
    record_sets  record batches and message sets, also inside compressed ones
    shared       the options of a call; how damage ends a container
    messages_0_7 messages of Kafka 0.7
    cursor       bounds-checked reading; `Damage`, which becomes a CodecError
    meanings     what a value stands for: names of errors, keys and enumerations, dates, durations
    tree         Field and Description, the result
    rendering    the result as text (plain or coloured) and as JSON
"""
