"""Bad manifests, one fault each: what is wrong, where the refusal points, what words it has."""

from __future__ import annotations

import json
from dataclasses import dataclass

from .manifests import SOURCES, SUBJOBS, ha, manifest, subjob


@dataclass(frozen=True)
class Bad:
    fault: str
    text: str
    field: str
    words: tuple[str, ...]


def _window(window: str, inputs: str = "[ecg]") -> str:
    return subjob(f'[{{aggregate: {{window: {window}, select: {{n: "count(*)"}}}}}}]', inputs)


def _select(expression: str) -> str:
    return subjob(f'[{{aggregate: {{window: {{on: _seq, size: 10}}, select: {{n: "{expression}"}}}}}}]')


def _sql(query: str, inputs: str = "[ecg]") -> str:
    return subjob(f'[{{sql: "{query}"}}]', inputs)


def _join(join: str, inputs: str = "[ecg, pressure]", rest: str = "merge: eventTime") -> str:
    return subjob(f"[{{join: {join}}}]", inputs, rest)


def _source(source: str) -> str:
    return manifest(sources=f"{SOURCES}\n- {source}")


def _kafka(more: str) -> str:
    """A source with these fields, and others where they are not among them."""
    return _source(f"{{name: k, kafka: {{{_with_defaults(more, KAFKA + ', schema: a int')}}}}}")


def _avro(kind: object, more: str = "") -> str:
    """A source of Avro whose record has a field of this type."""
    schema = json.dumps({"type": "record", "name": "R", "fields": [{"name": "a", "type": kind}]})
    return _source(f"{{name: k, kafka: {{{KAFKA}, format: avro, schema: '{schema}'{more}}}}}")


def _to_kafka(more: str) -> str:
    return manifest(sinks=f"- {{name: o, input: beats, kafka: {{{_with_defaults(more, KAFKA)}}}}}")


def _with_defaults(more: str, defaults: str) -> str:
    given = {field.partition(":")[0] for field in more.split(", ")}
    return ", ".join(
        [more, *(field for field in defaults.split(", ") if field.partition(":")[0] not in given)]
    )


KAFKA = "bootstrapServers: 'k:9092', topic: t"


def _elements(elements: str, inputs: str = "[ecg]", rest: str = "ha: {}") -> str:
    return manifest(subjobs=f"- name: beats\n  inputs: {inputs}\n  elements: {elements}\n  {rest}")


OPERATORS = "spec.subjobs[0].operators"
HA = "spec.subjobs[0].ha"
ON = "ecg.patient = pressure.patient"
COUNT = '{aggregate: {window: {on: _seq, size: 10}, select: {n: "count(*)"}}}'
COUNT_BY_TIME = '{aggregate: {window: {on: ts, size: 1s}, select: {n: "count(*)"}}}'

SHAPE = (
    Bad("an empty manifest", "", "", ("is empty", "write apiVersion")),
    Bad("a list instead of a mapping", "[1, 2]", "", ("is a list", "write apiVersion")),
    Bad("text that is not YAML", "a: b: c", "", ("not YAML", "line 1")),
    Bad("a key twice", "kind: StreamJob\nkind: StreamJob", "", ("'kind' twice", "line 2")),
    Bad("10 MB", "x: " + "a" * 10_000_000, "", ("larger than 1 MiB",)),
    Bad(
        "an alias bomb",
        "a: &a [1]\n"
        + "".join(
            f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 10)}]\n" for n in range(9)
        ),
        "",
        ("more than 100000 values",),
    ),
    Bad("an alias of itself", "a: &a [*a]", "", ("names no anchor",)),
    Bad("brackets without end", "[" * 5000, "", ("nested more than 40 deep",)),
    Bad("an object tag", "a: !!python/object/apply:os.system [id]", "", ("tag",)),
    Bad("two documents", f"{manifest()}\n---\n{manifest()}", "", ("2 documents",)),
    Bad(
        "another kind",
        manifest().replace("kind: StreamJob", "kind: Deployment"),
        "kind",
        ("write StreamJob",),
    ),
    Bad(
        "another version",
        manifest().replace("v1alpha1", "v2"),
        "apiVersion",
        ("write understudy.dev/v1alpha1",),
    ),
    Bad(
        "no spec",
        "apiVersion: understudy.dev/v1alpha1\nkind: StreamJob\nmetadata: {name: x}",
        "spec",
        ("missing",),
    ),
    Bad("no name", manifest().replace("{name: job}", "{}"), "metadata.name", ("missing",)),
    Bad("a name that Kubernetes refuses", manifest(name="My_Job"), "metadata.name", ("lower-case",)),
    Bad("a misspelt part", manifest().replace("  sinks:", "  sincs:"), "spec.sincs", ("did you mean sinks",)),
    Bad("no sources", manifest(sources="[]"), "spec.sources", ("is empty", "at least 1")),
    Bad("no subjobs", manifest(subjobs="[]"), "spec.subjobs", ("is empty",)),
    Bad(
        "an unknown operator",
        subjob('[{fliter: {where: "mv > 1"}}]'),
        f"{OPERATORS}[0]",
        ("did you mean filter",),
    ),
    Bad(
        "two operators in one",
        subjob('[{filter: {where: "mv > 1"}, union: {}}]'),
        f"{OPERATORS}[0]",
        ("an object with one key",),
    ),
    Bad(
        "a misspelt field",
        subjob("[{sample: {fraction: 0.5, sed: 1}}]"),
        f"{OPERATORS}[0].sample.sed",
        ("did you mean seed",),
    ),
    Bad(
        "a field left out",
        subjob("[{filter: {}}]"),
        f"{OPERATORS}[0].filter.where",
        ("missing", "such as `mv > 0.8`"),
    ),
    Bad(
        "inputs that are no list",
        subjob("[{union: {}}]", "ecg"),
        "spec.subjobs[0].inputs",
        ("write a list, such as [ecg]",),
    ),
    Bad(
        "a number as text",
        _source('{name: g, generator: {rate: "5", fields: {x: _seq}}}'),
        "spec.sources[3].generator.rate",
        ("without quotes",),
    ),
    Bad(
        "text as a number",
        _source("{name: g, generator: {rate: 5, fields: {x: 3}}}"),
        "spec.sources[3].generator.fields.x",
        ("text in quotes",),
    ),
    Bad(
        "Python's name of a field",
        subjob('[{aggregate: {window: {on: _seq, size: 1}, group_by: [patient], select: {n: "count(*)"}}}]'),
        f"{OPERATORS}[0].aggregate.group_by",
        ("did you mean groupBy",),
    ),
)

