import type { ExecOrder, ShimUser } from '../core/shim.ts';
import type { StartedRecord } from './shim-files.ts';

/**
 * The order to a shim for one run of a command, in the file `launch`. What is absent is not done. A step that fails ends
 * the attempt with `execErrno` and `execStep` in `exit`: a command never runs with less than what was ordered.
 */
export interface ShimLaunch {
  /** Absolute; seen from inside the namespaces that are entered. */
  readonly cwd: string;
  /** Offsets at which output begins: where the task's previous attempt ended. */
  readonly outBase: number;
  readonly errBase: number;
  /** Output lies in files of this many bytes, of which the newest `segmentsMax` are kept. */
  readonly segmentBytes: number;
  readonly segmentsMax: number;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly user?: ShimUser;
  readonly rlimits?: readonly Rlimit[];
  /** Files `cgroup.procs`, or `tasks` of v1, into which the child writes itself before anything else. */
  readonly cgroupProcs?: readonly string[];
  readonly oomScoreAdj?: number;
  readonly nice?: number;
  readonly noNewPrivileges?: boolean;
  /** Entered in this order, but `user` first and `mnt` last. */
  readonly namespaces?: readonly NamespacePath[];
  /** Enters all namespaces in which this process differs from the shim; the start time guards against another process. */
  readonly join?: { readonly pid: number; readonly start: number };
  /** The command gets a terminal of this size; what it writes is all `stdout`. */
  readonly pty?: { readonly rows: number; readonly columns: number };
  /** Default `closed`: the command reads from nothing. A terminal is always open. */
  readonly stdin?: 'open' | 'closed';
  /** Stopped when it has run this long, by the monotonic clock, with or without an agent. */
  readonly runMaxMs?: number;
  /** Stopped when no agent has renewed this for so long (I16). Every renewal brings the next term with it. */
  readonly stopAfterDisconnectMs?: number;
  /** How a deadline stops it. Default SIGTERM and 5 s. */
  readonly stop?: { readonly signal: string; readonly graceMs: number };
  /** The command creates a container and ends; the process in the pid file is the task. */
  readonly adopt?: {
    readonly pidFile: string;
    /** Run once the pid file is read, with the same output; must end with 0. Empty: nothing to run. */
    readonly start: readonly string[];
  };
  /** Tried in this order, before the kill of all descendants, which is always done. */
  readonly kill?: readonly KillMethod[];
  /** Files with a line `oom_kill <n>`: v1 `memory.oom_control`, v2 `memory.events`. */
  readonly oomFiles?: readonly string[];
  /** v2 `cgroup.freeze`, or v1 `freezer.state`. Without it the task cannot be frozen. */
  readonly freezeFile?: string;
  /**
   * The command is a sandbox: the task proper is the first child of its first child, as bubblewrap has it. Commands inside
   * the task join that process, and none is begun before it is there: until then the sandbox may still be open.
   */
  readonly inner?: boolean;
  /** System calls that fail. Only together with `noNewPrivileges` or as root. */
  readonly deny?: readonly DeniedCall[];
  /** For commands inside the task, where they are not to begin as the task did: its order may be one to a runtime. */
  readonly inside?: InsideContext;
}

/** A system call by its name, which fails with `errno`; with `when`, only if `(argument & mask) == value`. */
export interface DeniedCall {
  readonly call: string;
  readonly errno: number;
  readonly when?: { readonly argument: number; readonly mask: number; readonly value: number };
}

export interface InsideContext {
  readonly cwd?: string;
  /** Instead of the task's own. */
  readonly env?: Readonly<Record<string, string>>;
  readonly user?: Pick<ShimUser, 'uid' | 'gid'>;
  readonly deny?: readonly DeniedCall[];
}

export const RLIMITS = [
  ...(['as', 'core', 'cpu', 'data', 'fsize', 'memlock', 'msgqueue', 'nofile', 'nproc'] as const),
  ...(['rss', 'sigpending', 'stack'] as const),
] as const;

export interface Rlimit {
  readonly name: (typeof RLIMITS)[number];
  /** In the system's own unit; null: no limit. */
  readonly soft: number | null;
  readonly hard: number | null;
}

export const NAMESPACES = ['user', 'cgroup', 'ipc', 'uts', 'net', 'pid', 'time', 'mnt'] as const;

