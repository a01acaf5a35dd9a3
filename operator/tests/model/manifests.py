"""A good manifest, and the same with one part put in the place of another."""

from __future__ import annotations

from understudy.model.job import StreamJob
from understudy.model.load import load

SOURCES = """
- name: ecg
  generator: {rate: 500, limit: 1000, fields: {patient: "concat('p', _seq % 20)", mv: "sin(_seq * 0.05)"}}
- name: pressure
  generator: {rate: 50, fields: {patient: "concat('p', _seq % 20)", sys: "110 + hash(_seq) % 40"}}
- name: log
  files: {path: in/log, schema: "patient string, note string"}
"""
SUBJOBS = """
- name: beats
  inputs: [ecg]
  operators:
    - filter: {where: "mv > 0.8"}
    - aggregate: {window: {on: _seq, size: 100, slide: 10}, groupBy: [patient], select: {n: "count(*)"}}
  ha: {mode: passiveStandby, guarantee: precise}
"""
SINKS = """
- {name: out, input: beats, files: {path: out/beats}}
"""


def manifest(sources: str = SOURCES, subjobs: str = SUBJOBS, sinks: str = SINKS, name: str = "job") -> str:
    parts = {"sources": sources, "subjobs": subjobs, "sinks": sinks}
    spec = "".join(f"  {part}:\n{_indent(text)}\n" for part, text in parts.items())
    return f"apiVersion: understudy.dev/v1alpha1\nkind: StreamJob\nmetadata: {{name: {name}}}\nspec:\n{spec}"


def _indent(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.strip("\n").splitlines())


def subjob(operators: str, inputs: str = "[ecg]", rest: str = "ha: {}") -> str:
    """A manifest whose only subjob is called beats."""
    return manifest(subjobs=f"- name: beats\n  inputs: {inputs}\n  operators: {operators}\n  {rest}")


def ha(text: str, operators: str = '[{filter: {where: "mv > 0.8"}}]') -> str:
    return subjob(operators, rest=f"ha: {text}")


def job(text: str) -> StreamJob:
    loaded = load(text)
    assert isinstance(loaded, StreamJob), loaded
    return loaded