NAMES = (
    Bad(
        "an input that does not exist",
        subjob('[{filter: {where: "mv > 1"}}]', "[egc]"),
        "spec.subjobs[0].inputs[0]",
        ("no source or subjob egc", "did you mean ecg"),
    ),
    Bad(
        "a sink of nothing",
        manifest(sinks="- {name: out, input: beat, console: {}}"),
        "spec.sinks[0].input",
        ("did you mean beats",),
    ),
    Bad(
        "a cycle",
        manifest(
            subjobs="""
- {name: beats, inputs: [b], operators: [{filter: {where: "true"}}]}
- {name: b, inputs: [beats], operators: [{filter: {where: "true"}}]}"""
        ),
        "spec.subjobs[0].inputs",
        ("in a ring", "beats → b → beats"),
    ),
    Bad(
        "a subjob that reads itself",
        subjob('[{filter: {where: "true"}}]', "[beats]"),
        "spec.subjobs[0].inputs",
        ("in a ring",),
    ),
    Bad(
        "two subjobs of one name",
        manifest(subjobs=SUBJOBS + SUBJOBS),
        "spec.subjobs[1].name",
        ("beats is used twice",),
    ),
    Bad(
        "a subjob named like a source",
        manifest(subjobs=SUBJOBS.replace("beats", "ecg"), sinks="[]"),
        "spec.subjobs[0].name",
        ("ecg is used twice",),
    ),
    Bad(
        "a sink of a source",
        manifest(sinks="- {name: out, input: ecg, console: {}}"),
        "spec.sinks[0].input",
        ("ecg is a source", "write a subjob, such as beats"),
    ),
    Bad(
        "two sinks of one name",
        manifest(sinks="- {name: o, input: beats, console: {}}\n- {name: o, input: beats, console: {}}"),
        "spec.sinks[1].name",
        ("o is used twice",),
    ),
    Bad(
        "an input twice",
        subjob("[{union: {}}]", "[ecg, ecg]"),
        "spec.subjobs[0].inputs[1]",
        ("is used twice",),
    ),
    Bad(
        "a stream named like an input in a plan",
        _source("{name: i0, generator: {rate: 1, fields: {x: _seq}}}"),
        "spec.sources[3].name",
        ("reserved",),
    ),
    Bad(
        "names too long together",
        manifest(name="j" * 40, subjobs=SUBJOBS.replace("beats", "beats-of-hearts"), sinks="[]"),
        "spec.subjobs[0].name",
        ("too long", "at most 9"),
    ),
    Bad(
        "too many operators",
        manifest(
            subjobs="".join(
                f"\n- {{name: s{n}, inputs: [ecg], operators: [{', '.join(['{union: {}}'] * 50)}]}}"
                for n in range(21)
            ),
            sinks="[]",
        ),
        "spec.subjobs",
        ("1050 operators", "at most 1000"),
    ),
    Bad("nothing to compute", subjob("[]"), OPERATORS, ("at least one operator",)),
    Bad(
        "operators and elements",
        manifest(
            subjobs=SUBJOBS + '  elements: [{name: x, inputs: [ecg], operators: [{filter: {where: "true"}}]}]'
        ),
        "spec.subjobs[0].elements",
        ("operators or elements",),
    ),
)

