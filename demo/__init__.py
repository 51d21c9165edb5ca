"""The demonstration: a million orders through a broker, kwire's clients and Spark jobs, with every total checked.

python -m demo [--broker embedded|kafka] [--records 1000000]
"""
