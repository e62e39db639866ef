"""A separate Debian: a directory made by debootstrap, for commands in a chroot or as a booted container."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUITE = "bookworm"
# No command takes nearly this long, except a build on a busy machine.
LIMIT_SECONDS = 900
# Waits usually take seconds. A suite with a failing wait must leave time for the others.
WAITING_SECONDS = 300
# Debian's setting for package tests: files need not survive a power failure.
_UNSAFE_IO = "force-unsafe-io\n"


def missing_tools(*tools):
    """Why these tests cannot run here; None if they can."""
    if os.geteuid() != 0:
        return "this needs root: chroot and containers are made"
    missing = [tool for tool in tools if not shutil.which(tool)]
    return f"not installed: {', '.join(missing)}; `make setup-slow-test` installs it" if missing else None


def run(*command, check=True, **options):
    result = subprocess.run(
        [str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_SECONDS, **options
    )
    if check and result.returncode != 0:
        # A package manager prints much, and the end matters most.
        raise AssertionError(f"{command} ended with {result.returncode}:\n{result.stdout[-3000:]}\n{result.stderr[-3000:]}")
    return result


def mirror():
    """The machine's own package sources."""
    listed = run("apt-get", "indextargets", "--format", "$(SITE) $(CODENAME) $(COMPONENT)").stdout.split("\n")
    for line in listed:
        site, *names = line.split()[:3] or [""]
        if names == [SUITE, "main"]:
            return site
    return "http://deb.debian.org/debian"


class Machine:
    """A new Debian made by debootstrap, with further packages."""

    def __init__(self, *packages):
        self._folder = tempfile.TemporaryDirectory(prefix="feedstore-debian-", ignore_cleanup_errors=True)
        self.root = pathlib.Path(self._folder.name) / "root"
        self._booted = None
        # Downloaded packages are cached.
        cache = "/var/cache/apt/archives"
        run(
            "debootstrap", "--variant=minbase", f"--cache-dir={cache}", f"--include={','.join(packages)}", SUITE, self.root, mirror()
        )
        (self.root / "etc/dpkg/dpkg.cfg.d/unsafe-io").write_text(_UNSAFE_IO)

    def close(self):
        try:
            self.halt()
        finally:
            self._folder.cleanup()

    def path(self, path):
        return self.root / path.lstrip("/")

    def run(self, *command, check=True):
        """Runs a command: in the container if it is booted, otherwise in a chroot."""
        if self._booted is None:
            inside = ["chroot", self.root]
        else:
            inside = ["nsenter", "--target", self._init(), "--all", "--"]
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        return run(*inside, *command, check=check, env=environment)

    def apt(self, *arguments, check=True):
        return self.run("apt-get", "--yes", "--no-install-recommends", *arguments, check=check)

    def boot(self):
        """Boots it with systemd, on this machine's network, so that it can reach a local broker."""
        self._log = open(self.root.parent / "boot.log", "wb")
        self._booted = subprocess.Popen(
            [
                "systemd-nspawn", "--quiet", "--boot", "--register=no", "--keep-unit", f"--machine=feedstore-{os.getpid()}",
                f"--directory={self.root}",
            ],
            stdin=subprocess.DEVNULL, stdout=self._log,
            stderr=subprocess.STDOUT, start_new_session=True,
        )
        self.wait_until(lambda: self._init() is not None, "systemd begins")
        running = ("running", "degraded")
        self.wait_until(
            lambda: self.run("systemctl", "is-system-running", check=False).stdout.strip() in running, "systemd has booted"
        )

    def boot_or_skip(self, test):
        """Boots it; skips the test where containers cannot be booted."""
        try:
            self.boot()
        except AssertionError as error:
            if "Operation not permitted" in str(error):
                test.skipTest(f"containers cannot be booted here: {error}")
            raise

    def halt(self):
        if self._booted is None:
            return
        # The first SIGTERM to nspawn shuts the container down.
        self._booted.send_signal(signal.SIGTERM)
        try:
            self._booted.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(self._booted.pid, signal.SIGKILL)
            self._booted.wait()
        self._booted = None
        self._log.close()

    def wait_until(self, holds, what):
        """Polls a condition, because there is no notification."""
        giving_up = time.monotonic() + WAITING_SECONDS
        while not holds():
            if self._booted is not None and self._booted.poll() is not None:
                raise AssertionError(f"{what}: the container ended:\n{(self.root.parent / 'boot.log').read_text(errors='replace')}")
            if time.monotonic() > giving_up:
                raise AssertionError(f"waited {WAITING_SECONDS} s until {what}")
            time.sleep(0.1)

    def _init(self):
        """The id of the container's systemd on this machine; None before it runs."""
        try:
            children = pathlib.Path(f"/proc/{self._booted.pid}/task/{self._booted.pid}/children").read_text().split()
            # Until it has become systemd, it is not in the container's root yet.
            return next((int(child) for child in children if pathlib.Path(f"/proc/{child}/comm").read_text() == "systemd\n"), None)
        except (FileNotFoundError, ProcessLookupError):
            return None
