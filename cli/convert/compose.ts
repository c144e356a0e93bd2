import type { Notes, Value, ValueMap } from './notes.ts';
import { filled, isMap, listIn, mapIn, numberIn, textIn, textsIn } from './notes.ts';
import { commandOf, envOf, imageOf, nameFrom, sizeOf, wordsOf } from './parts.ts';

const KNOWN = [
  ...['command', 'entrypoint', 'image', 'environment', 'deploy', 'scale', 'cpus', 'mem_limit', 'ports'],
  ...[
    'healthcheck',
    'stop_signal',
    'stop_grace_period',
    'volumes',
    'restart',
    'stdin_open',
    'tty',
    'pids_limit',
  ],
];

/** One job of a compose file: a group for each service. */
export function fromCompose(file: Value, name: string, notes: Notes): ValueMap {
  const services = mapIn(file, 'services');
  if (isMap(file)) notes.leftOut('compose', file, ['services', 'version', 'name', 'volumes']);
  const groups = Object.entries(services).map(([service, value]) => {
    const at = nameFrom(service);
    return [at, groupOf(isMap(value) ? value : {}, at, notes)] as const;
  });
  return {
    name: nameFrom(textIn(file, 'name') ?? name),
    type: 'service',
    groups: Object.fromEntries(groups),
  };
}

function groupOf(service: ValueMap, name: string, notes: Notes): ValueMap {
  notes.leftOut(name, service, KNOWN);
  const volumes = volumesOf(service, name, notes);
  const deploy = mapIn(service, 'deploy');
  notes.leftOut(`${name}.deploy`, deploy, ['replicas', 'resources']);
  return filled({
    count: numberIn(deploy, 'replicas') ?? numberIn(service, 'scale'),
    ports: portsOf(service, name, notes),
    tasks: { [name]: taskOf(service, name, { mounts: volumes.mounts }, notes) },
    restart: restartOf(service),
    volumes: volumes.claims,
  });
}

function taskOf(service: ValueMap, name: string, parts: ValueMap, notes: Notes): ValueMap {
  const image = textIn(service, 'image');
  const words = [...argumentsIn(service, 'entrypoint'), ...argumentsIn(service, 'command')];
  return filled({
    ...(image === undefined ? {} : imageOf(image, name, notes)),
    command: commandOf(words, name, notes),
    env: envOf(environmentOf(service), name, notes),
    resources: amountsOf(service, 'reservations'),
    limits: filled({ ...amountsOf(service, 'limits'), pids: numberIn(service, 'pids_limit') }),
    checks: checksOf(service),
    stop: filled({ signal: textIn(service, 'stop_signal'), grace: textIn(service, 'stop_grace_period') }),
    stdin: textIn(service, 'stdin_open') === 'true' ? true : undefined,
    terminal: textIn(service, 'tty') === 'true' ? true : undefined,
    ...parts,
  });
}

/** A list, or one line that compose splits into words. */
function argumentsIn(service: ValueMap, key: string): readonly string[] {
  return typeof service[key] === 'string' ? wordsOf(service[key]) : textsIn(service, key);
}

function environmentOf(service: ValueMap): readonly (readonly [string, string])[] {
  const map = Object.keys(mapIn(service, 'environment')).map(
    (key) => [key, textIn(mapIn(service, 'environment'), key) ?? ''] as const,
  );
  const list = textsIn(service, 'environment').map((line) => {
    const at = line.indexOf('=');
    return at === -1 ? ([line, ''] as const) : ([line.slice(0, at), line.slice(at + 1)] as const);
  });
  return [...map, ...list];
}

function amountsOf(service: ValueMap, kind: 'reservations' | 'limits'): ValueMap {
  const amounts = mapIn(mapIn(mapIn(service, 'deploy'), 'resources'), kind);
  const isLimit = kind === 'limits';
  return filled({
    cpu: textIn(amounts, 'cpus') ?? (isLimit ? textIn(service, 'cpus') : undefined),
    memory: sizeOf(textIn(amounts, 'memory') ?? (isLimit ? textIn(service, 'mem_limit') : undefined)),
  });
}

function restartOf(service: ValueMap): ValueMap | undefined {
  const [policy = '', attempts] = (textIn(service, 'restart') ?? '').split(':');
  if (policy === 'no' || policy === 'false') return { on: 'never' };
  if (policy === 'on-failure')
    return filled({ on: 'failure', attempts: attempts === undefined ? undefined : Number(attempts) });
  return undefined;
}

/** The container's port of `8080:80` is one that the task is told: nothing maps it. */
function portsOf(service: ValueMap, name: string, notes: Notes): ValueMap {
  const ports: Record<string, Value> = {};
  for (const entry of listIn(service, 'ports')) {
    const parts = isMap(entry)
      ? [textIn(entry, 'published'), textIn(entry, 'target')]
      : String(entry)
          .replace(/\/\w+$/, '')
          .split(':')
          .slice(-2);
    const [inside = '', outside] = [...parts].reverse();
    const label = `p${inside}`;
    if (!/^\d+$/.test(inside)) {
      notes.add(name, `port ${String(entry)} is left out`);
      continue;
    }
    ports[label] = outside !== undefined && /^\d+$/.test(outside) ? Number(outside) : 'auto';
    notes.add(
      name,
      `port ${inside}: the task listens on $MOORAGE_PORT_${label.toUpperCase()}; nothing maps it`,
    );
  }
  return ports;
}

function checksOf(service: ValueMap): ValueMap {
  const check = mapIn(service, 'healthcheck');
  const test = check['test'];
  const words = typeof test === 'string' ? ['CMD-SHELL', test] : textsIn(check, 'test');
  const [kind = 'NONE', ...rest] = words;
  if (kind === 'NONE' || rest.length === 0) return {};
  return {
    healthy: filled({
      command: kind === 'CMD-SHELL' ? ['/bin/sh', '-c', rest.join(' ')] : rest,
      interval: textIn(check, 'interval'),
      timeout: textIn(check, 'timeout'),
      failureThreshold: numberIn(check, 'retries'),
      startPeriod: textIn(check, 'start_period'),
    }),
  };
}

/** Named volumes are folders that stay; folders of the machine are left out. */
function volumesOf(service: ValueMap, name: string, notes: Notes): { claims: ValueMap; mounts: ValueMap } {
  const claims: Record<string, Value> = {};
  const mounts: Record<string, Value> = {};
  for (const entry of listIn(service, 'volumes')) {
    const [source = '', path, mode] = isMap(entry)
      ? [textIn(entry, 'source'), textIn(entry, 'target'), textIn(entry, 'read_only') === 'true' ? 'ro' : '']
      : String(entry).split(':');
    if (path === undefined || /^[./~]/.test(source)) {
      notes.add(
        name,
        `volume ${source}: folders of the machine are left out; a host can announce one (volumes.source)`,
      );
      continue;
    }
    const volume = nameFrom(source);
    claims[volume] = { access: 'exclusive' };
    mounts[volume] = { path, ...(mode === 'ro' ? { readOnly: true } : {}) };
  }
  return { claims, mounts };
}
