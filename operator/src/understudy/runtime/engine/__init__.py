"""An element as a running Structured Streaming query, fed by batch plans from an inbox in the same process.

inbox    what has arrived, in one merged sequence; cuts batch plans
serve    hands plans and their rows to the data source over the process's Flight server
source   the Python data source: an offset is the number of a plan
compile  the element's operators as one fixed Spark plan over a plan's rows
query    the streaming query: runs each plan, hands its output over in order
schemas  the columns of every stream of a job, without running it
reference  the whole job as an ordinary batch query, to compare with
"""
