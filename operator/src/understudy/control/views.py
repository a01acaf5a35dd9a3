"""What the observations say about one subjob: who leads, who stands by, and whether a standby could take over
now."""

from __future__ import annotations

from dataclasses import dataclass

from understudy.control.lost_pods import Loss, fresh, loss_of
from understudy.control.observed import Lease, Observed, Pod
from understudy.model.ha import Mode
from understudy.model.job import StreamJob, Subjob
from understudy.model.status import STANDBYS, Role
from understudy.protocol.statuspage import InstancePage, State


@dataclass(frozen=True, slots=True)
class SubjobView:
    subjob: Subjob
    lease: Lease | None
    pods: tuple[Pod, ...]
    losses: dict[str, Loss]
    primary: Pod | None
    """The holder of the Lease, if its pod still counts."""
    page: InstancePage | None
    """The primary's page, if it is fresh."""
    ready_standbys: tuple[Pod, ...]

    @property
    def live(self) -> tuple[Pod, ...]:
        return tuple(pod for pod in self.pods if pod.name not in self.losses)

    @property
    def standbys(self) -> tuple[Pod, ...]:
        return tuple(pod for pod in self.live if self.primary is None or pod.name != self.primary.name)

    @property
    def wanted(self) -> int:
        return self.subjob.ha.instances

    @property
    def mode(self) -> Mode:
        """The mode in force: an edit takes effect a little later."""
        return Mode(self.page.mode) if self.page is not None and self.page.mode else self.subjob.ha.mode

    @property
    def standby_role(self) -> Role:
        return STANDBYS[self.mode]

    def role_of(self, pod: Pod) -> Role:
        leads = self.primary is not None and pod.name == self.primary.name
        return Role.PRIMARY if leads else self.standby_role

    @property
    def serving(self) -> bool:
        return self.page is not None and self.page.leads and self.page.state.serves

    @property
    def finished(self) -> bool:
        return self.page is not None and self.page.leads and self.page.state is State.FINISHED

    @property
    def protected(self) -> bool:
        """Whether a ready standby has what it needs to take over."""
        if self.wanted == 1:
            return self.serving
        ready = {pod.name for pod in self.ready_standbys}
        return self.serving and self.page is not None and self.page.protected and self.page.secondary in ready

    @property
    def settled(self) -> bool:
        return len(self.live) == len(self.pods) == self.wanted and self.protected

    @property
    def shares_node(self) -> bool:
        return self.primary is not None and any(pod.node == self.primary.node for pod in self.standbys)

    @property
    def failing_over(self) -> bool:
        """Whether the holder of the Lease is lost and a standby is ready."""
        held = self.lease is not None and self.lease.holder is not None
        return held and self.primary is None and bool(self.ready_standbys)


def view(seen: Observed, subjob: Subjob) -> SubjobView:
    pods = seen.instances(subjob.name)
    losses = {pod.name: loss for pod in pods if (loss := loss_of(seen, pod))}
    lease = seen.lease(subjob.name)
    holder = lease.holder if lease else None
    primary = next((pod for pod in pods if pod.name == holder and pod.name not in losses), None)
    page = seen.instance_page(holder) if primary and fresh(seen, primary.name) else None
    others = (pod for pod in pods if pod.name not in losses and pod is not primary)
    ready = tuple(pod for pod in others if _stands_by(seen, pod, subjob.ha.mode))
    return SubjobView(subjob, lease, pods, losses, primary, page, ready)


def views(seen: Observed, job: StreamJob) -> tuple[SubjobView, ...]:
    return tuple(view(seen, subjob) for subjob in job.subjobs)


def _stands_by(seen: Observed, pod: Pod, mode: Mode) -> bool:
    """Whether the instance counts as a standby. In replicaBackup the other replica leads, too, and counts as
    one."""
    page = seen.instance_page(pod.name) if fresh(seen, pod.name) else None
    if page is None or not page.state.serves:
        return False
    return not page.leads or (page.mode or mode) == Mode.REPLICA_BACKUP
