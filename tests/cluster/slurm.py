"""A real Slurm on this machine: munged, slurmctld, and a slurmd for each of some pretended nodes, all in one folder.

Every process that belongs to it, tasks of jobs too, has the path of its slurm.conf in its environment, and those of a node
have the node's name: so they are found, and nothing else is ever killed.
"""

import contextlib
import getpass
import os
import pathlib
import signal
import socket
import subprocess
import time

CONF = """\
ClusterName=gnomon
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerType=sched/builtin
SlurmdParameters=config_overrides
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=5
SlurmdTimeout=6
ReturnToService=2
NodeName=node[1-{nodes}] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[{first}-{last}] CPUs=1 RealMemory=2000
PartitionName=all Nodes=ALL Default=YES State=UP PriorityTier=1
PartitionName=urgent Nodes=ALL State=UP PriorityTier=2 PreemptMode=OFF
"""
# cred_expire: how long a requeued job waits at least. SlurmdTimeout: after which a node that says nothing is down.
# ReturnToService: a node that comes back is used again, whatever it had.


def free_ports(n):
    """`n` ports in a row that nobody listens on now."""
    for first in range(20000 + os.getpid() % 10000, 65000 - n, n):
        try:
            for port in range(first, first + n):
                with socket.socket() as s:
                    s.bind(("127.0.0.1", port))
            return list(range(first, first + n))
        except OSError:
            continue
    raise AssertionError("no free ports")


def wait_until(condition, seconds, what):
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.05)
    return value


def environment_of(pid):
    try:
        words = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:  # it has ended
        return {}
    return dict(word.decode(errors="replace").split("=", 1) for word in words if b"=" in word)


class Slurm:
    def __init__(self, folder, nodes=2):
        self.folder, self.daemons = pathlib.Path(folder), {}
        self.folder.chmod(0o755)  # munged refuses a socket that others cannot reach
        self.nodes = [f"node{n}" for n in range(1, nodes + 1)]
        ports = free_ports(nodes + 1)
        self.conf = self.folder / "slurm.conf"
        self.conf.write_text(CONF.format(folder=folder, user=getpass.getuser(), nodes=nodes, ports=ports, first=ports[1], last=ports[-1]))
        self.environment = os.environ | {"SLURM_CONF": str(self.conf)}
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        self.start()

    def start(self):
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        at = {name: f"--{name}-file={self.folder}/munge.{name}" for name in ("key", "pid", "log", "seed")}
        self.daemon("munged", "--foreground", "--force", f"--socket={self.folder}/munge.socket", *at.values())
        wait_until((self.folder / "munge.socket").exists, 20, "munged listens")
        self.daemon("slurmctld", "-D", "-c")
        for node in self.nodes:
            self.start_node(node)
        self.wait_for_nodes()

    def daemon(self, name, *arguments, **environment):
        with open(self.folder / f"{environment.get('SLURMD_NODENAME', name)}.log", "ab") as log:
            return subprocess.Popen([name, *arguments], env=self.environment | environment, stdin=subprocess.DEVNULL, stdout=log,
                                    stderr=log, start_new_session=True)

    def start_node(self, node):
        self.daemons[node] = self.daemon("slurmd", "-D", "-N", node, SLURMD_NODENAME=node)

    def wait_for_nodes(self):
        wait_until(lambda: all(self.state(node) in ("IDLE", "MIXED", "ALLOCATED") for node in self.nodes), 60, "all nodes are up")

    # --- What it is asked

    def ask(self, *command):
        return subprocess.run(command, env=self.environment, capture_output=True, text=True, check=True, timeout=60).stdout

    def state(self, node):
        """Such as IDLE or DOWN; empty while the controller does not answer."""
        shown = subprocess.run(["scontrol", "show", "node", node, "-o"], env=self.environment, capture_output=True, text=True).stdout
        return shown.partition("State=")[2].split(" ")[0].split("+")[0].rstrip("*")

    def jobs(self):
        """What the controller remembers of each job and task: JobId, JobState, Restarts, NodeList, …"""
        lines = self.ask("scontrol", "show", "job", "-o").splitlines()
        return [dict(word.split("=", 1) for word in line.split(" ") if "=" in word) for line in lines if line.startswith("JobId=")]

    def wait_for_the_end(self, seconds):
        wait_until(lambda: not self.ask("squeue", "-h"), seconds, "all jobs have ended")

    # --- What happens to it

    def processes(self, **having):
        """Those of this cluster, with these variables, but for ended ones."""
        pids = [int(p.name) for p in pathlib.Path("/proc").iterdir() if p.name.isdigit()]
        wanted = {"SLURM_CONF": str(self.conf)} | having
        return [pid for pid in pids if wanted.items() <= environment_of(pid).items()]

    def kill_node(self, node):
        """As a power cut: slurmd, and all that it has started."""
        while self.signal(node, signal.SIGKILL):
            self.daemons[node].poll()  # it leaves the table of processes

    def signal(self, node, number):
        """To all that the node has started; how many that were."""
        pids = self.processes(SLURMD_NODENAME=node)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        return len(pids)

    def lose_contact(self, node):
        """As a broken network: slurmd is gone, its tasks go on."""
        self.daemons[node].kill()
        self.daemons[node].wait()

    def end(self):
        while pids := self.processes():
            for pid in pids:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            for daemon in self.daemons.values():
                daemon.poll()
            time.sleep(0.05)
