"""The demonstration: a million orders through a broker, kwire's clients and a Spark job, with every total checked.

python -m demo [--broker embedded|kafka] [--records 1000000]
"""
