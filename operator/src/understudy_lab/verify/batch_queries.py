"""The whole job over the whole, finite input, as ordinary Spark batch queries: what a failure-free execution
makes.

Row-wise operators are the same Spark expressions as in the streaming plan; all that the engine does by
positions, tails and batch plans is done here another way: merges by a sort, lateness by a running maximum,
windows and joins over all rows at once.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import reduce
from math import gcd
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.window import Window as Over

from understudy.engine.cells import BLOCK
from understudy.engine.folding import keeps_panes
from understudy.engine.frame import Frame, named, quoted
from understudy.engine.function import called
from understudy.engine.lane import ORIGIN, PROGRESS
from understudy.engine.operators import sampled
from understudy.engine.schemas import inputs_of, stream_specs
from understudy.engine.sql import query
from understudy.model.elements import Element, elements_of
from understudy.model.job import Merge, StreamJob
from understudy.model.operators import (
    Aggregate,
    Filter,
    Join,
    Map,
    Operator,
    Python,
    Sample,
    Sql,
    Union,
    WindowOn,
)
from understudy.model.panes import Mergeable, mergeable
from understudy.model.sources import Generator, KafkaSource, Source
from understudy.protocol.ids import Seq
from understudy.protocol.selection import micros
from understudy.sources.port import Opening, Reader
from understudy.sources.readers import reader_of
from understudy_lab.verify.topics import NOWHERE, Elsewhere, taken_from

CONTROL: Final = ("_seq", "_ts", "_pos", "_wm", "_greatest")

POLL_SECONDS = 0.001


def reference(
    spark: SparkSession,
    job: StreamJob,
    folder: Path,
    ahead: str | None = None,
    elsewhere: Elsewhere = NOWHERE,
) -> dict[str, pa.Table]:
    """Stream that a sink reads → its tuples in order, with `_seq`. Every generator needs a limit.

    Inputs meet in the order of event time; but where they meet in the order of arrival, all of `ahead` comes
    first."""
    specs = stream_specs(spark, job)
    openings = {
        s.name: Opening(s.name, specs[s.name].schema, folder, **elsewhere._asdict()) for s in job.sources
    }
    streams = {s.name: _source(spark, s, openings[s.name]) for s in job.sources}
    waiting = [element for subjob in job.subjobs for element in elements_of(subjob)]
    while waiting:
        ready = [e for e in waiting if all(name in streams for name in e.inputs)]
        for element in ready:
            in_panes = keeps_panes(spark, element, inputs_of(element, specs))
            made = _numbered(_element(element, streams, ahead, in_panes).result())
            streams[element.name] = spark.createDataFrame(
                made.toArrow()
            )  # computed once, however many read it
        waiting = [e for e in waiting if e not in ready]
    wanted = {sink.input for sink in job.sinks}
    return {name: streams[name].drop("_ts").orderBy("_seq").toArrow() for name in wanted}


def _source(spark: SparkSession, source: Source, opening: Opening) -> DataFrame:
    match source.origin:
        case Generator(rate=rate, limit=int(limit), fields=fields):
            at = f"{ORIGIN}L + cast(floor(id * 1000000D / {float(rate)!r}D) AS bigint)"
            if float(rate).is_integer():
                at = f"{ORIGIN}L + id * 1000000L div {int(rate)}L"
            rows = (
                spark.range(limit)
                .selectExpr("id AS _seq", f"timestamp_micros({at}) AS _ts")
                .withColumn("ts", F.col("_ts"))
            )
            return rows.selectExpr("_seq", "_ts", *named(fields))
        case KafkaSource() as kafka:
            return spark.createDataFrame(taken_from(kafka, opening))
        case origin if origin.endless:
            raise ValueError(f"source {source.name} has no end; give its generator a limit")
        case origin:
            return spark.createDataFrame(_all_rows(reader_of(origin, opening)))


def _all_rows(reader: Reader) -> pa.Table:
    """Of a source that ends, in one piece: of a table whose first piece is empty, Spark takes nothing."""
    while reader.begin(Seq(0), 0) is None:
        time.sleep(POLL_SECONDS)
    news = [reader.poll(0)]
    while not news[-1].ended:
        if news[-1].rows is None or not news[-1].rows.num_rows:
            time.sleep(POLL_SECONDS)
        news.append(reader.poll(0))
    return pa.concat_tables([each.rows for each in news if each.rows is not None]).combine_chunks()


def _numbered(rows: DataFrame) -> DataFrame:
    """Ordered by its order columns, numbered from 0."""
    order = [F.col(name).asc_nulls_first() for name in rows.columns if name.startswith("_order")]
    kept = [name for name in rows.columns if not name.startswith("_order")]
    seq = (F.row_number().over(Over.orderBy(*order)) - 1).cast("bigint").alias("_seq")
    return rows.select(seq, *(F.col(quoted(name)) for name in kept)).orderBy("_seq")


# --- one element


def _element(element: Element, streams: Mapping[str, DataFrame], ahead: str | None, in_panes: bool) -> Frame:
    leads = ahead is not None and ahead in element.inputs and element.merge is Merge.ARRIVAL
    inputs = _merged(
        [streams[name] for name in element.inputs], element.inputs.index(ahead) if leads else None
    )
    frames = [_frame(df, table) for df, table in zip(inputs, element.tables, strict=True)]
    first, rest = element.operators[:1], element.operators[1:]
    match first:
        case (Union(),):
            start = _union(inputs, element.tables[0])
        case (Sql(query=text),):
            start = query(text, frames)
        case _:
            start, rest = frames[0], element.operators
    positions = start.df
    return reduce(lambda frame, operator: _apply(frame, operator, frames, positions, in_panes), rest, start)


def _merged(inputs: Sequence[DataFrame], ahead: int | None) -> list[DataFrame]:
    """Each input with `_greatest`, how far event time has come with each row, `_wm`, the same before the row,
    and `_pos`, its place in the merged input."""
    before, upto = Over.unboundedPreceding, Over.currentRow
    by_seq = Over.orderBy("_seq")
    marked = [
        df.withColumn("_greatest", F.max(_progress(df)).over(by_seq.rowsBetween(before, upto)))
        .withColumn("_wm", F.max("_greatest").over(by_seq.rowsBetween(before, upto - 1)))
        .withColumn("_in", F.lit(place))
        for place, df in enumerate(inputs)
    ]
    keys = reduce(DataFrame.unionByName, (df.select("_in", "_seq", "_greatest") for df in marked))
    first = [] if ahead is None else [F.col("_in") != ahead]
    place = F.row_number().over(Over.orderBy(*first, F.col("_greatest").asc_nulls_first(), "_in", "_seq")) - 1
    places = keys.select("_in", "_seq", place.cast("bigint").alias("_pos"))
    return [df.join(places, ["_in", "_seq"]) for df in marked]


def _progress(df: DataFrame) -> str:
    """What event time goes by: what the source says, or else the rows' own."""
    return PROGRESS if PROGRESS in df.columns else "_ts"


