import type { IdRange } from '../../src/core/host/shim.ts';
import type { DeviceNode } from '../limits/limits.ts';
import { DENIED_CALLS, MASKED_PATHS, READ_ONLY_PATHS, seccompOf } from './denied-calls.ts';
import { ROOT_CAPABILITIES } from './user-namespaces.ts';

/** What one container is to be; paths are absolute ones of the host. */
export interface Container {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly user: { readonly uid: number; readonly gid: number };
  readonly root: string;
  readonly hostname: string;
  readonly network: 'host' | 'none';
  readonly mounts: readonly object[];
  readonly terminal: boolean;
  readonly devices: readonly DeviceNode[];
  readonly cgroupsPath: string | null;
  /** Whose container it is, when the runtime does not run as root: inside, that user is root. */
  readonly rootless: { readonly uid: number; readonly gid: number } | null;
  /** Of its user namespace; null: it has none. */
  readonly ids: IdRange | null;
  /** It begins as root of that namespace, with rights of one, and its root is its own to change. */
  readonly asRoot: boolean;
}

/**
 * `config.json` of a bundle. The host's policy, and no part of it the job's: no capability but those of a root in a user
 * namespace, no new privileges, no system call that leads out, a root that is read-only or its own, and namespaces for all
 * but, if asked for, the network.
 */
export function configOf(container: Container): object {
  const { network, rootless, cgroupsPath, user, ids, asRoot } = container;
  const capabilities = asRoot ? ROOT_CAPABILITIES : [];
  const mapping =
    rootless === null ? ids && mapOf(ids) : { uid: only(rootless.uid), gid: only(rootless.gid) };
  const namespaces = [
    ...['pid', 'ipc', 'uts', 'mount'],
    ...(network === 'none' ? ['network'] : []),
    ...(mapping === null ? [] : ['user']),
  ];
  return {
    ociVersion: '1.0.2',
    process: {
      terminal: container.terminal,
      user,
      args: container.args,
      env: Object.entries(container.env).map(([name, value]) => `${name}=${value}`),
      cwd: container.cwd,
      capabilities: {
        ...{ bounding: capabilities, effective: capabilities, permitted: capabilities },
        ...{ inheritable: [], ambient: [] },
      },
      noNewPrivileges: true,
    },
    root: { path: container.root, readonly: !asRoot },
    hostname: container.hostname,
    mounts: [
      ...SYSTEM_MOUNTS,
      sysMount(network === 'host' && mapping !== null),
      ...networkMounts(network),
      ...container.mounts,
    ],
    linux: {
      // A runtime that makes the groups itself would let it have every device.
      ...(cgroupsPath === null
        ? {}
        : { cgroupsPath, resources: { devices: deviceRules(container.devices) } }),
      devices: container.devices.map((device) => ({ ...device, fileMode: DEVICE_MODE, uid: 0, gid: 0 })),
      ...(mapping === null ? {} : { uidMappings: mapping.uid, gidMappings: mapping.gid }),
      namespaces: namespaces.map((type) => ({ type })),
      seccomp: seccompOf(DENIED_CALLS),
      maskedPaths: MASKED_PATHS,
      readonlyPaths: READ_ONLY_PATHS,
    },
  };
}

const DEVICE_MODE = 0o666;

/** Runtimes add what every program needs. */
function deviceRules(devices: readonly DeviceNode[]): readonly object[] {
  const own = devices.map(({ type, major, minor }) => ({ allow: true, type, major, minor, access: 'rwm' }));
  return [{ allow: false, access: 'rwm' }, ...own];
}

/** More than one needs a helper program with rights of its own. */
function only(hostID: number): readonly object[] {
  return [{ containerID: 0, hostID, size: 1 }];
}

function mapOf({ first, count }: IdRange): {
  readonly uid: readonly object[];
  readonly gid: readonly object[];
} {
  const all = [{ containerID: 0, hostID: first, size: count }];
  return { uid: all, gid: all };
}

export const mountOf = (destination: string, type: string, source: string, ...options: string[]): object => ({
  ...{ destination, type, source, options },
});

/** A file or folder of the host. */
export function bind(source: string, destination: string, access: 'ro' | 'rw'): object {
  return mountOf(destination, 'bind', source, 'bind', access, 'nosuid', 'nodev');
}

const SYSTEM_MOUNTS = [
  mountOf('/proc', 'proc', 'proc', 'nosuid', 'noexec', 'nodev'),
  mountOf('/dev', 'tmpfs', 'tmpfs', 'nosuid', 'strictatime', 'mode=755', 'size=64k'),
  mountOf('/dev/pts', 'devpts', 'devpts', 'nosuid', 'noexec', 'newinstance', 'ptmxmode=0666', 'mode=0620'),
  mountOf('/dev/shm', 'tmpfs', 'shm', 'nosuid', 'noexec', 'nodev', 'mode=1777', 'size=64m'),
  mountOf('/tmp', 'tmpfs', 'tmpfs', 'nosuid', 'nodev', 'mode=1777'),
];

/** Whoever has not made the network may not mount what shows it, and borrows the host's sight of it. */
function sysMount(borrowed: boolean): object {
  if (borrowed) return mountOf('/sys', 'bind', '/sys', 'rbind', 'nosuid', 'noexec', 'nodev', 'ro');
  return mountOf('/sys', 'sysfs', 'sysfs', 'nosuid', 'noexec', 'nodev', 'ro');
}

function networkMounts(network: 'host' | 'none'): readonly object[] {
  return network === 'none' ? [] : ['/etc/resolv.conf', '/etc/hosts'].map((path) => bind(path, path, 'ro'));
}