export interface NamespacePath {
  readonly kind: (typeof NAMESPACES)[number];
  /** `/run/netns/a`, `/proc/12/ns/net`. */
  readonly path: string;
}

/**
 *   cgroup    path of a v2 `cgroup.kill`
 *   freezer   path of a v1 freezer folder: freeze, kill what `cgroup.procs` lists, thaw
 *   environ   all processes whose environment holds the text `mark`: the last resort, when the others left something
 */
export type KillMethod =
  | { readonly kind: 'cgroup'; readonly path: string }
  | { readonly kind: 'freezer'; readonly path: string }
  | { readonly kind: 'environ'; readonly mark: string };

/** Finds the processes of one command, as `MOORAGE_ATTEMPT` finds all of an attempt. */
export const COMMAND_MARK = 'MOORAGE_COMMAND';

/** Whose a task is: the id of its host's state folder. Two hosts on one machine may have attempts of the same name. */
export const STATE_MARK = 'MOORAGE_STATE';

/**
 * What only the processes of this command have in their environment. Its id alone is not enough: clients choose it, and
 * another task, or another host on this machine, may have a command with the same one.
 * @param env of the task
 */
function commandName(env: Readonly<Record<string, string>>, commandId: string): string {
  return [env[STATE_MARK] ?? '', env['MOORAGE_ATTEMPT'] ?? '', commandId].join('/');
}

/**
 * The launch of a command inside a task: same groups, same limits, same namespaces, output from 0. It is never killed by
 * the task's cgroup, which would kill the task. A container's folders are its own, so there it begins at the top.
 * @param inside the process whose namespaces it enters
 */
export function execLaunch(
  task: ShimLaunch,
  inside: Pick<StartedRecord, 'pid' | 'start'>,
  commandId: string,
  order: ExecOrder,
): ShimLaunch {
  const { adopt, inner: _inner, inside: within, pty: _pty, stdin: _stdin, runMaxMs: _run, ...rest } = task;
  const { stopAfterDisconnectMs: _lease, stop: _stop, namespaces: _namespaces, ...context } = rest;
  const { env, ...own } = order;
  const name = commandName(task.env, commandId);
  return {
    ...context,
    ...(within?.user === undefined ? {} : { user: within.user }),
    ...(within?.deny === undefined ? {} : { deny: within.deny }),
    cwd: within?.cwd ?? (adopt === undefined ? task.cwd : '/'),
    ...own,
    env: { ...(within?.env ?? task.env), ...env, [COMMAND_MARK]: name },
    outBase: 0,
    errBase: 0,
    join: { pid: inside.pid, start: inside.start },
    kill: [{ kind: 'environ', mark: `${COMMAND_MARK}=${name}` }],
  };
}

const LAUNCH_VERSION = '2';

/**
 * A version, then pairs of name and value, all ending in NUL. Names repeat where there are several. A shim refuses a name
 * that it does not know, since it could be a limit. No text may contain NUL; requests with one were refused at the door.
 */
export function encodeLaunch(launch: ShimLaunch): string {
  return [LAUNCH_VERSION, ...pairsOf(launch).flat()].map((text) => `${text}\0`).join('');
}

type Pair = readonly [name: string, value: string];