WIRING = (
    Bad(
        "inputs that do not meet",
        subjob('[{filter: {where: "mv > 1"}}]', "[ecg, pressure]"),
        "spec.subjobs[0].inputs",
        ("do not meet", "union"),
    ),
    Bad("a union of one", subjob("[{union: {}}]"), f"{OPERATORS}[0].union", ("two inputs or more",)),
    Bad(
        "a union in the middle",
        subjob('[{filter: {where: "true"}}, {union: {}}]'),
        f"{OPERATORS}[1].union",
        ("write it first",),
    ),
    Bad(
        "a union of different columns",
        subjob("[{union: {}}]", "[ecg, pressure]"),
        f"{OPERATORS}[0].union",
        ("pressure has no mv",),
    ),
    Bad(
        "a join with what is no input",
        _join(f'{{with: presure, on: "{ON}", within: 1s}}', "[ecg]"),
        f"{OPERATORS}[0].join.with",
        ("not an input",),
    ),
    Bad(
        "a join with itself",
        _join('{with: ecg, on: "true", within: 1s}', "[ecg]"),
        f"{OPERATORS}[0].join.with",
        ("left side already",),
    ),
    Bad(
        "a join without within",
        _join(f'{{with: pressure, on: "{ON}"}}'),
        f"{OPERATORS}[0].join.within",
        ("missing",),
    ),
    Bad("a join without on", _join("{with: pressure, within: 1s}"), f"{OPERATORS}[0].join.on", ("missing",)),
    Bad(
        "a join on an ambiguous column",
        _join('{with: pressure, on: "patient = 1", within: 1s}'),
        f"{OPERATORS}[0].join.on",
        ("more than one input", "ecg.patient or pressure.patient"),
    ),
    Bad(
        "a join of a stream without event time",
        _join('{with: log, on: "ecg.patient = log.patient", within: 1s}', "[ecg, log]", "merge: arrival"),
        f"{OPERATORS}[0].join",
        ("needs event time",),
    ),
    Bad(
        "merge: eventTime without event time",
        subjob(
            '[{sql: "select patient from ecg union all select patient from log"}]',
            "[ecg, log]",
            "merge: eventTime",
        ),
        "spec.subjobs[0].merge",
        ("log has no event time", "merge: arrival"),
    ),
    Bad(
        "an element that reads nothing known",
        _elements(f"[{{name: x, inputs: [y], operators: [{COUNT}]}}]"),
        "spec.subjobs[0].elements[0].inputs[0]",
        ("neither an input nor an element",),
    ),
    Bad(
        "an element that reads an input twice",
        _elements("[{name: x, inputs: [ecg, ecg], operators: [{union: {}}]}]"),
        "spec.subjobs[0].elements[0].inputs[1]",
        ("ecg is used twice",),
    ),
    Bad(
        "two elements at the end",
        _elements(
            f"[{{name: a, inputs: [ecg], operators: [{COUNT}]}}, "
            f"{{name: b, inputs: [ecg], operators: [{COUNT}]}}]"
        ),
        "spec.subjobs[0].elements",
        ("a and b", "leave one"),
    ),
    Bad(
        "an element with two windows",
        _elements(f"[{{name: a, inputs: [ecg], operators: [{COUNT}, {COUNT}]}}]"),
        "spec.subjobs[0].elements",
        ("element of its own",),
    ),
    Bad(
        "an input that no element reads",
        _elements(f"[{{name: a, inputs: [ecg], operators: [{COUNT}]}}]", "[ecg, pressure]"),
        "spec.subjobs[0].inputs[1]",
        ("no element reads pressure",),
    ),
)

