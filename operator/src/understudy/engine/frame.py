"""Rows on their way through an element's operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame

ORDER = "_order"
ROW = "_row"


@dataclass(frozen=True)
class Frame:
    """Control columns (`_seq`, `_ts`, what orders the output …) and payload, known to expressions as `table`.

    `df` also has a column `ts` with the event time, unless the payload has its own.
    """

    df: DataFrame
    table: str
    control: tuple[str, ...]
    payload: tuple[str, ...]
    order: tuple[str, ...] = ("_pos",)

    @classmethod
    def of(
        cls,
        df: DataFrame,
        table: str,
        control: Iterable[str],
        payload: Iterable[str],
        order: Iterable[str] = ("_pos",),
    ) -> Frame:
        control, payload = tuple(control), tuple(payload)
        columns = [*map(quoted, (*control, *payload))]
        if "ts" not in {name.lower() for name in payload}:
            columns.append("_ts AS ts")
        return cls(df.selectExpr(*columns).alias(table), table, control, payload, tuple(order))

    def where(self, condition: str) -> Frame:
        return Frame(self.df.where(condition), self.table, self.control, self.payload, self.order)

    def select(self, columns: Mapping[str, str]) -> Frame:
        df = self.df.selectExpr(*map(quoted, self.control), *named(columns))
        return Frame.of(df, self.table, self.control, columns, self.order)

    def in_order(self) -> Frame:
        """In one partition, in order of place: the result of an aggregate of floating-point numbers depends
        on the order."""
        df = self.df.coalesce(1).sortWithinPartitions("_pos").alias(self.table)
        return Frame(df, self.table, self.control, self.payload, self.order)

    def rows(self, *more: str) -> DataFrame:
        """The payload, more columns, and the struct `_row`, which tells where each row came from. A query or
        a function that makes rows from rows gets `_row`, and passes it on."""
        row = ", ".join(f"'{name}', {quoted(name)}" for name in self.control)
        return self.df.selectExpr(*map(quoted, (*self.payload, *more)), f"named_struct({row}) AS {ROW}")

    def of_rows(self, made: DataFrame, payload: Sequence[str], seq: str = "_seq") -> Frame:
        """The result of such a query over `rows`; `seq`: the field of `_row` that becomes each row's
        `_seq`."""
        taken = [
            f"{ROW}.{quoted(seq if name == '_seq' else name)} AS {quoted(name)}" for name in self.control
        ]
        df = made.selectExpr(*taken, *map(quoted, payload))
        return Frame.of(df, self.table, self.control, payload, self.order)

    def result(self) -> DataFrame:
        """Order columns, then `_ts`, then the payload."""
        order = [f"{quoted(column)} AS {ORDER}{n}" for n, column in enumerate(self.order)]
        return self.df.selectExpr(*order, "_ts", *map(quoted, self.payload))


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def named(columns: Mapping[str, str]) -> list[str]:
    return [f"({expression}\n) AS {quoted(name)}" for name, expression in columns.items()]
