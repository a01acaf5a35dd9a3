"""Which modules know a kind of source, sink or operator, and which of them CONTRIBUTING lists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import understudy
import understudy_lab

PRODUCT = Path(understudy.__file__).parent
LABORATORY = Path(understudy_lab.__file__).parent
CONTRIBUTING = Path(__file__).parents[3] / "CONTRIBUTING.md"


@cache
def code(package: Path = PRODUCT) -> dict[str, list[ast.AST]]:
    """Every node of every module."""
    modules = {str(path.relative_to(package)): path.read_text() for path in package.rglob("*.py")}
    return {module: list(ast.walk(ast.parse(text))) for module, text in modules.items()}


def naming(kind: type, package: Path = PRODUCT) -> set[str]:
    """Modules whose code uses this name."""
    return {
        module
        for module, nodes in code(package).items()
        if any(isinstance(node, ast.Name) and node.id == kind.__name__ for node in nodes)
    }


def importing(kind: type, package: Path = PRODUCT) -> set[str]:
    """Modules that import this class, from the module that defines it or from that module's package."""
    homes = kind.__module__.split(".")[-2:]
    return {
        module
        for module, nodes in code(package).items()
        for node in nodes
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[-1] in homes
        if any(alias.name == kind.__name__ for alias in node.names)
    }


def listed(heading: str) -> set[str]:
    """The files of a table of CONTRIBUTING."""
    section = CONTRIBUTING.read_text().split(f"**{heading}.**")[1].split("\n**")[0]
    return set(re.findall(r"^\| `([a-zA-Z/._]+)` \|", section, re.MULTILINE))