EXPRESSIONS = (
    Bad(
        "SQL that does not parse",
        subjob('[{filter: {where: "mv > "}}]'),
        f"{OPERATORS}[0].filter.where",
        ("does not parse",),
    ),
    Bad(
        "a quote without end",
        subjob('[{filter: {where: "patient = \'p"}}]'),
        f"{OPERATORS}[0].filter.where",
        ("not closed",),
    ),
    Bad(
        "a statement as a condition",
        subjob('[{filter: {where: "drop table x"}}]'),
        f"{OPERATORS}[0].filter.where",
        ("does not parse",),
    ),
    Bad(
        "a query as a condition",
        subjob('[{filter: {where: "mv > (select 1)"}}]'),
        f"{OPERATORS}[0].filter.where",
        ("query of its own",),
    ),
    Bad(
        "an expression nested too deep",
        subjob(f'[{{filter: {{where: "{"(" * 2000}mv{")" * 2000}"}}}}]'),
        f"{OPERATORS}[0].filter.where",
        ("nested",),
    ),
    Bad(
        "a column that does not exist",
        subjob('[{filter: {where: "patiant > 1"}}]'),
        f"{OPERATORS}[0].filter.where",
        ("no column patiant", "did you mean patient"),
    ),
    Bad(
        "a column that a map dropped",
        subjob('[{map: {select: {p: patient}}}, {filter: {where: "mv > 1"}}]'),
        f"{OPERATORS}[1].filter.where",
        ("no column mv", "write one of p"),
    ),
    Bad(
        "a function that does not exist",
        subjob('[{filter: {where: "sinn(mv) > 1"}}]'),
        f"{OPERATORS}[0].filter.where",
        ("no function sinn", "did you mean sin"),
    ),
    Bad(
        "an aggregate in a filter",
        subjob('[{filter: {where: "max(mv) > 1"}}]'),
        f"{OPERATORS}[0].filter.where",
        ("use the operator aggregate",),
    ),
    Bad(
        "explode in a map",
        subjob('[{map: {select: {x: "explode(array(mv))"}}}]'),
        f"{OPERATORS}[0].map.select.x",
        ("use the operator sql",),
    ),
    Bad(
        "no aggregate in an aggregate",
        _select("_seq + 1"),
        f"{OPERATORS}[0].aggregate.select.n",
        ("not an aggregate",),
    ),
    Bad(
        "a column that is not grouped",
        _select("max(mv) + _seq"),
        f"{OPERATORS}[0].aggregate.select.n",
        ("neither in an aggregate nor in groupBy",),
    ),
    Bad(
        "a group that does not exist",
        subjob('[{aggregate: {window: {on: _seq, size: 1}, groupBy: [pateint], select: {n: "count(*)"}}}]'),
        f"{OPERATORS}[0].aggregate.groupBy[0]",
        ("did you mean patient",),
    ),
    Bad(
        "a column called like the window",
        subjob('[{aggregate: {window: {on: _seq, size: 1}, select: {window_end: "count(*)"}}}]'),
        f"{OPERATORS}[0].aggregate",
        ("window_end comes out twice",),
    ),
    Bad(
        "a reserved column",
        subjob("[{map: {select: {_pos: mv}}}]"),
        f"{OPERATORS}[0].map",
        ("_pos is reserved",),
    ),
    Bad(
        "a column reserved for plans",
        subjob("[{map: {select: {i0_x: mv}}}]"),
        f"{OPERATORS}[0].map",
        ("i0_x is reserved",),
    ),
    Bad(
        "a column that YAML takes for a boolean",
        subjob("[{map: {select: {true: mv}}}]"),
        f"{OPERATORS}[0].map",
        ("boolean in YAML",),
    ),
    Bad(
        "a sample of more than all",
        subjob("[{sample: {fraction: 1.5}}]"),
        f"{OPERATORS}[0].sample.fraction",
        ("at most 1",),
    ),
    Bad(
        "GROUP BY in sql",
        _sql("select patient, count(*) as n from ecg group by patient"),
        f"{OPERATORS}[0].sql.query",
        ("use the operator aggregate",),
    ),
    Bad(
        "DISTINCT in sql",
        _sql("select distinct patient from ecg"),
        f"{OPERATORS}[0].sql.query",
        ("use the operator aggregate",),
    ),
    Bad(
        "ORDER BY in sql",
        _sql("select patient from ecg order by mv"),
        f"{OPERATORS}[0].sql.query",
        ("leave it out",),
    ),
    Bad(
        "LIMIT in sql",
        _sql("select patient from ecg limit 3"),
        f"{OPERATORS}[0].sql.query",
        ("limit of the source",),
    ),
    Bad(
        "a join in sql",
        _sql("select ecg.mv from ecg join pressure on true", "[ecg, pressure]"),
        f"{OPERATORS}[0].sql.query",
        ("use the operator join",),
    ),
    Bad(
        "a window function in sql",
        _sql("select row_number() over (order by mv) as n from ecg"),
        f"{OPERATORS}[0].sql.query",
        ("use the operator aggregate",),
    ),
    Bad(
        "sql over what is no input",
        _sql("select x from egc"),
        f"{OPERATORS}[0].sql.query",
        ("no input egc", "did you mean ecg"),
    ),
    Bad(
        "sql that does not read an input",
        _sql("select patient from ecg", "[ecg, pressure]"),
        f"{OPERATORS}[0].sql.query",
        ("does not read pressure",),
    ),
    Bad(
        "sql without a name for a column",
        _sql("select mv + 1 from ecg"),
        f"{OPERATORS}[0].sql.query",
        ("has no name", "AS name"),
    ),
    Bad("a statement in sql", _sql("drop table ecg"), f"{OPERATORS}[0].sql.query", ("not one query",)),
)

