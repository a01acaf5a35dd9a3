"""The pods of a job: restricted, read-only but for scratch, and placed apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from understudy.control import names
from understudy.control.intents import CreateInstance, CreateSink, CreateTrial
from understudy.control.observed import Spread
from understudy.kubernetes.executors import executors_told
from understudy.kubernetes.objects import Owner, source_folder
from understudy.kubernetes.settings import PodSettings
from understudy.model.elements import functions_of
from understudy.model.job import StreamJob, Subjob
from understudy.model.outside import OutsideKind
from understudy.model.sinks import Sink
from understudy.model.sources import Source
from understudy.model.status import Role
from understudy.model.value import mebibytes
from understudy.process.credentials import FOLDER

Json = dict[str, Any]

USER: Final = 10001
MANIFEST: Final = "/etc/understudy/job.yaml"
OUTPUT: Final = "/output"
CREDENTIALS: Final = "/etc/understudy-credentials"
CODE: Final = "/etc/understudy-code"
GRACE_SECONDS: Final = 10

# By these annotations many set-ups of Prometheus find their targets.
SCRAPED: Final = {
    "prometheus.io/scrape": "true",
    "prometheus.io/port": str(names.STATUS_PORT),
    "prometheus.io/path": "/metrics",
}

RESTRICTED: Final[Json] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
    "runAsNonRoot": True,
}
# A folder of the node belongs to root; this one step gives it to the sink's user. Other volumes get it by
# fsGroup.
GIVE_AWAY: Final[Json] = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"], "add": ["CHOWN"]},
    "readOnlyRootFilesystem": True,
    "runAsNonRoot": False,
    "runAsUser": 0,
}


def instance_pod(owner: Owner, job: StreamJob, intent: CreateInstance, settings: PodSettings) -> Json:
    subjob = job.subjob(intent.subjob)
    if subjob is None:
        raise LookupError(f"there is no subjob {intent.subjob}")
    labels = {names.SUBJOB: subjob.name, names.ROLE: str(intent.role), names.INSTANCE: intent.name}
    labels |= {names.SHARES: "true"} if intent.spread is Spread.PREFERRED else {}
    sources = [s for s in job.sources if s.name in subjob.inputs and s.origin.pod_volume]
    spec = _spec(owner, intent.revision, settings, intent.avoid, intent.prefer)
    spec["restartPolicy"] = "Always"  # a process that dies is restarted in its pod, as a standby
    spec["affinity"]["podAntiAffinity"] = _apart(owner, names.SUBJOB, subjob.name, intent.spread)
    spec["containers"] = [_instance_container(owner, subjob, sources, settings)]
    spec["volumes"] += [{"name": f"source-{s.name}", **_volume(s)} for s in sources]
    _give_code(spec, subjob)
    _give_secrets(owner, spec, [s.origin for s in job.sources if s.name in subjob.inputs])
    _give_credentials(owner, spec, intent.certificate)
    if subjob.spark.executors.instances:
        (container,) = spec["containers"]
        container["env"].append(executors_told(owner.namespace, owner.name, subjob, settings, spec))
    annotations = _annotations(intent, settings) | {names.SPREAD: str(intent.spread)}
    return _pod(owner, intent.name, labels, annotations, spec)


def trial_pod(owner: Owner, job: StreamJob, intent: CreateTrial, settings: PodSettings) -> Json:
    """A pod that contains only what the scheduler looks at, and an image to be pulled."""
    subjob = job.subjob(intent.subjob)
    if subjob is None:
        raise LookupError(f"there is no subjob {intent.subjob}")
    spec = _surroundings(settings, intent.avoid)
    spec |= {
        "restartPolicy": "Always",
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 0,
    }
    spec["affinity"]["podAntiAffinity"] = _apart(owner, names.TRIAL, subjob.name, Spread.PREFERRED)
    spec["containers"] = [
        {
            "name": "trial",
            "image": settings.image,
            "imagePullPolicy": settings.image_pull_policy,
            "command": ["sleep", "infinity"],
            "resources": _driver_resources(subjob, settings),
            "securityContext": RESTRICTED,
        }
    ]
    return _pod(owner, intent.name, {names.TRIAL: subjob.name}, {names.SETTINGS: intent.asks}, spec)


def sink_pod(owner: Owner, job: StreamJob, intent: CreateSink, settings: PodSettings) -> Json:
    sink = job.sink(intent.sink)
    if sink is None:
        raise LookupError(f"there is no sink {intent.sink}")
    labels = {names.SINK: sink.name, names.ROLE: str(Role.SINK), names.INSTANCE: intent.name}
    volume = dict(sink.target.pod_volume or {"emptyDir": {}})
    spec = _spec(owner, intent.revision, settings, frozenset())
    spec["affinity"] = _where_a_sink_goes(owner, sink, intent.avoid)
    spec["restartPolicy"] = "OnFailure"  # it ends with 0 when its stream has ended
    spec["containers"] = [_sink_container(owner, sink, intent.life, settings)]
    spec["volumes"].append({"name": "output", **volume})
    if "hostPath" in volume:
        spec["initContainers"] = [_give_away(settings)]
        spec["securityContext"].pop("runAsNonRoot")
    _give_credentials(owner, spec, intent.certificate)
    _give_secrets(owner, spec, [sink.target])
    return _pod(owner, intent.name, labels, _annotations(intent, settings), spec)


def _pod(
    owner: Owner, name: str, labels: Mapping[str, str], annotations: Mapping[str, str], spec: Json
) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": owner.metadata(name, labels, annotations),
        "spec": spec,
    }


def _annotations(intent: CreateInstance | CreateSink, settings: PodSettings) -> dict[str, str]:
    own = {
        names.REVISION: intent.revision,
        names.QUERY: intent.digests.query,
        names.SETTINGS: intent.digests.settings,
        names.CERTIFICATE: str(intent.certificate),
    }
    return {**own, **SCRAPED} if settings.scrape_annotations else own


def _give_code(spec: Json, subjob: Subjob) -> None:
    """Adds the modules of its Python functions that are in ConfigMaps."""
    given = sorted({function.config_map for function in functions_of(subjob) if function.config_map})
    if not given:
        return
    (container,) = spec["containers"]
    spec["volumes"] += [{"name": f"code-{name}", "configMap": {"name": name}} for name in given]
    folders = {f"code-{name}": f"{CODE}/{name}" for name in given}
    container["volumeMounts"] += [
        {"name": n, "mountPath": path, "readOnly": True} for n, path in folders.items()
    ]
    container["env"].append({"name": "PYTHONPATH", "value": ":".join(folders.values())})


def _give_secrets(owner: Owner, spec: Json, kinds: Sequence[OutsideKind]) -> None:
    """Mounts the keys that these sources or sinks need of the user's Secrets, and tells the pod the identity
    of the job. A key that its Secret lacks is left out; the process says what it lacks."""
    (container,) = spec["containers"]
    identity = f"understudy.{owner.namespace}.{owner.name}.{owner.uid[:8]}"
    container["env"].append({"name": names.IDENTITY, "value": identity})
    wanted = {kind.secret: kind.secret_keys for kind in kinds if kind.secret is not None}
    for place, (name, keys) in enumerate(sorted(wanted.items())):
        volume, where = f"secret-{place}", f"{names.SECRETS}/{name}"
        items = [{"key": key, "path": key} for key in keys]
        secret = {"secretName": name, "defaultMode": 0o440, "items": items, "optional": True}
        spec["volumes"].append({"name": volume, "secret": secret})
        container["volumeMounts"].append({"name": volume, "mountPath": where, "readOnly": True})


def _give_credentials(owner: Owner, spec: Json, number: int) -> None:
    """Adds the certificate that the pod shows to other pods of its job, and requires of them."""
    if not number:
        return
    secret = {"secretName": names.certificate(owner.name, number), "defaultMode": 0o440}
    spec["volumes"].append({"name": "credentials", "secret": secret})
    (container,) = spec["containers"]
    container["volumeMounts"].append({"name": "credentials", "mountPath": CREDENTIALS, "readOnly": True})
    container["env"].append({"name": FOLDER, "value": CREDENTIALS})


def _volume(source: Source) -> Json:
    return dict(source.origin.pod_volume or {})


# ---- what all pods share ---------------------------------------------------------------------------------


def _spec(
    owner: Owner, revision: str, settings: PodSettings, avoid: frozenset[str], prefer: str | None = None
) -> Json:
    return {
        **_surroundings(settings, avoid, prefer),
        "serviceAccountName": names.account(owner.name),
        "automountServiceAccountToken": True,
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "volumes": [
            {"name": "manifest", "configMap": {"name": names.manifest(owner.name, revision)}},
            {"name": "work", "emptyDir": {}},
            {"name": "tmp", "emptyDir": {}},
        ],
    }


def _surroundings(settings: PodSettings, avoid: frozenset[str], prefer: str | None = None) -> Json:
    """The nodes on which it may run, and its user."""
    return {
        "enableServiceLinks": False,
        "imagePullSecrets": [{"name": name} for name in settings.image_pull_secrets],
        "nodeSelector": dict(settings.node_selector),
        "tolerations": [dict(toleration) for toleration in settings.tolerations],
        "affinity": _on_nodes(avoid, prefer),
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }


def _on_nodes(avoid: frozenset[str], prefer: str | None) -> Json:
    def term(operator: str, nodes: Iterable[str]) -> Json:
        key = "kubernetes.io/hostname"
        return {"matchExpressions": [{"key": key, "operator": operator, "values": sorted(nodes)}]}

    found: Json = {}
    if avoid:
        found["requiredDuringSchedulingIgnoredDuringExecution"] = {
            "nodeSelectorTerms": [term("NotIn", avoid)]
        }
    if prefer:
        wish = {"weight": 100, "preference": term("In", [prefer])}
        found["preferredDuringSchedulingIgnoredDuringExecution"] = [wish]
    return {"nodeAffinity": found} if found else {}


def _where_a_sink_goes(owner: Owner, sink: Sink, avoid: frozenset[str]) -> Json:
    """Preferences only: its volume may be bound to a node. The loss of a node should not take both the sink
    and its producer."""
    found: Json = {"podAntiAffinity": _apart(owner, names.SUBJOB, sink.input, Spread.PREFERRED)}
    if avoid:
        other = {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": sorted(avoid)}
        wish = {"weight": 100, "preference": {"matchExpressions": [other]}}
        found["nodeAffinity"] = {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}
    return found


def _apart(owner: Owner, label: str, subjob: str, spread: Spread) -> Json:
    """Instances that must be apart keep others off their node for as long as they run; an instance that has
    to share a node does not."""
    selector: Json = {"matchLabels": {names.JOB: owner.name, label: subjob}}
    term = {"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}
    match spread:
        case Spread.REQUIRED:
            selector["matchExpressions"] = [{"key": names.SHARES, "operator": "DoesNotExist"}]
            return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        case Spread.PREFERRED:
            return {
                "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 100, "podAffinityTerm": term}]
            }


def _container(
    name: str, arguments: list[str], mounts: list[Json], resources: Json, settings: PodSettings
) -> Json:
    return {
        "name": name,
        "image": settings.image,
        "imagePullPolicy": settings.image_pull_policy,
        "args": [name, "--job", MANIFEST, "--surroundings", "kubernetes", "--host", "$(POD_IP)", *arguments],
        "env": [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        ],
        "resources": resources,
        "securityContext": RESTRICTED,
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [
            {"name": "manifest", "mountPath": "/etc/understudy", "readOnly": True},
            {"name": "work", "mountPath": "/work"},
            {"name": "tmp", "mountPath": "/tmp"},
            *mounts,
        ],
        **_probes(),
    }


def _probes() -> Json:
    """Slow to fail: a restart does not help on a busy machine. Failover does not wait for any of these
    probes."""

    def probe(path: str, period: int, failures: int) -> Json:
        return {
            "httpGet": {"path": path, "port": "status"},
            "periodSeconds": period,
            "timeoutSeconds": 5,
            "failureThreshold": failures,
        }

    return {
        "startupProbe": probe("/healthz", 2, 90),
        "livenessProbe": probe("/healthz", 10, 6),
        "readinessProbe": probe("/readyz", 5, 3),
    }


# ---- instances and sinks ---------------------------------------------------------------------------------


def _instance_container(owner: Owner, subjob: Subjob, sources: list[Source], settings: PodSettings) -> Json:
    ports = ["--port", str(names.FLIGHT_PORT), "--status-port", str(names.STATUS_PORT)]
    arguments = ["--subjob", subjob.name, "--instance", "$(POD_NAME)", "--scratch", "/work/scratch", *ports]
    mounts = [
        {"name": f"source-{s.name}", "mountPath": source_folder(s.name), "readOnly": True} for s in sources
    ]
    container = _container("subjob", arguments, mounts, _driver_resources(subjob, settings), settings)
    container["ports"] = [
        {"name": "flight", "containerPort": names.FLIGHT_PORT},
        {"name": "status", "containerPort": names.STATUS_PORT},
    ]
    return container


def _driver_resources(subjob: Subjob, settings: PodSettings) -> Json:
    driver = subjob.spark.driver
    limit = mebibytes(driver.memory) + settings.memory_overhead_mi
    return {
        "requests": {"cpu": f"{driver.cores * settings.cpu_per_core_milli}m", "memory": driver.memory},
        "limits": {"memory": f"{limit}Mi"},
    }


def _sink_container(owner: Owner, sink: Sink, life: int, settings: PodSettings) -> Json:
    arguments = ["--sink", sink.name, "--output", OUTPUT, "--status-port", str(names.STATUS_PORT)]
    arguments += ["--life", str(life), "--run-id", owner.uid]
    resources = {"requests": {"cpu": "50m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}}
    container = _container("sink", arguments, [{"name": "output", "mountPath": OUTPUT}], resources, settings)
    container["ports"] = [{"name": "status", "containerPort": names.STATUS_PORT}]
    return container


def _give_away(settings: PodSettings) -> Json:
    return {
        "name": "give-away",
        "image": settings.image,
        "imagePullPolicy": settings.image_pull_policy,
        "command": ["chown", f"{USER}:{USER}", OUTPUT],
        "securityContext": GIVE_AWAY,
        "volumeMounts": [{"name": "output", "mountPath": OUTPUT}],
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "64Mi"}},
    }
