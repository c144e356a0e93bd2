import type {
  DeniedCall,
  InsideContext,
  KillMethod,
  NamespacePath,
  Rlimit,
  ShimLaunch,
} from './shim-launch.ts';
import { NAMESPACES, RLIMITS } from './shim-launch.ts';

const LAUNCH_VERSION = '2';

/**
 * A version, then pairs of name and value, each text ending in NUL. Names repeat for lists. A shim refuses an unknown name,
 * since it could be a limit. No text contains NUL: requests with one are refused.
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
  put('capabilities', launch.capabilities);
  put('own', launch.own);
  if (launch.apart === true) put('apart', 1);
  for (const { from, to } of launch.show ?? []) {
    put('show.from', from);
    put('show.to', to);
  }
  putIds(put, launch);
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
  put('deny.fd', launch.denyFd);
  const { inside } = launch;
  put('inside.cwd', inside?.cwd);
  for (const [name, value] of Object.entries(inside?.env ?? {})) put('inside.env', `${name}=${value}`);
  put('inside.uid', inside?.user?.uid);
  put('inside.gid', inside?.user?.gid);
  for (const denied of inside?.deny ?? []) put('inside.deny', callText(denied));
  return pairs;
}

function putIds(
  put: (name: string, value: string | number | undefined) => void,
  { ids, root }: ShimLaunch,
): void {
  if (ids !== undefined) put('ids', `${String(ids.first)}:${String(ids.count)}`);
  if (ids?.enter === true) put('ids.enter', 1);
  put('root.image', root?.image);
  put('root.layer', root?.layer);
  put('root.at', root?.at);
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
  ...['capabilities', 'own', 'apart', 'show.from', 'show.to', 'deny.fd'],
  ...['ids', 'ids.enter', 'root.image', 'root.layer', 'root.at'],
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
    ...(has('capabilities') ? { capabilities: 'none' } : {}),
    ...(has('own') ? { own: text('own') } : {}),
    ...(has('apart') ? { apart: true } : {}),
    ...(has('show.from')
      ? { show: all('show.from').map((from, at) => ({ from, to: all('show.to')[at] ?? '' })) }
      : {}),
    ...(has('ids')
      ? {
          ids: {
            ...{ first: two('ids')[0], count: two('ids')[1] },
            ...(has('ids.enter') ? { enter: true } : {}),
          },
        }
      : {}),
    ...(has('root.image')
      ? { root: { image: text('root.image'), layer: text('root.layer'), at: text('root.at') } }
      : {}),
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
    ...(has('deny.fd') ? { denyFd: number('deny.fd') } : {}),
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

/** Methods of a kind keep their order; the kinds have a fixed order. */
function killFrom(found: ReadonlyMap<string, readonly string[]>): Pick<ShimLaunch, 'kill'> {
  const kill: KillMethod[] = [];
  for (const path of found.get('kill.cgroup') ?? []) kill.push({ kind: 'cgroup', path });
  for (const path of found.get('kill.freezer') ?? []) kill.push({ kind: 'freezer', path });
  for (const mark of found.get('kill.environ') ?? []) kill.push({ kind: 'environ', mark });
  return kill.length > 0 ? { kill } : {};
}

/** The first version: by position. From an agent that died before a shim had claimed the attempt. */
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