TIME = (
    Bad("a negative duration", ha("{maxRecovery: -3s}"), f"{HA}.maxRecovery", ("negative", "such as 500ms")),
    Bad(
        "a duration without a unit",
        ha("{heartbeat: {interval: 100}}"),
        f"{HA}.heartbeat.interval",
        ("not a duration",),
    ),
    Bad("an interval of nothing", ha("{ackInterval: 0s}"), f"{HA}.ackInterval", ("shorter than 1ms",)),
    Bad(
        "a window on a column",
        _window("{on: mv, size: 10}"),
        f"{OPERATORS}[0].aggregate.window.on",
        ("write _seq or ts",),
    ),
    Bad("a window without on", _window("{size: 10}"), f"{OPERATORS}[0].aggregate.window.on", ("missing",)),
    Bad(
        "a window of seconds on _seq",
        _window("{on: _seq, size: 10s}"),
        f"{OPERATORS}[0].aggregate.window.size",
        ("a number of tuples",),
    ),
    Bad(
        "a window of tuples on ts",
        _window("{on: ts, size: 10}"),
        f"{OPERATORS}[0].aggregate.window.size",
        ("a duration, such as 10s",),
    ),
    Bad(
        "an empty window",
        _window("{on: _seq, size: 0}"),
        f"{OPERATORS}[0].aggregate.window.size",
        ("more than nothing",),
    ),
    Bad(
        "a slide longer than the window",
        _window("{on: _seq, size: 10, slide: 20}"),
        f"{OPERATORS}[0].aggregate.window.slide",
        ("at most the size",),
    ),
    Bad(
        "too many windows at once",
        _window("{on: _seq, size: 1000000, slide: 1}"),
        f"{OPERATORS}[0].aggregate.window.slide",
        ("overlap",),
    ),
    Bad(
        "lateness on _seq",
        _window("{on: _seq, size: 10, lateness: 1s}"),
        f"{OPERATORS}[0].aggregate.window.lateness",
        ("leave it out",),
    ),
    Bad(
        "a window on ts without event time",
        _window("{on: ts, size: 10s}", "[log]"),
        f"{OPERATORS}[0].aggregate",
        ("needs event time",),
    ),
)

