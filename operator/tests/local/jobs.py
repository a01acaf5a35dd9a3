"""Small jobs for the tests."""

from __future__ import annotations

from understudy.model.job import StreamJob
from understudy.model.load import load
from understudy.model.validate import check

TWO_SUBJOBS = """
apiVersion: understudy.dev/v1alpha1
kind: StreamJob
metadata: {name: two}
spec:
  sources:
    - name: ecg
      generator: {rate: 200, fields: {patient: "_seq % 3", mv: "hash(_seq) % 100"}}
  subjobs:
    - name: strong
      inputs: [ecg]
      operators: [{filter: {where: "mv > 0"}}, {map: {select: {patient: patient, mv: mv}}}]
      ha: {mode: MODE}
    - name: beats
      inputs: [strong]
      operators:
        - aggregate:
            window: {on: _seq, size: 20, slide: 10}
            groupBy: [patient]
            select: {beats: "count(*)", peak: "max(mv)"}
  sinks:
    - {name: alerts, input: beats, files: {path: out/alerts}}
"""


def job(text: str = TWO_SUBJOBS, mode: str = "passiveStandby") -> StreamJob:
    found = load(text.replace("MODE", mode))
    assert isinstance(found, StreamJob), found
    assert not check(found)
    return found
