"""What a hostile task tries, one line each: `REACHED <what>: <how>` or `held <what>`. Its targets are in TARGETS, as JSON."""
import ctypes, json, os, signal, socket, stat, subprocess

T = json.loads(os.environ["TARGETS"])
libc = ctypes.CDLL(None, use_errno=True)
PTRACE_ATTACH, PTRACE_DETACH, KEYCTL_ID, SESSION = 16, 17, 0, -3
FOR_ALL = ("null", "zero", "full", "random", "urandom", "tty", "ptmx")


def attempt(what, work):
    """Reached when the work gives a true value; what the kernel refuses is held."""
    try:
        how = work()
    except BaseException as error:  # noqa: BLE001: whatever it is, it was not reached
        how = None
        if isinstance(error, KeyboardInterrupt):
            raise
    print(f"REACHED {what}: {how}" if how else f"held {what}", flush=True)


def call(number_or_name, *args):
    function = getattr(libc, number_or_name)
    result = function(*args)
    if result < 0:
        raise OSError(ctypes.get_errno(), number_or_name)
    return f"{number_or_name} gave {result}"


def read(path):
    with open(path, "rb") as file:
        return f"{len(file.read(64))} bytes" if os.path.isfile(path) else "opened"


def write(path, text=b"1"):
    with open(path, "ab" if os.path.isfile(path) else "wb") as file:
        file.write(text)
    return "written"


def exists(path):
    return "seen" if os.path.exists(path) else None


def connect(host, port):
    with socket.create_connection((host, port), timeout=2):
        return "connected"


def attach(pid):
    call("ptrace", PTRACE_ATTACH, pid, 0, 0)
    os.waitpid(pid, 0)
    libc.ptrace(PTRACE_DETACH, pid, 0, 0)
    return "attached"


def remote_read(pid):
    buffer = ctypes.create_string_buffer(8)
    class Part(ctypes.Structure):
        _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]
    own, other = Part(ctypes.addressof(buffer), 8), Part(0x400000, 8)
    return call("process_vm_readv", pid, ctypes.byref(own), 1, ctypes.byref(other), 1, 0)


def files():
    for path in T["secrets"]:
        attempt(f"secret {path}", lambda: read(path))
    for path in T["folders"]:
        attempt(f"folder {path}", lambda: ",".join(os.listdir(path)) or None)
    for path in T["victimFiles"]:
        attempt(f"file of another task {path}", lambda: read(path))
    for path in ["/etc/shadow", "/root", "/dev/mem", "/dev/kmsg", *T["disks"]]:
        attempt(f"file {path}", lambda: os.listdir(path) if os.path.isdir(path) else read(path))
    for path in ["/etc/passwd", "/etc/moorage-hostile", "/usr/bin/moorage-hostile", "/moorage-hostile", *T["programs"]]:
        attempt(f"write {path}", lambda: write(path, b""))
    for path in T["left"]:
        attempt(f"what others left at {path}", lambda: exists(path))


def processes():
    for pid in T["pids"]:
        for name in ("environ", "mem", "maps", "cmdline"):
            attempt(f"process {pid} {name}", lambda: read(f"/proc/{pid}/{name}"))
        for name in ("cwd", "root"):
            attempt(f"process {pid} {name}", lambda: os.listdir(f"/proc/{pid}/{name}"))
        attempt(f"process {pid} ptrace", lambda: attach(pid))
        attempt(f"process {pid} its memory", lambda: remote_read(pid))
        attempt(f"process {pid} signal", lambda: os.kill(pid, signal.SIGCONT) or "sent")


def network():
    for host, port in T["ports"]:
        attempt(f"port {host}:{port}", lambda: connect(host, port))
    raw = [(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP), (socket.AF_PACKET, socket.SOCK_RAW, 0x0300)]
    for family, kind, protocol in raw:
        attempt(f"raw socket {family}", lambda: socket.socket(family, kind, protocol) and "made")


