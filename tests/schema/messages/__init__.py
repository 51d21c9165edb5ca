"""Messages to test with: any class of the schema at any version it has.

`typical` fills each field with a value that a client would take for real, `random` with any value, by seed, and
`strategies` with any value, as Hypothesis searches for it. `every` lists the classes and versions to try, `checks`
makes tests of them, and `plain` turns a message into what the reference codec takes.
"""
