// Which Debian package brings each program that the tests can use. As a command: prints the packages of those that are missing.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Program → packages. */
export const PACKAGES = {
  etcd: 'etcd-server',
  // Snapshots are saved and restored with it.
  etcdctl: 'etcd-client',
  cc: 'gcc libc6-dev',
  // A kernel of its own with cgroup v2 alone.
  'linux.uml': 'user-mode-linux',
  'mkfs.ext4': 'e2fsprogs',
  bwrap: 'bubblewrap',
  runc: 'runc',
  crun: 'crun',
  busybox: 'busybox-static',
  // Kills a shim at each of its system calls.
  strace: 'strace',
  // Networks between namespaces.
  ip: 'iproute2',
  // Keeps tasks from the control plane.
  nft: 'nftables',
  python3: 'python3',
  // Renders the man page.
  groff: 'groff-base',
  // Looks for faults in the units.
  'systemd-analyze': 'systemd',
  // A proxy that follows names, and the load on it.
  nginx: 'nginx-light',
  wrk: 'wrk',
  // Reads the metrics, and tests the alert rules.
  promtool: 'prometheus',
  // Looks at the page.
  chromium: 'chromium',
};

function isHere(program) {
  return spawnSync('sh', ['-c', `command -v ${program}`], { stdio: 'ignore' }).status === 0;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const missing = Object.keys(PACKAGES).filter((program) => !isHere(program));
  process.stdout.write(`${missing.map((program) => PACKAGES[program]).join(' ')}\n`);
}
