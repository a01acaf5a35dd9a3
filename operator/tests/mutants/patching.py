"""Puts a mutant, or probes, into the modules that are loaded: every function gets its changed code."""

from __future__ import annotations

import ast
import gc
import hashlib
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType
from typing import TypeAlias

import understudy
from tests.mutants.sites import Mutant, mutants, source, tree_with, tree_with_probes

PACKAGE = Path(understudy.__file__).parent
FOLDERS = ("protocol", "modes")
PROBE = "_seen"
Value: TypeAlias = tuple[str, int, bool | None]
"""File, node and whether the expression was true; None if it is neither."""


def files() -> list[str]:
    return sorted(f"{folder}/{path.name}" for folder in FOLDERS for path in (PACKAGE / folder).glob("*.py"))


def all_mutants() -> list[Mutant]:
    """Their modules are loaded."""
    for file in files():
        import_module(_module(file))
    return [mutant for file in files() for mutant in mutants(PACKAGE / file, file)]


def fingerprint(file: str) -> str:
    return hashlib.sha256(source(PACKAGE / file).encode()).hexdigest()[:12]


def put(mutant: Mutant) -> None:
    _replace(mutant.file, tree_with(PACKAGE / mutant.file, mutant))


def put_probes(among: Iterable[Mutant], tell: Callable[[Value], object]) -> None:
    nodes: dict[str, set[int]] = {}
    for mutant in among:
        nodes.setdefault(mutant.file, set()).add(mutant.node)
    for file, wanted in nodes.items():
        vars(sys.modules[_module(file)])[PROBE] = _probe(file, tell)
        _replace(file, tree_with_probes(PACKAGE / file, wanted, PROBE))


def _probe(file: str, tell: Callable[[Value], object]) -> Callable[[int, object], object]:
    def probe(node: int, value: object) -> object:
        try:
            truth = bool(value)
        except ValueError:  # an array is neither
            tell((file, node, None))
        else:
            tell((file, node, truth))
        return value

    return probe


def _module(file: str) -> str:
    return "understudy." + file.removesuffix(".py").replace("/", ".")


def _replace(file: str, tree: ast.Module) -> None:
    path = str(PACKAGE / file)
    new = {_name(code): code for code in _codes(compile(tree, path, "exec"))}
    for function in (found for found in gc.get_objects() if isinstance(found, FunctionType)):
        if function.__code__.co_filename == path and _name(function.__code__) in new:
            function.__code__ = new[_name(function.__code__)]


def _name(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def _codes(code: CodeType) -> Iterator[CodeType]:
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield const
            yield from _codes(const)