def _frame(df: DataFrame, table: str) -> Frame:
    payload = [name for name in df.columns if name not in (*CONTROL, "_in")]
    return Frame.of(df, table, CONTROL, payload)


def _union(inputs: Sequence[DataFrame], table: str) -> Frame:
    rows = reduce(lambda a, b: a.unionByName(b), inputs)
    running = Over.orderBy("_pos").rowsBetween(Over.unboundedPreceding, Over.currentRow - 1)
    rows = rows.withColumn("_wm", F.max("_greatest").over(running)).withColumn("_seq", F.col("_pos"))
    return _frame(rows, table)


def _apply(
    frame: Frame, operator: Operator, frames: Sequence[Frame], positions: DataFrame, in_panes: bool
) -> Frame:
    match operator:
        case Filter(where=condition):
            return frame.where(condition)
        case Map(select=select):
            return frame.select(select)
        case Sample(fraction=fraction, seed=int(seed)):
            return frame.where(sampled(fraction, seed))
        case Sql(query=text):
            return query(text, [frame])
        case Python():
            return called(frame, operator)
        case Union():
            return frame
        case Aggregate():
            merge = mergeable(operator) if in_panes else None
            return _aggregate(frame, operator, positions, merge if isinstance(merge, Mergeable) else None)
        case Join(with_=name):
            return _join(frame, next(f for f in frames[1:] if f.table == name), operator)
        case _:
            raise ValueError(
                f"{type(operator).__name__.lower()} has no reference: its result is different every time"
            )


# --- windows and joins over everything


