"""Which Spark settings a manifest may contain. An edit of them is rolled out instance by instance, so an
instance with the old settings and one with the new settings have to compute the same.

| settings | on a cluster | in a local run |
|---|---|---|
| `ALWAYS` | allowed | allowed |
| `NEVER` | refused | refused |
| others | allowed if the chart's value `jobs.allow.sparkSettings` names them | allowed |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

ALWAYS: Final[Mapping[str, str]] = {
    "spark.broadcast.blockSize": "size of the pieces of a broadcast",
    "spark.broadcast.compress": "whether broadcasts are compressed",
    "spark.cleaner.periodicGC.interval": "time between two garbage collections",
    "spark.driver.maxResultSize": "largest result of a micro-batch",
    "spark.kryoserializer.buffer.max": "largest serialised object",
    "spark.locality.wait": "how long a task waits for a near executor",
    "spark.memory.fraction": "share of the heap for execution and storage",
    "spark.memory.storageFraction": "share of that for storage",
    "spark.network.timeout": "when a silent executor counts as lost",
    "spark.rdd.compress": "whether stored partitions are compressed",
    "spark.reducer.maxSizeInFlight": "how much a task fetches at once",
    "spark.rpc.askTimeout": "how long driver and executors wait for an answer",
    "spark.rpc.message.maxSize": "largest message between driver and executors",
    "spark.shuffle.compress": "whether shuffled rows are compressed",
    "spark.shuffle.file.buffer": "buffer of a shuffle file",
    "spark.shuffle.spill.compress": "whether spilled rows are compressed",
    "spark.sql.broadcastTimeout": "how long a broadcast may take",
    "spark.sql.codegen.wholeStage": "whether Spark compiles whole stages",
    "spark.sql.debug.maxToStringFields": "how many fields a plan in a log shows",
    "spark.sql.inMemoryColumnarStorage.compressed": "whether cached columns are compressed",
    "spark.task.maxFailures": "how often a task may fail before its micro-batch fails",
}
"""Settings that change neither results nor rights, and what each is."""

_ADDRESS: Final = "the operator sets address, memory and Java options of driver and executors"
_CODE: Final = "it loads code that is neither in the image nor in a field made for it"
_PORT: Final = "it opens a port, or writes what the job does to another place"
_PROTECTED: Final = "the protection of connections and files rests on it"
_RESULTS: Final = "it changes results, or the order in which groups are added up"
_PARSED: Final = "expressions are checked as Spark parses them without it"
_STREAM: Final = "positions, checkpoints and micro-batches of the subjob rest on it"

NEVER: Final[Mapping[str, str]] = {
    "spark.acls.*": _PROTECTED,
    "spark.admin.acls*": _PROTECTED,
    "spark.api.mode": _PORT,
    "spark.app.*": "the operator names the application",
    "spark.archives": _CODE,
    "spark.authenticate*": _PROTECTED,
    "spark.connect.*": _PORT,
    "spark.driver.*": _ADDRESS,
    "spark.dynamicAllocation.*": "the number of executors is spark.executors.instances",
    "spark.eventLog.*": _PORT,
    "spark.executor.*": _ADDRESS,
    "spark.executorEnv.*": _CODE,
    "spark.extraListeners": _CODE,
    "spark.files": _CODE,
    "spark.history.*": _PORT,
    "spark.io.encryption.*": _PROTECTED,
    "spark.jars*": _CODE,
    "spark.kubernetes.*": "the operator sets image, account, volumes and labels of executors",
    "spark.local.dir": "all files of an instance are in its scratch folder",
    "spark.master": "the operator decides where tasks run",
    "spark.metrics.*": _PORT,
    "spark.modify.acls*": _PROTECTED,
    "spark.network.crypto.*": _PROTECTED,
    "spark.network.sasl.*": _PROTECTED,
    "spark.plugins*": _CODE,
    "spark.pyspark.*": _CODE,
    "spark.python.*": _CODE,
    "spark.redaction.*": _PROTECTED,
    "spark.repl.*": _CODE,
    "spark.speculation*": "a second copy of a task would read its input twice",
    "spark.sql.adaptive.*": _RESULTS,
    "spark.sql.ansi.*": _PARSED,
    "spark.sql.autoBroadcastJoinThreshold": _RESULTS,
    "spark.sql.caseSensitive": _PARSED,
    "spark.sql.catalog.*": _CODE,
    "spark.sql.catalogImplementation": _CODE,
    "spark.sql.decimalOperations.*": _RESULTS,
    "spark.sql.execution.arrow.*": _STREAM,
    "spark.sql.extensions": _CODE,
    "spark.sql.hive.*": _CODE,
    "spark.sql.legacy.*": _RESULTS,
    "spark.sql.mapKeyDedupPolicy": _RESULTS,
    "spark.sql.objectHashAggregate.*": _RESULTS,
    "spark.sql.parser.*": _PARSED,
    "spark.sql.queryExecutionListeners": _CODE,
    "spark.sql.session.*": _RESULTS,
    "spark.sql.shuffle.partitions": _RESULTS,
    "spark.sql.streaming.*": _STREAM,
    "spark.sql.timestampType": _RESULTS,
    "spark.sql.ui.*": _PORT,
    "spark.sql.variable.*": _PARSED,
    "spark.sql.warehouse.dir": "all files of an instance are in its scratch folder",
    "spark.ssl.*": _PROTECTED,
    "spark.submit.*": _CODE,
    "spark.ui.*": _PORT,
}
"""Settings on which a guarantee or security rests, and why. A name that ends with * stands for all that begin
so, except those in `ALWAYS`."""


def why_never(name: str) -> str | None:
    """Why no manifest may contain the setting; None if it may, somewhere."""
    if name in ALWAYS:
        return None
    return next((why for pattern, why in NEVER.items() if _stands_for(pattern, name)), None)


def is_allowed(name: str, more: Iterable[str]) -> bool:
    """Whether a job on a cluster may contain a setting that is not in `NEVER`."""
    return name in ALWAYS or any(_stands_for(pattern, name) for pattern in more)


def _stands_for(pattern: str, name: str) -> bool:
    return name.startswith(pattern[:-1]) if pattern.endswith("*") else name == pattern
