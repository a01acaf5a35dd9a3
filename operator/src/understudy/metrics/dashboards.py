"""The two Grafana dashboards that the chart installs: one for the fleet, one for a job."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final

from understudy.metrics.grafana import Dashboard, Unit, lines, number, table, to_json

FOLDER: Final = "charts/understudy/files/dashboards"

_BY_JOB: Final = "namespace, streamjob"
_NAME: Final = "{{namespace}}/{{streamjob}}"
_RATE: Final = "[$__rate_interval]"


def _quantile(share: float, family: str, by: str, function: str) -> str:
    return f"histogram_quantile({share}, sum by (le, {by}) ({function.format(family + '_bucket')}))"


# ---- the fleet -------------------------------------------------------------------------------------------

FLEET: Final = Dashboard(
    "fleet",
    "understudy: fleet",
    {
        "Is everything safe?": (
            number("Jobs", "Jobs that the operator looks at.", "count(understudy_ready)"),
            number(
                "Not ready", "Jobs whose output stands still.", "count(understudy_ready == 0) or vector(0)"
            ),
            number(
                "Unprotected subjobs",
                "Subjobs whose standby is not ready to take over.",
                "count(understudy_protected == 0) or vector(0)",
            ),
            number(
                "Failovers in a day",
                "Take-overs after a failure.",
                "round(sum(increase(understudy_failovers_total[1d])) or vector(0))",
            ),
            number(
                "Tuples lost in a day",
                "Tuples that take-overs could not recover.",
                "round(sum(increase(understudy_tuples_lost_total[1d])))",
            ),
            number(
                "Operators that lead",
                "One, unless there are several releases.",
                "sum(understudy_leader)",
            ),
        ),
        "Jobs": (
            table(
                "Mode, guarantee and state",
                "What each subjob promises now.",
                "understudy_subjob_info",
            ),
            table(
                "Degraded",
                "Jobs that need a look, and why. Empty if all is well.",
                "understudy_degraded",
            ),
            lines(
                "Protected subjobs",
                "Share of a job's subjobs whose standby is ready.",
                ("avg by (namespace, streamjob) (understudy_protected)", _NAME),
            ),
            lines(
                "A failure now would replay",
                "The worst subjob of each job.",
                (
                    "max by (namespace, streamjob) (understudy_if_failed_now_replay_seconds)",
                    _NAME,
                ),
                unit=Unit.SECONDS,
            ),
            lines(
                "Greatest lag of a consumer",
                "Measured by the producers, so a consumer that hangs is included.",
                (
                    "max by (namespace, streamjob) (understudy_consumer_lag_seconds)",
                    _NAME,
                ),
                unit=Unit.SECONDS,
            ),
            lines(
                "Tuples written by sinks",
                "Per second.",
                (
                    f"sum by ({_BY_JOB}) (rate(understudy_sink_tuples_written_total{_RATE}))",
                    _NAME,
                ),
                unit=Unit.PER_SECOND,
            ),
        ),
        "Failures": (
            lines(
                "Failovers by cause",
                "In the last hour.",
                ("sum by (cause, class) (increase(understudy_failovers_total[1h]))", "{{cause}}, {{class}}"),
            ),
            lines(
                "Recovery",
                "How long output stood still in the take-overs of the last day.",
                (
                    _quantile(0.5, "understudy_recovery_seconds", "mode", "increase({}[1d])"),
                    "half of them, {{mode}}",
                ),
                (
                    _quantile(0.95, "understudy_recovery_seconds", "mode", "increase({}[1d])"),
                    "95 %, {{mode}}",
                ),
                unit=Unit.SECONDS,
            ),
            lines(
                "Incidents by role",
                "Failures of primaries, standbys and sinks in the last hour.",
                ("sum by (role) (increase(understudy_incidents_total[1h]))", "{{role}}"),
            ),
            lines(
                "Drills",
                "That ended in the last day.",
                ("sum by (result) (increase(understudy_drills_total[1d]))", "{{result}}"),
            ),
        ),
        "The operator": (
            lines(
                "Duration of a look",
                "95 % of the looks are faster.",
                (
                    _quantile(0.95, "understudy_reconcile_seconds", "kind", f"rate({{}}{_RATE})"),
                    "{{kind}}",
                ),
                unit=Unit.SECONDS,
            ),
            lines(
                "Looks that failed",
                "In the last 10 minutes.",
                (
                    "sum by (kind, error) (increase(understudy_reconcile_errors_total[10m]))",
                    "{{kind}} {{error}}",
                ),
            ),
            lines(
                "Certificates end in",
                "A certificate is replaced when a third of its life is left.",
                (
                    f"min by ({_BY_JOB}) (understudy_certificate_expiry_timestamp_seconds) - time()",
                    _NAME,
                ),
                unit=Unit.SECONDS,
            ),
        ),
    },
)

# ---- a job -----------------------------------------------------------------------------------------------

_OPERATOR: Final = '{namespace="$namespace",streamjob="$streamjob"}'


def _rate(family: str, by: str) -> str:
    return f"max by ({by}) (rate({family}{_OPERATOR}{_RATE}))"


JOB: Final = Dashboard(
    "job",
    "understudy: job",
    {
        "Is it safe?": (
            number(
                "Ready",
                "Every subjob has a primary that serves, and every sink runs.",
                f"understudy_ready{_OPERATOR}",
                Unit.YES_NO,
            ),
            number(
                "Protected",
                "Every standby is ready to take over now.",
                f"min(understudy_protected{_OPERATOR})",
                Unit.YES_NO,
            ),
            number(
                "A failure now would replay",
                "The worst subjob.",
                f"max(understudy_if_failed_now_replay_seconds{_OPERATOR})",
                Unit.SECONDS,
            ),
            number(
                "A failure now would lose",
                "Tuples, of all subjobs together.",
                f"sum(understudy_if_failed_now_lost_tuples{_OPERATOR})",
            ),
            number(
                "Failovers in a day",
                "Take-overs after a failure.",
                f"round(sum(increase(understudy_failovers_total{_OPERATOR}[1d])) or vector(0))",
            ),
            number(
                "Tuples lost in a day",
                "Tuples that take-overs could not recover.",
                f"round(sum(increase(understudy_tuples_lost_total{_OPERATOR}[1d])))",
            ),
        ),
        "Flow": (
            lines(
                "Tuples in",
                "Per second, at the primary of each subjob.",
                (_rate("understudy_tuples_in_total", "subjob, input"), "{{input}} → {{subjob}}"),
                unit=Unit.PER_SECOND,
            ),
            lines(
                "Tuples out",
                "Per second, of each stream; and what sinks write.",
                (_rate("understudy_tuples_out_total", "stream"), "{{stream}}"),
                (_rate("understudy_sink_tuples_written_total", "sink"), "sink {{sink}}"),
                unit=Unit.PER_SECOND,
            ),
            lines(
                "Lag of consumers",
                "How long the oldest tuple that a consumer has not taken has been in the queue.",
                (
                    f"max by (stream, consumer) (understudy_consumer_lag_seconds{_OPERATOR})",
                    "{{stream}} → {{consumer}}",
                ),
                unit=Unit.SECONDS,
            ),
            lines(
                "Input that waits",
                "Tuples that have arrived and are not processed. For a source this is its lag.",
                (
                    f"max by (subjob, input) (understudy_input_waiting_tuples{_OPERATOR})",
                    "{{input}} → {{subjob}}",
                ),
            ),
            lines(
                "Output queues",
                "In memory and on disk.",
                (f"max by (stream) (understudy_queue_bytes{_OPERATOR})", "{{stream}}"),
                (f"max by (stream) (understudy_queue_disk_bytes{_OPERATOR})", "{{stream}} on disk"),
                unit=Unit.BYTES,
            ),
            lines(
                "Full queues",
                "1 while a micro-batch waits for room.",
                (f"max by (stream) (understudy_queue_full{_OPERATOR})", "{{stream}}"),
            ),
        ),
        "Processes": (
            table(
                "Instances",
                "Role, mode and state of each.",
                f"understudy_instance_info{_OPERATOR}",
            ),
            lines(
                "Median micro-batch",
                "Of the newest micro-batches.",
                (f"understudy_micro_batch_median_seconds{_OPERATOR}", "{{pod}}"),
                unit=Unit.SECONDS,
            ),
            lines(
                "Silence of the engine",
                "Seconds without a sign of life. At its timeout the engine counts as stalled.",
                (f"understudy_engine_quiet_seconds{_OPERATOR}", "{{pod}}"),
                (f"understudy_engine_timeout_seconds{_OPERATOR}", "timeout of {{pod}}"),
                unit=Unit.SECONDS,
            ),
            lines(
                "Age of the newest checkpoint",
                "Modes with checkpoints only.",
                (f"time() - understudy_checkpoint_timestamp_seconds{_OPERATOR}", "{{pod}}"),
                unit=Unit.SECONDS,
            ),
            lines(
                "Sent for availability",
                "Bytes of checkpoints and of acks per second.",
                (_rate("understudy_checkpoint_sent_bytes_total", "pod"), "checkpoints of {{pod}}"),
                (_rate("understudy_ack_sent_bytes_total", "pod"), "acks of {{pod}}"),
                unit=Unit.BYTES_PER_SECOND,
            ),
            lines(
                "Stands still, or overloaded",
                "1 while it is so.",
                (f"understudy_engine_stalled{_OPERATOR}", "engine of {{pod}}"),
                (f"understudy_sink_stalled{_OPERATOR}", "disk of sink {{sink}}"),
                (f"understudy_overloaded{_OPERATOR}", "{{pod}} is overloaded"),
            ),
        ),
        "Failures": (
            lines(
                "Protected, by subjob",
                "Whether a standby is ready to take over.",
                (f"understudy_protected{_OPERATOR}", "{{subjob}}"),
            ),
            lines(
                "A failure now would replay, by subjob",
                "What a take-over at this moment would cost.",
                (f"understudy_if_failed_now_replay_seconds{_OPERATOR}", "{{subjob}}"),
                unit=Unit.SECONDS,
            ),
            lines(
                "Failovers",
                "In the last hour.",
                (
                    f"sum by (subjob, cause) (increase(understudy_failovers_total{_OPERATOR}[1h]))",
                    "{{subjob}}: {{cause}}",
                ),
            ),
            lines(
                "Tuples of take-overs",
                "Replayed, sent twice and lost in the last hour.",
                (f"sum(increase(understudy_tuples_replayed_total{_OPERATOR}[1h]))", "replayed"),
                (f"sum(increase(understudy_tuples_duplicated_total{_OPERATOR}[1h]))", "sent twice"),
                (f"sum(increase(understudy_tuples_lost_total{_OPERATOR}[1h]))", "lost"),
            ),
        ),
    },
    of_job=True,
)

DASHBOARDS: Final = (FLEET, JOB)


def dashboard_files() -> Mapping[str, str]:
    """Path in the repository → JSON."""
    return {f"{FOLDER}/{each.name}.json": json.dumps(to_json(each), indent=1) + "\n" for each in DASHBOARDS}