ENDS = (
    Bad(
        "a rate of nothing",
        _source("{name: g, generator: {rate: 0, fields: {x: _seq}}}"),
        "spec.sources[3].generator.rate",
        ("more than 0",),
    ),
    Bad(
        "a limit of nothing",
        _source("{name: g, generator: {rate: 1, limit: 0, fields: {x: _seq}}}"),
        "spec.sources[3].generator.limit",
        ("at least 1",),
    ),
    Bad(
        "a source of two kinds",
        _source('{name: g, generator: {rate: 1, fields: {x: _seq}}, files: {path: x, schema: "a int"}}'),
        "spec.sources[3]",
        ("has generator and files", "exactly one"),
    ),
    Bad("a source of no kind", _source("{name: g}"), "spec.sources[3]", ("exactly one of generator",)),
    Bad(
        "a random generator",
        _source('{name: g, generator: {rate: 1, fields: {x: "rand()"}}}'),
        "spec.sources[3].generator.fields.x",
        ("rand is random", "hash(_seq)"),
    ),
    Bad(
        "a generator that names its own fields",
        _source('{name: g, generator: {rate: 1, fields: {x: _seq, z: "x + 1"}}}'),
        "spec.sources[3].generator.fields.z",
        ("no column x", "_seq, ts"),
    ),
    Bad(
        "a generator with a ts of its own",
        _source("{name: g, generator: {rate: 1, fields: {ts: _seq}}}"),
        "spec.sources[3].generator.fields.ts",
        ("another name",),
    ),
    Bad(
        "a schema that does not parse",
        _source('{name: f, files: {path: x, schema: "a strng"}}'),
        "spec.sources[3].files.schema",
        ("list of columns",),
    ),
    Bad(
        "event time that is no time",
        _source('{name: f, files: {path: x, schema: "a int, at timestamp", eventTime: a}}'),
        "spec.sources[3].files.eventTime",
        ("no timestamp column", "write at"),
    ),
    Bad(
        "a ts that is no time",
        _source('{name: f, files: {path: x, schema: "ts string"}}'),
        "spec.sources[3].files.schema",
        ("ts timestamp",),
    ),
    Bad(
        "a format that does not exist",
        _source('{name: f, files: {path: x, format: json, schema: "a int"}}'),
        "spec.sources[3].files.format",
        ("did you mean jsonl",),
    ),
    Bad(
        "a broker without a port",
        _kafka("bootstrapServers: broker"),
        "spec.sources[3].kafka.bootstrapServers",
        ("as host:port",),
    ),
    Bad(
        "a topic that can't be called so",
        _kafka("topic: a/b"),
        "spec.sources[3].kafka.topic",
        ("does not have the right form",),
    ),
    Bad(
        "offsets that are none",
        _kafka("startingOffsets: oldest"),
        "spec.sources[3].kafka.startingOffsets",
        ("earliest, latest, or a time",),
    ),
    Bad(
        "a day that does not exist",
        _kafka('startingOffsets: "2026-02-30T00:00:00Z"'),
        "spec.sources[3].kafka.startingOffsets",
        ("no such time", "such as 2026-11-18T00:00:00Z"),
    ),
    Bad(
        "a format of values that does not exist",
        _kafka("format: jsonl"),
        "spec.sources[3].kafka.format",
        ("did you mean json",),
    ),
    Bad(
        "an Avro schema that is none",
        _kafka("format: avro"),
        "spec.sources[3].kafka.schema",
        ("not JSON",),
    ),
    Bad(
        "a nested record of Avro",
        _avro({"type": "record", "name": "I", "fields": []}),
        "spec.sources[3].kafka.schema",
        ("the field a", "nested type, record"),
    ),
    Bad(
        "a list of Avro",
        _avro({"type": "array", "items": "long"}),
        "spec.sources[3].kafka.schema",
        ("nested type, array",),
    ),
    Bad(
        "a union of two types of Avro",
        _avro(["null", "long", "string"]),
        "spec.sources[3].kafka.schema",
        ("null and one other type",),
    ),
    Bad(
        "a time of day of Avro",
        _avro({"type": "int", "logicalType": "time-millis"}),
        "spec.sources[3].kafka.schema",
        ("logical type time-millis",),
    ),
    Bad(
        "a decimal of Avro with too many digits",
        _avro({"type": "bytes", "logicalType": "decimal", "precision": 39}),
        "spec.sources[3].kafka.schema",
        ("at most 38",),
    ),
    Bad(
        "a type that Avro does not have",
        _avro("number"),
        "spec.sources[3].kafka.schema",
        ("number is not",),
    ),
    Bad(
        "an enum of Avro with a symbol twice",
        _avro({"type": "enum", "name": "E", "symbols": ["A", "A"]}),
        "spec.sources[3].kafka.schema",
        ("not valid",),
    ),
    Bad(
        "an event time that is no timestamp of Avro",
        _avro("long", ", eventTime: a"),
        "spec.sources[3].kafka.eventTime",
        ("no timestamp column",),
    ),
    Bad(
        "raw values in two columns",
        _kafka('format: raw, schema: "key binary, value binary"'),
        "spec.sources[3].kafka.schema",
        ("such as value binary",),
    ),
    Bad(
        "raw values as text",
        _kafka('format: raw, schema: "value string"'),
        "spec.sources[3].kafka.schema",
        ("type binary",),
    ),
    Bad(
        "an event time that is not in the values",
        _kafka("eventTime: at"),
        "spec.sources[3].kafka.eventTime",
        ("no timestamp column",),
    ),
    Bad(
        "a partition that is idle at once",
        _kafka("idleAfter: 1ms"),
        "spec.sources[3].kafka.idleAfter",
        ("at least 100ms",),
    ),
    Bad(
        "a policy for bad records that does not exist",
        _kafka("onBadRecord: ignore"),
        "spec.sources[3].kafka.onBadRecord",
        ("fail, skip or {deadLetter: TOPIC}",),
    ),
    Bad(
        "dead letters without a topic",
        _kafka("onBadRecord: {deadLetter: }"),
        "spec.sources[3].kafka.onBadRecord",
        ("fail, skip or {deadLetter: TOPIC}",),
    ),
    Bad(
        "dead letters for a topic that can't be called so",
        _kafka("onBadRecord: {deadLetter: a/b}"),
        "spec.sources[3].kafka.onBadRecord",
        ("can't be the name of a topic",),
    ),
    Bad(
        "dead letters into the topic that is read",
        _kafka("topic: vitals, onBadRecord: {deadLetter: vitals}"),
        "spec.sources[3].kafka.onBadRecord",
        ("its own dead letters",),
    ),
    Bad(
        "a column that the record already has",
        _kafka('schema: "_key string"'),
        "spec.sources[3].kafka.schema",
        ("_key",),
    ),
    Bad(
        "a Secret without a name",
        _kafka("security: {}"),
        "spec.sources[3].kafka.security.secret",
        ("is missing",),
    ),
    Bad(
        "push, which is not there yet",
        _source('{name: p, push: {schema: "a int"}}'),
        "spec.sources[3].push",
        ("not available yet",),
    ),
    Bad(
        "a key that is not among the columns",
        _to_kafka("key: patiant"),
        "spec.sinks[0].kafka.key",
        ("there is no column patiant in beats", "did you mean patient"),
    ),
    Bad(
        "transactions that last a minute",
        _to_kafka("commitInterval: 1m"),
        "spec.sinks[0].kafka.commitInterval",
        ("at most 5s",),
    ),
    Bad(
        "a sink that writes what its job reads",
        manifest(
            sources=f"{SOURCES}\n- {{name: k, kafka: {{{KAFKA}, schema: 'a int'}}}}",
            sinks=f"- {{name: o, input: beats, kafka: {{{KAFKA}}}}}",
        ),
        "spec.sinks[0].kafka",
        ("the source k would read", "write another place"),
    ),
    Bad(
        "a sink of no kind",
        manifest(sinks="- {name: o, input: beats}"),
        "spec.sinks[0]",
        ("exactly one of files",),
    ),
    Bad(
        "two sinks on one path",
        manifest(
            sinks="- {name: a, input: beats, files: {path: out/x}}\n"
            "- {name: b, input: beats, files: {path: ./out/x/}}"
        ),
        "spec.sinks[1].files.path",
        ("the sink a writes to",),
    ),
    Bad(
        "lines that are rolled",
        manifest(sinks="- {name: a, input: beats, files: {path: x, roll: {size: 1Mi}}}"),
        "spec.sinks[0].files.roll",
        ("format parquet",),
    ),
    Bad(
        "files that would not fit into the memory of their sink",
        manifest(sinks="- {name: a, input: beats, files: {path: x, format: parquet, roll: {size: 65Mi}}}"),
        "spec.sinks[0].files.roll.size",
        ("64Mi",),
    ),
    Bad(
        "files that are made every millisecond",
        manifest(sinks="- {name: a, input: beats, files: {path: x, format: parquet, roll: {interval: 1ms}}}"),
        "spec.sinks[0].files.roll.interval",
        ("write 100ms to 10m",),
    ),
    Bad(
        "a table that could be more than a name",
        manifest(sinks="- {name: a, input: beats, postgres: {secret: db, table: 'a; DROP TABLE b'}}"),
        "spec.sinks[0].postgres.table",
        ("DROP TABLE",),
    ),
    Bad(
        "a secret in another folder",
        manifest(sinks="- {name: a, input: beats, postgres: {secret: ../db, table: a}}"),
        "spec.sinks[0].postgres.secret",
        ("../db",),
    ),
    Bad(
        "a path out of the folder",
        manifest(sinks="- {name: a, input: beats, files: {path: ../x}}"),
        "spec.sinks[0].files.path",
        ("without ..",),
    ),
    Bad(
        "a Python function that is not one",
        subjob("[{python: {function: 'a.b'}}]"),
        f"{OPERATORS}[0].python.function",
        ("write `module:function`",),
    ),
    Bad(
        "a Python function whose columns have no types",
        subjob("[{python: {function: 'a:b', schema: 'x, y'}}]"),
        f"{OPERATORS}[0].python.schema",
        ("names and Spark types",),
    ),
    Bad(
        "a Python function that makes a reserved column",
        subjob("[{python: {function: 'a:b', schema: '_x int'}}]"),
        f"{OPERATORS}[0].python.schema",
        ("reserved",),
    ),
    Bad(
        "a column that a Python function does not make",
        subjob("[{python: {function: 'a:b', schema: 'x int'}}, {filter: {where: 'y > 0'}}]"),
        f"{OPERATORS}[1].filter.where",
        ("there is no column y",),
    ),
    Bad(
        "correlate, which is not there yet",
        subjob("[{correlate: {function: 'a:b'}}]"),
        f"{OPERATORS}[0].correlate",
        ("not available yet",),
    ),
    Bad(
        "memory in the wrong unit",
        subjob('[{filter: {where: "true"}}]', rest="spark: {driver: {memory: 1GB}}"),
        "spec.subjobs[0].spark.driver.memory",
        ("such as 1Gi",),
    ),
    Bad(
        "a setting on which results rest",
        subjob('[{filter: {where: "true"}}]', rest="spark: {conf: {spark.sql.session.timeZone: CET}}"),
        "spec.subjobs[0].spark.conf.spark.sql.session.timeZone",
        ("changes results", "no chart value allows it", "leave it out"),
    ),
    Bad(
        "a setting that loads code",
        subjob('[{filter: {where: "true"}}]', rest="spark: {conf: {spark.jars.packages: a}}"),
        "spec.subjobs[0].spark.conf.spark.jars.packages",
        ("loads code", "leave it out"),
    ),
    Bad(
        "Java code in an expression",
        subjob("""[{map: {select: {x: "reflect('java.lang.System', 'getenv', 'HOME')"}}}]"""),
        f"{OPERATORS}[0].map.select.x",
        ("reflect reaches beyond its row", "the operator python"),
    ),
    Bad(
        "Java code in quotes and with its catalog",
        _sql("select system.builtin.`java_method`('a', 'b') as x from ecg"),
        f"{OPERATORS}[0].sql.query",
        ("java_method reaches beyond its row",),
    ),
    Bad(
        "Java code in an aggregate",
        _select("max(try_reflect('a', 'b'))"),
        f"{OPERATORS}[0].aggregate.select.n",
        ("try_reflect reaches beyond its row",),
    ),
    Bad(
        "Java code in a generator",
        _source("{name: x, generator: {rate: 1, fields: {v: \"reflect('a', 'b')\"}}}"),
        "spec.sources[3].generator.fields.v",
        ("reflect reaches beyond its row",),
    ),
    Bad(
        "Java code in the condition of a join",
        _join("{with: pressure, on: \"ecg.patient = reflect('a', 'b')\", within: 1s}"),
        f"{OPERATORS}[0].join.on",
        ("reflect reaches beyond its row",),
    ),
    Bad(
        "a file that a function reads",
        subjob("[{map: {select: {x: \"from_protobuf(patient, 'M', '/etc/x')\"}}}]"),
        f"{OPERATORS}[0].map.select.x",
        ("from_protobuf reaches beyond its row",),
    ),
    Bad(
        "a program in a query",
        _sql("select transform(mv) using 'cat' as (x) from ecg"),
        f"{OPERATORS}[0].sql.query",
        ("TRANSFORM … USING runs a program",),
    ),
    Bad(
        "a program in a condition",
        subjob("[{filter: {where: \"transform(mv) using 'cat'\"}}]"),
        f"{OPERATORS}[0].filter.where",
        ("TRANSFORM … USING runs a program",),
    ),
    Bad(
        "a sink whose pod has the name of a subjob's",
        manifest(
            subjobs=f"{SUBJOBS}\n- name: sink-a\n  inputs: [beats]\n"
            '  operators: [{filter: {where: "true"}}]',
            sinks="- {name: a-0, input: beats, files: {path: x}}",
        ),
        "spec.sinks[0].name",
        ("the name of a pod of the subjob sink-a", "another name"),
    ),
    Bad(
        "a setting that is not Spark's",
        subjob('[{filter: {where: "true"}}]', rest="spark: {conf: {a: b}}"),
        "spec.subjobs[0].spark.conf.a",
        ("begins with spark.",),
    ),
)

