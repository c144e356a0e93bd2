import { isIP } from 'node:net';
import { resolve } from 'node:path';
import type { OciRuntimeName } from '../../host-agent/drivers/oci-runtime.ts';
import { OCI_RUNTIMES } from '../../host-agent/drivers/oci-runtime.ts';
import type { UserRange } from '../../host-agent/leases/task-users.ts';
import { IDS_EACH } from '../../host-agent/leases/task-users.ts';
import type { AgentOptions } from '../../host-agent/main.ts';
import { runAgent, verifierOf } from '../../host-agent/main.ts';
import { pinoLog } from '../../src/adapters/telemetry/telemetry.ts';
import { ID_RULE, isId } from '../../src/core/cell/ids.ts';
import type { Allowance } from '../../src/core/host/allowances.ts';
import { ALLOWANCES } from '../../src/core/host/allowances.ts';
import type { DnsAddress } from '../../src/ports/dns.ts';
import { readDuration } from '../../src/wire/values/units.ts';
import type { Context } from '../command/context.ts';
import { EXIT, usageError } from '../command/exit.ts';
import { JoinedFolder } from '../join/joined-folder.ts';
import { followRenewals } from '../join/renewal.ts';
import { readAddresses } from './addresses.ts';
import type { AmountFlags } from './amounts.ts';
import { amounts, reserve } from './amounts.ts';
import type { RoleFlags } from './options.ts';
import {
  DEFAULT_CELL,
  DEFAULT_LISTEN,
  defaultId,
  pinnedKeys,
  readAmount,
  readAttributes,
  readListen,
  readPorts,
  roleBasics,
} from './options.ts';
import type { RunningRole } from './serve.ts';
import { serveRole } from './serve.ts';

export interface AgentFlags extends RoleFlags, AmountFlags {
  readonly data?: string;
  readonly keys?: string;
  readonly tickets: boolean;
  readonly gpuModel: readonly string[];
  readonly ports?: string;
  readonly addresses?: string;
  readonly dns?: string;
  readonly namesKept?: string;
  readonly attribute: readonly string[];
  readonly volume: readonly string[];
  readonly volumeDriver: readonly string[];
  readonly beat?: string;
  readonly cgroupParent?: string;
  readonly ociRuntime?: string;
  readonly artifactSource: readonly string[];
  readonly taskUids?: string;
  readonly taskIds?: string;
  readonly allow: readonly string[];
  readonly stopTasksOnExit?: boolean;
  readonly bare?: boolean;
}

export async function serveAgent(context: Context, written: AgentFlags): Promise<number> {
  if (written.bare === true && !(await becomesHost(context, written))) return EXIT.ok;
  const { flags, hasJoined } = asJoined(written);
  if (flags.data === undefined)
    throw usageError(
      'name a folder for what must outlive the agent: --data FOLDER',
      'moorage agent --data FOLDER',
    );
  // Tasks and their shims have other working folders than the agent.
  const stateFolder = resolve(flags.data);
  const basics = roleBasics(flags, 'agent');
  const reserved = reserve(flags, 'agent');
  const options: AgentOptions = {
    ...basics,
    stateFolder,
    ...pinnedKeys(flags, 'agent'),
    capacity: amounts(flags, 'agent'),
    ...(reserved === undefined ? {} : { reserved }),
    ...(flags.beat === undefined
      ? {}
      : { rounds: { beatMs: readAmount('--beat', flags.beat, readDuration, 'agent') } }),
    ...readGpus(flags.gpuModel),
    attributes: readAttributes(flags.attribute),
    ...(flags.volume.length === 0 ? {} : { volumes: readVolumes(flags.volume) }),
    ...(flags.volumeDriver.length === 0 ? {} : { volumeDrivers: readVolumeDrivers(flags.volumeDriver) }),
    ...(flags.ports === undefined ? {} : { portRange: readPorts(flags.ports) }),
    ...(flags.addresses === undefined ? {} : { addresses: readAddresses(flags.addresses) }),
    ...(flags.dns === undefined ? {} : { dns: readDns(flags.dns) }),
    ...(flags.namesKept === undefined
      ? {}
      : { namesKeptMs: readAmount('--names-kept', flags.namesKept, readDuration, 'agent') }),
    ...(flags.artifactSource.length === 0 ? {} : { artifactSources: flags.artifactSource }),
    ...(flags.cgroupParent === undefined ? {} : { cgroupParent: readGroup(flags.cgroupParent) }),
    ...(flags.ociRuntime === undefined ? {} : { ociRuntime: readRuntime(flags.ociRuntime) }),
    ...(flags.taskUids === undefined ? {} : { taskUids: readUids('--task-uids', flags.taskUids) }),
    ...(flags.taskIds === undefined ? {} : { taskIds: readIds(flags.taskIds) }),
    ...(flags.allow.length === 0 ? {} : { allow: readAllowances(flags.allow) }),
    stopTasksOnExit: flags.stopTasksOnExit ?? false,
  };
  const check = (): Promise<unknown> => verifierOf(options);
  const { credentials } = basics.reach;
  const start = async (): Promise<RunningRole> => {
    const agent = await runAgent(options);
    if (!hasJoined || credentials === undefined) return agent;
    const end = followRenewals(credentials, new JoinedFolder(stateFolder).roles(), basics);
    return { ...agent, stop: () => agent.stop().finally(end) };
  };
  return serveRole(context, basics, { needsStore: false, check, start });
}