function pairsOf(launch: ShimLaunch): readonly Pair[] {
  const pairs: Pair[] = [];
  const put = (name: string, value: string | number | undefined): void => {
    if (value !== undefined) pairs.push([name, String(value)]);
  };
  const { user, pty, stop, join, adopt } = launch;
  put('cwd', launch.cwd);
  put('out.base', launch.outBase);
  put('err.base', launch.errBase);
  put('segment.bytes', launch.segmentBytes);
  put('segments.max', launch.segmentsMax);
  for (const text of launch.command) put('arg', text);
  for (const [name, value] of Object.entries(launch.env)) put('env', `${name}=${value}`);
  put('uid', user?.uid);
  put('gid', user?.gid);
  for (const group of user?.groups ?? []) put('group', group);
  for (const { name, soft, hard } of launch.rlimits ?? [])
    put('rlimit', [name, edge(soft), edge(hard)].join(':'));
  for (const path of launch.cgroupProcs ?? []) put('procs', path);
  put('oom.score.adj', launch.oomScoreAdj);
  put('nice', launch.nice);
  if (launch.noNewPrivileges === true) put('no.new.privileges', 1);
  for (const { kind, path } of launch.namespaces ?? []) put('namespace', `${kind}:${path}`);
  if (join !== undefined) put('join', `${String(join.pid)}:${String(join.start)}`);
  if (pty !== undefined) put('pty', `${String(pty.rows)}:${String(pty.columns)}`);
  if (launch.stdin === 'open') put('stdin', 'open');
  put('run.max.ms', launch.runMaxMs);
  put('disconnect.ms', launch.stopAfterDisconnectMs);
  put('stop.signal', stop?.signal);
  put('stop.grace.ms', stop?.graceMs);
  put('adopt', adopt?.pidFile);
  for (const text of adopt?.start ?? []) put('adopt.arg', text);
  for (const method of launch.kill ?? [])
    put(`kill.${method.kind}`, method.kind === 'environ' ? method.mark : method.path);
  for (const path of launch.oomFiles ?? []) put('oom.file', path);
  put('freeze.file', launch.freezeFile);
  if (launch.inner === true) put('inner', 1);
  for (const denied of launch.deny ?? []) put('deny', callText(denied));
  const { inside } = launch;
  put('inside.cwd', inside?.cwd);
  for (const [name, value] of Object.entries(inside?.env ?? {})) put('inside.env', `${name}=${value}`);
  put('inside.uid', inside?.user?.uid);
  put('inside.gid', inside?.user?.gid);
  for (const denied of inside?.deny ?? []) put('inside.deny', callText(denied));
  return pairs;
}

function callText({ call, errno, when }: DeniedCall): string {
  return [call, errno, ...(when === undefined ? [] : [when.argument, when.mask, when.value])].join(':');
}

function edge(limit: number | null): string {
  return limit === null ? '-' : String(limit);
}

/** @throws when the text is no launch */
export function decodeLaunch(text: string): ShimLaunch {
  const texts = text.split('\0');
  const version = texts.shift();
  if (texts.pop() !== '') throw new Error('launch file cut short');
  if (version === '1') return decodeFirst(texts);
  if (version !== LAUNCH_VERSION) throw new Error('launch file of another version');
  const found = new Map<string, string[]>();
  for (let at = 0; at < texts.length; at += 2) {
    const [name = '', value] = [texts[at], texts[at + 1]];
    if (value === undefined) throw new Error('launch file cut short');
    if (!NAMES.has(name)) throw new Error(`launch file says ${name}, which this version does not know`);
    found.set(name, [...(found.get(name) ?? []), value]);
  }
  return launchFrom(found);
}

const NAMES = new Set([
  ...['cwd', 'out.base', 'err.base', 'segment.bytes', 'segments.max', 'arg', 'env', 'uid', 'gid', 'group'],
  ...['rlimit', 'procs', 'oom.score.adj', 'nice', 'no.new.privileges', 'namespace', 'join', 'pty', 'stdin'],
  ...['run.max.ms', 'disconnect.ms', 'stop.signal', 'stop.grace.ms', 'adopt', 'adopt.arg'],
  ...['kill.cgroup', 'kill.freezer', 'kill.environ', 'oom.file', 'freeze.file', 'deny', 'inner'],
  ...['inside.cwd', 'inside.env', 'inside.uid', 'inside.gid', 'inside.deny'],
]);