def kernel():
    attempt("setuid", lambda: os.setuid(0) or "root")
    attempt("setgroups", lambda: os.setgroups([0]) or "set")
    attempt("mount", lambda: call("mount", b"none", b"/mnt", b"tmpfs", 0, None))
    attempt("umount", lambda: call("umount2", b"/proc", 2))
    attempt("chroot", lambda: os.chroot("/") or "changed")
    attempt("reboot call", lambda: call("reboot", 0))
    attempt("module", lambda: subprocess.run(["modprobe", "dummy"], capture_output=True).returncode == 0)
    attempt("root by a set-uid program", lambda: subprocess.run(["su", "-c", "true"], stdin=subprocess.DEVNULL, capture_output=True).returncode == 0)
    attempt("keys of the agent's session", lambda: own_keys())
    attempt("log of the kernel", lambda: call("klogctl", 3, ctypes.create_string_buffer(64), 64))
    attempt("niceness of a favourite", lambda: os.nice(-5) and "raised")
    for name in ("kernel/core_pattern", "kernel/panic", "kernel/modprobe", "vm/drop_caches", "net/ipv4/ip_forward"):
        attempt(f"setting {name}", lambda: write(f"/proc/sys/{name}"))
    for path in ("/proc/sysrq-trigger", "/proc/irq/default_smp_affinity", "/sys/kernel/uevent_helper", "/sys/power/state"):
        attempt(f"setting {path}", lambda: write(path, b""))
    for base, _, names in os.walk("/sys/fs/cgroup"):
        if base.count("/") > 6 or "cgroup.procs" not in names:
            continue
        for name in ("cgroup.procs", "tasks", "memory.limit_in_bytes", "pids.max", "devices.allow", "cgroup.kill"):
            if name in names:
                attempt(f"group {base}/{name}", lambda: write(f"{base}/{name}", str(os.getpid()).encode()))


def own_keys():
    libc.syscall.restype = ctypes.c_long
    serial = libc.syscall(T["keyctl"], KEYCTL_ID, SESSION, 0)
    return f"ring {serial}" if serial > 0 and serial == T["session"] else None


def devices():
    for base, _, names in os.walk("/dev"):
        for path in (os.path.join(base, name) for name in names):
            mode = os.lstat(path).st_mode
            is_device = stat.S_ISCHR(mode) or stat.S_ISBLK(mode)
            if is_device and not path.startswith("/dev/pts/") and os.path.basename(path) not in FOR_ALL:
                attempt(f"device {path}", lambda: os.open(path, os.O_RDONLY | os.O_NONBLOCK) and "opened")
    for path in T["nodes"]:
        attempt(f"device {path}, by its name", lambda: os.open(path, os.O_RDONLY | os.O_NONBLOCK) and "opened")
    for kind, major, minor in (("c", 1, 1), ("c", 1, 11), ("c", 10, 200), ("c", 10, 229), ("c", 195, 0), ("b", 7, 0), ("b", 8, 0), ("b", 254, 0)):
        mode = 0o600 | (stat.S_IFCHR if kind == "c" else stat.S_IFBLK)
        attempt(f"node of device {kind} {major} {minor}", lambda: os.mknod("node", mode, os.makedev(major, minor)) or "made")


def namespaces():
    """What it may not do as itself it tries as the root of a user namespace of its own."""
    def inside(what, flags, script, *args):
        # Reached when the script says so: that there may be no such namespace is an answer too.
        command = ["unshare", *flags, "sh", "-c", script, "sh", *args]
        attempt(f"by a namespace of its own: {what}", lambda: "yes" in subprocess.run(command, capture_output=True, text=True, timeout=20).stdout and "yes")
    uncover = 'p=$1; while [ "$p" != / ]; do umount -l "$p"; p=$(dirname "$p"); done; [ -e "$1" ] && echo yes'
    for path in T["secrets"][:3]:
        inside(f"what lies under the cover of {path}", ["-Urm"], uncover, path)
    inside("a process of others", ["-Urm"], "umount -l /proc; [ -e /proc/1/environ ] && cat /proc/1/environ && echo yes")
    for pid in T["pids"][:3]:
        inside(f"process {pid} in a new /proc", ["-Urm"], 'mount -t proc none /proc && [ -e "/proc/$1" ] && echo yes', str(pid))
    for name in ("kernel/core_pattern", "kernel/panic", "vm/drop_caches"):
        inside(f"setting {name}", ["-Urm"], f"echo 1 >/proc/sys/{name} && echo yes")
    for kind in ("cgroup", "cgroup2"):
        inside(f"control groups, {kind}", ["-UrmC"], f"mount -t {kind} none /mnt && (echo 0 >/mnt/cgroup.procs || mkdir /mnt/own) && echo yes")
    for host, port in T["ports"]:
        inside(f"port {host}:{port}", ["-Ur"], f"python3 -c 'import socket; socket.create_connection((\"{host}\", {port}), 2)' && echo yes")
    inside("a device", ["-Urm"], "mount -t devtmpfs none /mnt && echo yes; mknod /tmp/node c 1 1 && cat /tmp/node && echo yes")
    inside("another user", ["-Ur"], "su nobody -s /bin/sh -c 'echo yes'")


def bomb():
    """Children until the kernel says no: how many there were."""
    children = []
    try:
        while len(children) < T["bombMax"]:
            pid = os.fork()
            if pid == 0:
                signal.pause()
            children.append(pid)
    except OSError:
        pass
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    for pid in children:
        os.waitpid(pid, 0)
    print(f"{'REACHED' if len(children) >= T['bombMax'] else 'held'} fork bomb: {len(children)} children", flush=True)


for part in (files, processes, network, kernel, devices, namespaces, bomb):
    part()
print("tried all", flush=True)