/** @returns false: it was told to end */
async function becomesHost(
  context: Context,
  { data, id, listen, logLevel, logFile }: AgentFlags,
): Promise<boolean> {
  if (data === undefined || listen === DEFAULT_LISTEN)
    throw usageError(
      'say where the machine listens: --data FOLDER --listen ADDRESS:7403',
      'moorage agent --bare --help',
    );
  if (new JoinedFolder(data).read() !== null) return true;
  const host = id ?? defaultId('agent');
  if (!isId(host)) throw usageError(`--id ${host}: ${ID_RULE}`, 'moorage agent --help');
  const file = logFile === undefined ? {} : { file: logFile };
  const log = pinoLog({ component: 'agent', id: host, level: logLevel, ...file });
  context.endInOrder();
  const { untilAdopted } = await import('../join/bare.ts');
  return untilAdopted(context, { id: host, data, listen: readListen(listen), log });
}

/** What `moorage host join` left in the data folder holds where a flag says nothing else. */
function asJoined(flags: AgentFlags): { readonly flags: AgentFlags; readonly hasJoined: boolean } {
  const folder = flags.data === undefined ? null : new JoinedFolder(flags.data);
  const joined = folder?.read() ?? null;
  if (folder === null || joined === null) return { flags, hasJoined: false };
  const { cell, listen, etcd } = flags;
  const own: AgentFlags = {
    ...{ ...flags, id: flags.id ?? joined.id, keys: flags.keys ?? folder.keys },
    cell: cell === DEFAULT_CELL ? joined.cell : cell,
    listen: listen === DEFAULT_LISTEN ? joined.listen : listen,
    etcd: etcd.length === 0 ? joined.etcd : etcd,
    credentials: flags.credentials ?? folder.credentials,
    allow: flags.allow.length === 0 ? (joined.allow ?? []) : flags.allow,
  };
  return { flags: own, hasJoined: own.credentials === folder.credentials };
}

/** It answers whoever reaches it, so that it is for this machine alone. */
function readDns(text: string): DnsAddress {
  const parts = /^(127(?:\.\d{1,3}){3}|\[::1\]):(\d{1,5})$/.exec(text);
  const [host = '', port] = [parts?.[1]?.replaceAll(/[[\]]/g, ''), Number(parts?.[2])];
  if (parts !== null && isIP(host) !== 0 && port <= 65_535) return { host, port };
  throw usageError(
    `--dns ${text}: write a loopback address and a port, since it answers whoever reaches it`,
    'moorage agent --dns 127.0.0.1:8600',
  );
}

