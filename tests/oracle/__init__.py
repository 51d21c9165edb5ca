"""Apache Kafka's own classes as the oracle: what they write kwire must read, what kwire writes they must read.

`java/` is the program that answers questions with the classes of one release, `driver.py` starts and asks it,
`records.py` and `messages.py` are the questions by subject, `plugin.py` the fixtures. The questions know nothing of
kwire; the tests beside them compare, with `comparing.py` in between. `corpus.py` keeps a part of the answers in the
repository, for runs without Java. `java_any/` has small programs for classes of any release: `constants.py` and
`schemas.py` ask them. `compiling.py` compiles both kinds, once.
"""
