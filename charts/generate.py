#!/usr/bin/env python3
"""Writes what of the chart is made from other files: its CRDs (from crds/) and its README (from values.yaml).

With --check nothing is written, and the exit code is 1 if something is stale.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

CHECKOUT = Path(__file__).resolve().parent.parent
CHART = CHECKOUT / "charts" / "understudy"
KEY = re.compile(r"^(?P<indent> *)(?P<key>[A-Za-z]+):")

HEAD = """\
# The chart

Installs the operator, its rights and the CustomResourceDefinitions.

```sh
helm install understudy charts/understudy --namespace understudy --create-namespace \\
  --set image.repository=registry.example/understudy --set image.tag=0.1.0
```

On clusters that enforce Pod Security, operator and jobs fit the `restricted` profile; only a sink with a
`hostPath` volume does not.

Upgrading the chart upgrades the CustomResourceDefinitions. Uninstalling it leaves them, and StreamJobs keep
running: their standbys take over without the operator, but are not replaced.
`kubectl delete crd streamjobs.understudy.dev` removes the jobs, too. If two releases share a cluster (each
with its own `watchNamespaces`), only one has `crds.install=true`.

The remaining definitions belong to the release that installed them, so helm refuses to install under another
name or namespace. Give them to the new release first, or install with `crds.install=false`:

```sh
for crd in streamjobs incidents failoverdrills migrations; do
  kubectl annotate --overwrite crd $crd.understudy.dev \\
    meta.helm.sh/release-name=RELEASE meta.helm.sh/release-namespace=NAMESPACE
  kubectl label --overwrite crd $crd.understudy.dev app.kubernetes.io/managed-by=Helm
done
```

## Values

| value | default | what it does |
|---|---|---|
"""


def documented(text: str) -> Iterator[tuple[str, str]]:
    """Each value that has a `# --` comment: its path and what the comment says."""
    path: list[str] = []
    about = ""
    for line in text.splitlines():
        if line.strip().startswith("# --"):
            about = line.strip().removeprefix("# --").strip()
        elif found := KEY.match(line):
            depth = len(found["indent"]) // 2
            path = [*path[:depth], found["key"]]
            if about:
                yield ".".join(path), about
            about = ""


def value_at(values: Any, path: str) -> Any:
    for key in path.split("."):
        values = values[key]
    return values


def readme() -> str:
    text = (CHART / "values.yaml").read_text()
    values = yaml.safe_load(text)
    rows = [
        f"| `{path}` | `{json.dumps(value_at(values, path))}` | {about} |" for path, about in documented(text)
    ]
    return HEAD + "\n".join(rows) + "\n"


def files() -> dict[Path, str]:
    made = {
        CHART / "files" / "crds" / crd.name: crd.read_text()
        for crd in sorted((CHECKOUT / "crds").glob("*.yaml"))
    }
    return {**made, CHART / "README.md": readme()}


def main(arguments: list[str]) -> int:
    stale = [path for path, text in files().items() if not path.exists() or path.read_text() != text]
    for path in stale:
        where = path.relative_to(CHECKOUT)
        if "--check" in arguments:
            print(f"{where} is stale; run charts/generate.py", file=sys.stderr)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files()[path])
            print(f"wrote {where}")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
