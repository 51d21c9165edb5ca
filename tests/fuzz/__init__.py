"""Coverage-guided fuzzing of all that kwire parses: `make fuzz`, or `python -m tests.fuzz --help`.

records, messages, values, arrow, logs, captures, logins, texts    bytes and texts: one file for each family
objects, clients, broker                                           foreign Python objects; whole clients and a broker
endpoints, asked, inputs, jobs                                     answers over HTTP, to an Admin, of old brokers; what
                                                                   members of groups say; inputs of the shell; Spark's
targets       what a target is, and the list of them
drawing       structured choices out of an input's bytes
corpus        the inputs in the tree: corpus/TARGET.txt, base64, an input a line
engine.c      the process of one target: libFuzzer with Python inside; worker is its Python half
lines         counts the lines of kwire's Python that targets want to be traced
building      the engine, and the extensions for it: `asan` (AddressSanitizer, UBSan, exact blocks) and `plain`
running       targets in processes side by side, for so many seconds; their table
coverage      which lines of the extensions the corpora reach, by gcov
test_corpus   replays the corpora with the ordinary extension, in `make test`
"""
