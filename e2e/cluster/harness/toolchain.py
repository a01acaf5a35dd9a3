"""What must be there before a cluster can start: some Debian packages, and programs from pinned Go modules.

They are cached by a key over everything that shapes them. Each is built aside and renamed when whole, and so
is the folder of them all: a build that is cut leaves nothing that looks finished, and the next goes on there.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .layout import HERE, cache_dir
from .terminal import lacking, say, step

KUBERNETES = "v1.35.4"
HELM = "v3.22.0"
GO_NEEDED = (1, 26)
MODULES = HERE / "go"

# What is looked for -> the Debian package that has it. Debian 12's versions are known to work; a machine that
# already has other ones keeps them.
PACKAGES = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "ip": "iproute2",
    "iptables": "iptables",
    "conntrack": "conntrack",
    "nsenter": "util-linux",
    "mount": "mount",
    "sysctl": "procps",
    "openssl": "openssl",
    "busybox": "busybox-static",
    "debootstrap": "debootstrap",
}
PLUGINS = {("/usr/lib/cni/ptp", "/opt/cni/bin/ptp"): "containernetworking-plugins"}
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_KUBE_VERSION = "k8s.io/component-base/version"
_MAJOR, _MINOR, _ = KUBERNETES.removeprefix("v").split(".")
_KUBE_FLAGS = (
    f"-X {_KUBE_VERSION}.gitVersion={KUBERNETES} -X {_KUBE_VERSION}.gitMajor={_MAJOR} "
    f"-X {_KUBE_VERSION}.gitMinor={_MINOR} -X {_KUBE_VERSION}.gitTreeState=clean"
)


@dataclass(frozen=True)
class Binary:
    name: str
    module: str
    package: str
    flags: str = ""


BINARIES = (
    *(
        Binary(name, "kubernetes", f"k8s.io/kubernetes/cmd/{name}", _KUBE_FLAGS)
        for name in (
            *("kube-apiserver", "kube-controller-manager", "kube-scheduler"),
            *("kubelet", "kube-proxy", "kubectl"),
        )
    ),
    Binary("etcd", "kubernetes", "go.etcd.io/etcd/server/v3"),
    Binary("coredns", "coredns", "."),
    Binary("helm", "helm", "helm.sh/helm/v3/cmd/helm", f"-X helm.sh/helm/v3/internal/version.version={HELM}"),
)


def key() -> str:
    digest = hashlib.sha256(repr(BINARIES).encode())
    for source in sorted(MODULES.rglob("*")):
        if source.is_file():
            digest.update(f"{source.relative_to(MODULES)}\0".encode() + source.read_bytes())
    return f"{KUBERNETES}-{digest.hexdigest()[:12]}"


def binaries_dir() -> Path:
    return cache_dir() / "bin" / key()


def built() -> Path:
    """The folder of finished binaries; complains if there is none."""
    folder = binaries_dir()
    if not folder.is_dir() or missing_packages():
        raise SystemExit("the cluster's programs are not built yet: run e2e/cluster/build")
    return folder


def build() -> Path:
    folder = binaries_dir()
    packages = missing_packages()
    if folder.is_dir() and not packages:
        return folder
    total = len(BINARIES) + 1
    with step("installing Debian packages" if packages else "Debian packages are there", f"[1/{total}] "):
        install(packages)
    if not folder.is_dir():
        _check_go()
        with _alone(folder):
            _build_all(folder, total)
    return folder


def _build_all(folder: Path, total: int) -> None:
    if folder.is_dir():
        return  # another build finished while we waited
    aside = folder.with_name(f".{folder.name}.partial")
    aside.mkdir(parents=True, exist_ok=True)
    for number, binary in enumerate(BINARIES, start=2):
        done = (aside / binary.name).exists()
        with step(f"{binary.name} is there" if done else f"building {binary.name}", f"[{number}/{total}] "):
            if not done:
                _go_build(binary, aside / binary.name)
    aside.rename(folder)


def _go_build(binary: Binary, to: Path) -> None:
    flags = f"-s -w {binary.flags}".strip()
    unfinished = to.with_name(f".{to.name}.unfinished")
    environment = {"CGO_ENABLED": "0", "GOFLAGS": "-trimpath -buildvcs=false -mod=readonly", "GOWORK": "off"}
    subprocess.run(
        ["go", "build", "-ldflags", flags, "-o", unfinished, binary.package],
        cwd=MODULES / binary.module,
        env={**os.environ, **environment},
        capture_output=True,
        check=True,
    )
    unfinished.rename(to)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(f".{folder.name}.lock"), "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another build is running: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def missing_packages() -> list[str]:
    missing = {
        package for command, package in PACKAGES.items() if shutil.which(command, path=SYSTEM_PATH) is None
    }
    missing |= {package for files, package in PLUGINS.items() if not any(map(os.path.exists, files))}
    return sorted(missing)


def install(packages: list[str]) -> None:
    if not packages:
        return
    if shutil.which("apt-get") is None:
        lacking(f"not a Debian machine: install what these packages hold yourself: {' '.join(packages)}")
    apt = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=300"]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
        done = subprocess.run([*apt, *command], env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"apt-get {command[0]} failed:\n{done.stderr or done.stdout}")


def _check_go() -> None:
    needed = ".".join(map(str, GO_NEEDED))
    how = f"install Go {needed} or newer from go.dev/doc/install (Debian's golang package is too old)"
    if shutil.which("go") is None:
        lacking(f"Go is needed to build Kubernetes: {how}")
    # Asked inside a module: a Go that fetches newer tool chains by itself counts as the one that it fetches.
    asked = subprocess.run(
        ["go", "env", "GOVERSION"], cwd=MODULES / "helm", capture_output=True, text=True, check=False
    )
    found = re.match(r"go(\d+)\.(\d+)", asked.stdout)
    if found is None or tuple(map(int, found.groups())) < GO_NEEDED:
        lacking(f"{asked.stdout.strip() or 'this Go'} is too old: {how}\n{asked.stderr}")
