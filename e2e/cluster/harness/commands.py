"""What the executables beside this package do, one function each."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path

from . import control, daemons, images, lifecycle, network, nodes, pods, toolchain
from .archives import Archive
from .layout import OUTER_NETNS, Layout
from .terminal import lacking, say, step


def _parser(doc: str) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)


def _as_root() -> None:
    os.environ["PATH"] = f"{os.environ.get('PATH', '')}:{toolchain.SYSTEM_PATH}"
    if os.geteuid() != 0:
        lacking("this needs root: namespaces, mounts and control groups")


def _inside() -> Layout:
    """For commands on a running cluster."""
    _as_root()
    if not network.exists(OUTER_NETNS):
        raise SystemExit("the cluster is not up: run e2e/cluster/up")
    network.enter(OUTER_NETNS)
    return Layout.default()


def build() -> None:
    """Install and build all that the cluster needs, and print the folder of the programs.

    The first time takes about a quarter of an hour on two cores, a second time nothing.
    """
    _parser(build.__doc__ or "").parse_args()
    _as_root()
    print(toolchain.build())


def up() -> None:
    """Start the cluster unless it is up and healthy, and print the path of its kubeconfig."""
    parser = _parser(up.__doc__ or "")
    parser.add_argument(
        "archives", nargs="*", type=Path, metavar="IMAGE.tar", help="load these into every node"
    )
    archives = parser.parse_args().archives
    _as_root()
    layout = Layout.default()
    lifecycle.up(layout, toolchain.build(), _read(archives))
    print(layout.kubeconfig)


def down() -> None:
    """Take the cluster down and leave nothing of it behind. Quiet if there is none."""
    _parser(down.__doc__ or "").parse_args()
    _as_root()
    lifecycle.down(Layout.default())


def run() -> None:
    """Run a command inside the cluster's network, with KUBECONFIG set and kubectl and helm on PATH."""
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        raise SystemExit(f"usage: run COMMAND [ARGUMENT …]\n\n{run.__doc__}")
    layout = _inside()
    os.environ["KUBECONFIG"] = str(layout.kubeconfig)
    os.environ["PATH"] = f"{toolchain.built()}:{os.environ['PATH']}"
    try:
        os.execvp(sys.argv[1], sys.argv[1:])
    except OSError as error:
        raise SystemExit(f"cannot run {sys.argv[1]}: {error.strerror}") from None


def load() -> None:
    """Import image archives into every node, in parallel; nodes that already have an image are skipped."""
    parser = _parser(load.__doc__ or "")
    parser.add_argument("archives", nargs="+", type=Path, metavar="IMAGE.tar")
    archives = parser.parse_args().archives
    layout = _inside()
    with step("loading images"):
        images.load(layout, _read(archives))


def _read(paths: list[Path]) -> list[Archive]:
    for path in paths:
        if not path.is_file():
            raise SystemExit(f"no such archive: {path}")
    return [Archive.read(path) for path in paths]


def node() -> None:
    """Faults of one node, and their ends.

    kill        SIGKILL to every process of the node: kubelet, containerd, kube-proxy and all pods
    lose        the same with the cable out first, as in a power cut: silence, no closed connections
    start       boot a dead node with its disk as it was, and wait until it is ready
    partition   pull the node's cable; everything on it lives on
    heal        plug it in again
    stop-pod, continue-pod, kill-pod [NAMESPACE/]POD
                SIGSTOP, SIGCONT or SIGKILL to every process of one pod
    """
    parser = _parser(node.__doc__ or "")
    parser.add_argument("name")
    parser.add_argument("fault", choices=["kill", "lose", "start", "partition", "heal", *pods.SIGNALS])
    parser.add_argument("pod", nargs="?")
    args = parser.parse_args()
    layout = _inside()
    target = layout.node(args.name)
    match args.fault:
        case "kill":
            nodes.kill(layout, target)
        case "lose":
            nodes.lose(layout, target)
        case "start":
            nodes.start(layout, target, toolchain.built(), images.pause_archive())
        case "partition" | "heal":
            network.plug(target, up=args.fault == "heal")
        case command if args.pod:
            pods.fault(layout, target, command, args.pod)
        case command:
            parser.error(f"{command} needs a pod")


def apiserver() -> None:
    """The API server's faults: stop kills it, pause freezes it; start and resume wait until it is ready."""
    parser = _parser(apiserver.__doc__ or "")
    parser.add_argument("fault", choices=["stop", "start", "pause", "resume"])
    args = parser.parse_args()
    layout = _inside()
    match args.fault:
        case "stop":
            control.stop_apiserver(layout)
        case "start":
            control.start_apiserver(layout, toolchain.built())
        case "pause":
            daemons.send(layout, "apiserver", signal.SIGSTOP)
        case "resume":
            daemons.send(layout, "apiserver", signal.SIGCONT)
            control.start_apiserver(layout, toolchain.built())


COMMANDS = {command.__name__: command for command in (build, up, down, run, load, node, apiserver)}


def main(name: str) -> None:
    try:
        COMMANDS[name]()
    except subprocess.CalledProcessError as error:
        command = " ".join(map(str, error.cmd))
        raise SystemExit(f"failed: {command}\n{(error.stderr or b'').decode()}") from None
    except KeyboardInterrupt:
        say("\ninterrupted")
        sys.exit(130)