function launchFrom(found: ReadonlyMap<string, readonly string[]>): ShimLaunch {
  const all = (name: string): readonly string[] => found.get(name) ?? [];
  const has = (name: string): boolean => found.has(name);
  const text = (name: string): string => {
    const value = found.get(name)?.[0];
    if (value === undefined) throw new Error(`launch file without ${name}`);
    return value;
  };
  const number = (name: string): number => Number(text(name));
  const two = (name: string): [number, number] => {
    const [a = '', b = ''] = text(name).split(':');
    return [Number(a), Number(b)];
  };
  return {
    cwd: text('cwd'),
    outBase: number('out.base'),
    errBase: number('err.base'),
    segmentBytes: number('segment.bytes'),
    segmentsMax: number('segments.max'),
    command: all('arg'),
    env: envFrom(all('env')),
    ...(has('uid')
      ? { user: { uid: number('uid'), gid: number('gid'), groups: all('group').map(Number) } }
      : {}),
    ...(has('rlimit') ? { rlimits: all('rlimit').map(rlimitFrom) } : {}),
    ...(has('procs') ? { cgroupProcs: all('procs') } : {}),
    ...(has('oom.score.adj') ? { oomScoreAdj: number('oom.score.adj') } : {}),
    ...(has('nice') ? { nice: number('nice') } : {}),
    ...(has('no.new.privileges') ? { noNewPrivileges: true } : {}),
    ...(has('namespace') ? { namespaces: all('namespace').map(namespaceFrom) } : {}),
    ...(has('join') ? { join: { pid: two('join')[0], start: two('join')[1] } } : {}),
    ...(has('pty') ? { pty: { rows: two('pty')[0], columns: two('pty')[1] } } : {}),
    ...(has('stdin') ? { stdin: 'open' } : {}),
    ...(has('run.max.ms') ? { runMaxMs: number('run.max.ms') } : {}),
    ...(has('disconnect.ms') ? { stopAfterDisconnectMs: number('disconnect.ms') } : {}),
    ...(has('stop.signal')
      ? { stop: { signal: text('stop.signal'), graceMs: number('stop.grace.ms') } }
      : {}),
    ...(has('adopt') ? { adopt: { pidFile: text('adopt'), start: all('adopt.arg') } } : {}),
    ...killFrom(found),
    ...(has('oom.file') ? { oomFiles: all('oom.file') } : {}),
    ...(has('freeze.file') ? { freezeFile: text('freeze.file') } : {}),
    ...(has('inner') ? { inner: true } : {}),
    ...(has('deny') ? { deny: all('deny').map(callFrom) } : {}),
    ...insideFrom(found),
  };
}

function insideFrom(found: ReadonlyMap<string, readonly string[]>): Pick<ShimLaunch, 'inside'> {
  const [cwd, uid, gid] = ['cwd', 'uid', 'gid'].map((name) => found.get(`inside.${name}`)?.[0]);
  const [env, deny] = [found.get('inside.env'), found.get('inside.deny')];
  const inside: InsideContext = {
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env: envFrom(env) }),
    ...(uid === undefined ? {} : { user: { uid: Number(uid), gid: Number(gid) } }),
    ...(deny === undefined ? {} : { deny: deny.map(callFrom) }),
  };
  return Object.keys(inside).length === 0 ? {} : { inside };
}

function callFrom(text: string): DeniedCall {
  const [call = '', errno, argument, mask, value] = text.split(':');
  const when = { argument: Number(argument), mask: Number(mask), value: Number(value) };
  return { call, errno: Number(errno), ...(value === undefined ? {} : { when }) };
}

function envFrom(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]),
  );
}

function rlimitFrom(text: string): Rlimit {
  const [word = '', soft = '', hard = ''] = text.split(':');
  const name = RLIMITS.find((one) => one === word);
  if (name === undefined) throw new Error(`launch file limits ${word}`);
  const limit = (digits: string): number | null => (digits === '-' ? null : Number(digits));
  return { name, soft: limit(soft), hard: limit(hard) };
}

function namespaceFrom(text: string): NamespacePath {
  const word = text.slice(0, text.indexOf(':'));
  const kind = NAMESPACES.find((one) => one === word);
  if (kind === undefined) throw new Error(`launch file enters ${word}`);
  return { kind, path: text.slice(word.length + 1) };
}

/** Those of a kind keep their order; between kinds the order is always the same. */
function killFrom(found: ReadonlyMap<string, readonly string[]>): Pick<ShimLaunch, 'kill'> {
  const kill: KillMethod[] = [];
  for (const path of found.get('kill.cgroup') ?? []) kill.push({ kind: 'cgroup', path });
  for (const path of found.get('kill.freezer') ?? []) kill.push({ kind: 'freezer', path });
  for (const mark of found.get('kill.environ') ?? []) kill.push({ kind: 'environ', mark });
  return kill.length > 0 ? { kill } : {};
}

/** The first version: by position. Written by an agent that died before a shim had taken the attempt. */
function decodeFirst(texts: readonly string[]): ShimLaunch {
  let at = 0;
  const next = (): string => {
    const found = texts[at++];
    if (found === undefined) throw new Error('launch file cut short');
    return found;
  };
  const number = (): number => Number(next());
  const several = (): string[] => Array.from({ length: number() }, next);
  return {
    ...{ cwd: next(), outBase: number(), errBase: number(), segmentBytes: number(), segmentsMax: number() },
    ...{ command: several(), env: envFrom(several()) },
  };
}