/** Slashes around the name do not count; `.` and `..` are refused. */
function readGroup(text: string): string {
  const group = text.replaceAll(/^\/+|\/+$/g, '');
  if (group.split('/').some((part) => part === '.' || part === '..'))
    throw usageError(
      '--cgroup-parent names a control group, without . or ..',
      'moorage agent --cgroup-parent system.slice/moorage-agent.service',
    );
  return group;
}

/** Of the system's own users, below, none may be a task's; the largest number means "no change" to the kernel. */
const [UID_MIN, UID_MAX] = [1_000, 4_294_967_294];

function readUids(flag: string, text: string): UserRange {
  const parts = /^(\d{1,10})-(\d{1,10})$/.exec(text);
  const [first, last] = [Number(parts?.[1]), Number(parts?.[2])];
  if (parts !== null && first >= UID_MIN && last <= UID_MAX && first <= last)
    return { first, count: last - first + 1 };
  throw usageError(
    `${flag} ${text}: write them as FIRST-LAST, from ${String(UID_MIN)} to ${String(UID_MAX)}`,
    `${flag} 1900000000-1900016383`,
  );
}

/** Each allocation gets so many, whole. */
function readIds(text: string): UserRange {
  const range = readUids('--task-ids', text);
  if (range.count >= IDS_EACH) return range;
  throw usageError(
    `--task-ids ${text}: an allocation gets ${String(IDS_EACH)} of them, and these are ${String(range.count)}`,
    '--task-ids 2200000000-2208388607',
  );
}

/** `ssd=/mnt/ssd`, `seed=/srv/seed,ro`. */
function readVolumes(texts: readonly string[]): NonNullable<AgentOptions['volumes']> {
  return new Map(
    texts.map((text) => {
      const [, name = '', path = '', ro] = /^([^=]+)=(\/[^,]*)(,ro)?$/.exec(text) ?? [];
      if (isId(name)) return [name, { path: resolve(path), readOnly: ro !== undefined }];
      throw usageError(
        `--volume ${text}: write NAME=FOLDER, or NAME=FOLDER,ro, with the folder's whole path`,
        'moorage agent --volume ssd=/mnt/ssd',
      );
    }),
  );
}

/** `nfs=/usr/libexec/moorage/directory,/mnt/share`: what stands behind the comma is for the driver. */
function readVolumeDrivers(texts: readonly string[]): NonNullable<AgentOptions['volumeDrivers']> {
  return new Map(
    texts.map((text) => {
      const [, name = '', command = '', options = ''] = /^([^=]+)=(\/[^,]*)(?:,(.*))?$/.exec(text) ?? [];
      if (isId(name)) return [name, { command: resolve(command), options }];
      throw usageError(
        `--volume-driver ${text}: write NAME=COMMAND, or NAME=COMMAND,OPTIONS, with the command's whole path`,
        'moorage agent --volume-driver nfs=/usr/libexec/moorage/directory,/mnt/share',
      );
    }),
  );
}

function readAllowances(texts: readonly string[]): readonly Allowance[] {
  const unknown = texts.find((text) => text !== 'nothing' && !ALLOWANCES.some((one) => one === text));
  if (unknown === undefined) return ALLOWANCES.filter((one) => texts.includes(one));
  throw usageError(`--allow ${unknown}: name ${ALLOWANCES.join(', ')} or nothing`, 'moorage agent --help');
}

function readRuntime(text: string): OciRuntimeName {
  const found = OCI_RUNTIMES.find((name) => name === text);
  if (found !== undefined) return found;
  throw usageError(`--oci-runtime ${text}: name ${OCI_RUNTIMES.join(' or ')}`, 'moorage agent --help');
}

/** `a100`, or with its nodes `a100=/dev/nvidia0,/dev/nvidiactl`. */
function readGpus(texts: readonly string[]): Pick<AgentOptions, 'gpuModels' | 'gpuNodes'> {
  const read = texts.map((text) => {
    const [model = '', nodes = ''] = text.split('=', 2);
    return { model, nodes: nodes.split(',').filter((path) => path !== '') };
  });
  return { gpuModels: read.map(({ model }) => model), gpuNodes: read.map(({ nodes }) => nodes) };
}