PROMISES = (
    Bad(
        "a mode that does not exist",
        ha("{mode: passivStandby}"),
        f"{HA}.mode",
        ("did you mean passiveStandby",),
    ),
    Bad(
        "precise with amnesia",
        ha("{mode: amnesia, guarantee: precise}"),
        f"{HA}.guarantee",
        ("amnesia gives gap", "mode passiveStandby,", "or guarantee gap"),
    ),
    Bad(
        "a spare beside a standby",
        ha("{spare: true}"),
        f"{HA}.spare",
        ("passiveStandby has its standby already",),
    ),
    Bad(
        "a spare for a mode to come", ha("{mode: auto, spare: true}"), f"{HA}.spare", ("write mode amnesia",)
    ),
    Bad("half a spare", ha("{mode: amnesia, spare: 1}"), f"{HA}.spare", ("true or false",)),
    Bad(
        "rollback with amnesia",
        ha("{mode: amnesia, guarantee: rollback}"),
        f"{HA}.guarantee",
        ("amnesia gives gap",),
    ),
    Bad(
        "a random function in parallel",
        ha("{mode: activeStandby, guarantee: precise}", '[{filter: {where: "randn() > mv"}}]'),
        f"{HA}.guarantee",
        ("randn is random", "a batch plan does not hold", "write mode passiveStandby or guarantee rollback"),
    ),
    Bad(
        "replicas that draw lots",
        ha("{mode: replicaBackup}", "[{sample: {fraction: 0.5}}]"),
        f"{HA}.mode",
        ("needs a deterministic subjob", "activeStandby"),
    ),
    Bad(
        "replicas of what may be sent again otherwise",
        manifest(
            subjobs="""
- {name: drawn, inputs: [ecg], operators: [{filter: {where: "randn() > mv"}}], ha: {mode: activeStandby}}
- {name: beats, inputs: [drawn], operators: [{filter: {where: "mv > 0.8"}}], ha: {mode: replicaBackup}}
"""
        ),
        "spec.subjobs[1].ha.mode",
        (
            "drawn (activeStandby, rollback) may send other tuples",
            "write mode activeStandby here",
            "drawn is precise",
        ),
    ),
    Bad(
        "savepoints in the order of arrival",
        _join(f'{{with: pressure, on: "{ON}", within: 1s}}', rest="ha: {mode: savepoint}"),
        f"{HA}.mode",
        ("merge: arrival",),
    ),
    Bad(
        "a savepoint of several elements",
        ha("{mode: savepoint}", f"[{COUNT}, {COUNT}]"),
        f"{HA}.mode",
        ("one element", "this subjob has 2"),
    ),
    Bad(
        "upstreamBackup and precise for what a function draws",
        ha("{mode: upstreamBackup, guarantee: precise}", '[{filter: {where: "rand(42) > mv"}}]'),
        f"{HA}.guarantee",
        ("a batch plan does not hold what is drawn there",),
    ),
    Bad(
        "a recovery time out of reach",
        ha("{maxRecovery: 50ms}"),
        f"{HA}.maxRecovery",
        ("predicted to take", "far longer than 50ms", "or write mode activeStandby"),
    ),
    Bad(
        "a recovery time that no cold start reaches",
        ha("{mode: amnesia, maxRecovery: 1s}"),
        f"{HA}.maxRecovery",
        ("predicted to take", "or spare: true"),
    ),
    Bad(
        "auto and a recovery time out of reach",
        ha("{mode: auto, guarantee: precise, maxRecovery: 20ms}"),
        f"{HA}.maxRecovery",
        ("no available mode", "far longer than 20ms"),
    ),
    Bad(
        "synchronized backups of an arbitrary subjob",
        ha("{checkpoint: {backups: synchronized}}", "[{sample: {fraction: 0.5}}]"),
        f"{HA}.checkpoint.backups",
        ("do not make an arbitrary subjob repeat itself", "unsynchronized"),
    ),
    Bad(
        "an alternative that nobody has declared",
        ha("{onPermanentFailure: {alternative: b}}"),
        f"{HA}.onPermanentFailure.alternative",
        ("there is no other subjob 'b'",),
    ),
)

BAD = (*SHAPE, *NAMES, *WIRING, *EXPRESSIONS, *TIME, *ENDS, *PROMISES)