def _aggregate(frame: Frame, operator: Aggregate, positions: DataFrame, merge: Mergeable | None) -> Frame:
    """`positions`: the input before any filter; windows close by where the stream is, not by what passed.
    `merge`: windows are folded from the partials of their cells."""
    counted = operator.window.on is WindowOn.SEQ
    size, slide = (operator.window.size, operator.window.slide) if counted else _spans(operator)
    at = "_seq" if counted else "unix_micros(_ts)"
    wait = 0 if counted else micros(operator.window.lateness)
    reached = positions.agg(F.expr("max(_seq) + 1" if counted else "max(unix_micros(_greatest))")).first()[0]
    number = f"explode(sequence(greatest(0L, ({at} - {size}L) div {slide}L), {at} div {slide}L)) AS _k"
    inside = f"{at} >= _k * {slide}L AND {at} < _k * {slide}L + {size}L"
    late = "false" if counted else f"coalesce(unix_micros(_wm) >= _k * {slide}L + {size}L + {wait}L, false)"
    full = f"_k * {slide}L + {size}L + {wait}L <= {reached if reached is not None else -1}L"

    def spread(df: DataFrame) -> DataFrame:
        rows = df if counted else df.where("_ts >= timestamp_seconds(0)")
        return rows.selectExpr("*", number).where(f"{inside} AND NOT ({late}) AND {full}")

    # A sum's last digits depend on the order
    if merge is None:
        select: Mapping[str, str] = operator.select
        in_order = spread(frame.df).repartition("_k").sortWithinPartitions("_pos")
    else:
        partials = _partials(frame.df, operator, merge, at, size, slide, wait)  # type: ignore[arg-type]
        select = merge.select({field.name: field.dataType.simpleString() for field in partials.schema})
        of_pane = (
            f"explode(sequence(greatest(0L, (_pane_start - {size}L) div {slide}L), _pane_start div {slide}L))"
        )
        whole = f"_pane_start >= _k * {slide}L AND _pane_start < _k * {slide}L + {size}L AND _since <= _k"
        in_order = (
            partials.selectExpr("*", f"{of_pane} AS _k")
            .where(f"{whole} AND {full}")
            .repartition("_k")
            .sortWithinPartitions("_pane_start", "_since", "_block")
        )
    chosen = [F.expr(text).alias(name) for name, text in select.items()]
    made = in_order.alias(frame.table).groupBy("_k", *map(quoted, operator.group_by)).agg(*chosen)
    times = spread(positions).groupBy("_k").agg(F.max("_ts").alias("_greatest"))
    bound = (lambda text: text) if counted else (lambda text: f"timestamp_micros({text})")
    end = bound(f"_k * {slide}L + {size}L")
    groups = {f"_group{n}": quoted(name) for n, name in enumerate(operator.group_by)}
    df = made.join(times, "_k").selectExpr(
        "_k",
        f"{'_greatest' if counted else end} AS _ts",
        *(f"{column} AS {name}" for name, column in groups.items()),
        *map(quoted, operator.group_by),
        f"{bound(f'_k * {slide}L')} AS window_start",
        f"{end} AS window_end",
        *map(quoted, operator.select),
    )
    payload = (*operator.group_by, "window_start", "window_end", *operator.select)
    return Frame.of(df, frame.table, ("_k", "_ts", *groups), payload, ("_k", *groups))


def _partials(
    rows: DataFrame, operator: Aggregate, merge: Mergeable, at: str, size: int, slide: int, wait: int
) -> DataFrame:
    """One row per cell and group. A cell: the rows of a pane that come while the same windows are open, and
    lie in the same block of the stream."""
    width, since = gcd(size, slide), "0L"
    if operator.window.on is WindowOn.TS:
        rows = rows.where("_ts >= timestamp_seconds(0)")
        reached = "unix_micros(greatest(_wm, _ts))"
        since = f"if({reached} < {size + wait}L, 0L, ({reached} - {size + wait}L) div {slide}L + 1L)"
    cells = (
        f"{at} div {width}L * {width}L AS _pane_start",
        f"{since} AS _since",
        f"_pos div {BLOCK}L AS _block",
    )
    in_order = rows.selectExpr("*", *cells).repartition("_pane_start").sortWithinPartitions("_pos")
    made = [F.expr(text).alias(name) for name, text in merge.partials.items()]
    return in_order.groupBy("_pane_start", "_since", "_block", *map(quoted, operator.group_by)).agg(*made)


def _spans(operator: Aggregate) -> tuple[int, int]:
    return micros(operator.window.size), micros(operator.window.slide)  # type: ignore[arg-type]


def _join(left: Frame, right: Frame, operator: Join) -> Frame:
    reach = micros(operator.within)
    sides = []
    for frame, prefix in ((left, "_l"), (right, "_r")):
        visible = dict.fromkeys((*frame.payload, "ts", "_seq"))
        own = [f"{name} AS {prefix}{name}" for name in ("_pos", "_ts", "_wm")]
        sides.append(frame.df.selectExpr(*map(quoted, visible), *own).alias(frame.table))
    lag = "unix_micros(_l_ts) - unix_micros(_r_ts)"
    passed = (
        f"(_l_pos > _r_pos AND coalesce(unix_micros(_l_wm) > unix_micros(_r_ts) + {reach}L, false)) OR "
        f"(_r_pos > _l_pos AND coalesce(unix_micros(_r_wm) > unix_micros(_l_ts) + {reach}L, false))"
    )
    near = F.expr(f"({operator.on}\n) AND {lag} BETWEEN -{reach}L AND {reach}L AND NOT ({passed})")
    clash = {name.lower() for name in left.payload}
    columns = operator.select or {
        **{name: f"{quoted(left.table)}.{quoted(name)}" for name in left.payload},
        **{
            (
                f"{right.table}_{name}" if name.lower() in clash else name
            ): f"{quoted(right.table)}.{quoted(name)}"
            for name in right.payload
        },
    }
    order = {"_later": "greatest(_l_pos, _r_pos)", "_earlier": "least(_l_pos, _r_pos)"}
    times = {"_ts": "greatest(_l_ts, _r_ts)"}
    df = sides[0].join(sides[1], near).selectExpr(*named({**order, **times}), *named(columns))
    return Frame.of(df, left.table, (*order, *times), columns, tuple(order))
