"""`understudy operator`: watches StreamJobs and makes the cluster follow them. Run by the chart's Deployment.

Settings come from the environment: UNDERSTUDY_PODS (JSON: image, imagePullPolicy, …), UNDERSTUDY_NAMESPACES
(names separated by spaces; empty for all) and, where several run, UNDERSTUDY_ELECTION (the Lease by which
they elect the one that acts; it is in POD_NAMESPACE, and POD_NAME is who we are), and
UNDERSTUDY_METRICS_PORT (where it answers `GET /metrics`).
"""

from __future__ import annotations

import argparse
import os
import sys


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--liveness",
        metavar="URL",
        default="http://0.0.0.0:8080/healthz",
        help="where to answer that it lives",
    )


def run(args: argparse.Namespace) -> int:
    if "UNDERSTUDY_PODS" not in os.environ:
        print(
            'understudy operator: set UNDERSTUDY_PODS, such as {"image": "understudy:dev"}', file=sys.stderr
        )
        return 3
    import asyncio

    import kopf

    from understudy.kubernetes.handlers import registry
    from understudy.kubernetes.settings import Settings
    from understudy.process.logs import configure

    configure(component="operator")
    settings = Settings.from_environment()
    given_up = asyncio.Event()
    kopf.run(
        registry=registry(settings, given_up.set),
        stop_flag=given_up,
        standalone=True,
        clusterwide=not settings.namespaces,
        namespaces=settings.namespaces,
        liveness_endpoint=args.liveness,
    )
    return 1 if given_up.is_set() else 0
