import { RETURN_POLICIES } from '../../src/core/cell/job.ts';
import type { SeededRandom } from '../../src/core/random/random.ts';
import type { Request } from '../actor/client.ts';
import { addressed, sharing } from '../world/scenario.ts';

const JOBS = 13;
/** Fixed ports that many ask for. */
const PORTS_FIRST = 20_001;

/**
 * Many jobs in few moments, for more capacity than there is: gangs, fixed ports, several precedences, tasks that ignore signals,
 * and new versions of running services.
 */
export function burst(random: SeededRandom, activeMs: number): readonly Request[] {
  const moments = [0.05, 0.1, 0.2, 0.35, 0.5].map((part) => part * activeMs);
  const requests: Request[] = [];
  for (let n = 0; n < JOBS; n++) {
    const atMs = moments[random.below(moments.length)] ?? 0;
    const request = requestOf(n, atMs, random);
    requests.push(request);
    if (request.file['type'] === 'service' && random.below(2) === 0)
      requests.push(nextVersion(request, random));
  }
  return requests.sort((a, b) => a.atMs - b.atMs);
}

/** An update of a service ends within a run. */
const BRISK = { update: { minHealthy: '500ms' } };

function requestOf(n: number, atMs: number, random: SeededRandom): Request {
  const isService = random.below(4) === 0;
  const kind = !isService && random.below(4) === 0 ? 'run' : 'submit';
  // Many a name begins with another one: `job-1`, `job-10`, `job-101`.
  const name = `job-${n.toString(2)}`;
  const plain = {
    ...{ name, type: isService ? 'service' : 'batch', count: 1 + random.below(4) },
    priority: [30, 50, 50, 80][random.below(4)] ?? 50,
    resources: {
      cpu: `${String(200 * (1 + random.below(5)))}m`,
      memory: `${String(128 * (1 + random.below(5)))}Mi`,
    },
    ...portsOf(random),
    ...(!isService && random.below(3) === 0 ? { gang: true, waitMax: '20s' } : {}),
    ...(isService ? BRISK : {}),
    command: ['work'],
    env: {
      SIM_RUN_MS: String(isService && random.below(2) === 0 ? 0 : 100 + random.below(3_000)),
      SIM_EXIT_CODE: random.below(6) === 0 ? '1' : '0',
      ...(random.below(3) === 0 ? { SIM_IGNORES_SIGNALS: '1' } : {}),
      ...(random.below(2) === 0 ? { SIM_LINGER_MS: String(200 + random.below(4_000)) } : {}),
    },
    stop: { signal: 'SIGTERM', grace: `${String(300 + random.below(3_000))}ms` },
  };
  const file = addressed(sharing(plain, random), random);
  return { atMs, kind, name, file, stopAfterMs: isService ? 4_000 + random.below(4_000) : null };
}

function portsOf(random: SeededRandom): object {
  const drawn = random.below(4);
  if (drawn === 0) return { ports: { http: PORTS_FIRST + random.below(2) } };
  return drawn === 1 ? { ports: { http: 'auto' } } : {};
}

/** The same service with another environment: all of its allocations are replaced. */
function nextVersion(request: Request, random: SeededRandom): Request {
  const env = { ...(request.file['env'] as object), VERSION: '2' };
  return {
    ...request,
    atMs: request.atMs + 500 + random.below(2_000),
    file: { ...request.file, env },
    stopAfterMs: null,
  };
}

const PLAIN = 4;
const GANGS = 8;

/** Work that fills the cell, and gangs of three precedences, one after the other, until `untilMs`. */
export function gangs(random: SeededRandom, untilMs: number): readonly Request[] {
  const plain = Array.from({ length: PLAIN }, (_, n) => urgent(n, random.below(1_000), random)).map(
    (request) => ({ ...request, file: { ...request.file, priority: 30 } }),
  );
  const all = Array.from({ length: GANGS }, (_, n) => gangOf(n, 500 + random.below(untilMs), random));
  return [...plain, ...all].sort((a, b) => a.atMs - b.atMs);
}

function gangOf(n: number, atMs: number, random: SeededRandom): Request {
  const file = {
    ...{ name: `gang-${String(n)}`, type: 'batch', count: 2 + random.below(3), gang: true, waitMax: '60s' },
    priority: [30, 50, 80][random.below(3)] ?? 50,
    resources: { cpu: `${String(300 + 100 * random.below(4))}m`, memory: '128Mi' },
    command: ['work'],
    env: { SIM_RUN_MS: String(100 + random.below(1_500)) },
    stop: { signal: 'SIGTERM', grace: '500ms' },
  };
  return { atMs, kind: 'submit', name: file.name, file, stopAfterMs: null };
}

const RESTLESS = 4;
const VERSIONS = 4;

/**
 * Services that are changed again before they have settled, and short work of high precedence that preempts them: while two
 * schedulers place some of a service's allocations, they stop other ones.
 */
export function restless(random: SeededRandom, activeMs: number): readonly Request[] {
  const requests: Request[] = [];
  for (let n = 0; n < RESTLESS; n++) {
    const first = serviceOf(n, random.below(1_000), random);
    for (let version = 1; version <= VERSIONS; version++) {
      const env = { ...(first.file['env'] as object), VERSION: String(version) };
      const atMs = first.atMs + (version - 1) * (activeMs / VERSIONS) * 0.8 + random.below(1_000);
      requests.push({ ...first, atMs, file: { ...first.file, env } });
    }
  }
  for (let n = 0; n < 2 * RESTLESS; n++) requests.push(urgent(n, random.below(activeMs), random));
  return requests.sort((a, b) => a.atMs - b.atMs);
}

function serviceOf(n: number, atMs: number, random: SeededRandom): Request {
  const file = {
    ...{ name: `service-${String(n)}`, type: 'service', count: 3 + random.below(2), priority: 30, ...BRISK },
    resources: { cpu: `${String(200 + 100 * random.below(3))}m`, memory: '128Mi' },
    command: ['work'],
    env: { SIM_RUN_MS: String(random.below(2) * 2_000) },
    stop: { signal: 'SIGTERM', grace: '300ms' },
  };
  return { atMs, kind: 'submit', name: file.name, file, stopAfterMs: null };
}

/** Short work before which most other work gives way. */
export function urgent(n: number, atMs: number, random: SeededRandom): Request {
  const file = {
    ...{ name: `urgent-${String(n)}`, type: 'batch', count: 1 + random.below(4), priority: 80 },
    resources: { cpu: `${String(400 + 100 * random.below(6))}m`, memory: '256Mi' },
    command: ['work'],
    env: { SIM_RUN_MS: String(200 + random.below(1_500)) },
  };
  return { atMs, kind: 'submit', name: file.name, file, stopAfterMs: null };
}

const MOVING = 7;

/**
 * Long work, in a cell with enough capacity for it without one of its hosts. Every second job asks to be replaced when its host is
 * lost, every third batch job may not be rescheduled; short work comes when the host is back.
 */
export function moving(random: SeededRandom, backMs: number): readonly Request[] {
  const lasting = Array.from({ length: MOVING }, (_, n) => lastingOf(n, random));
  const short = Array.from({ length: 2 }, (_, n) => urgent(n, backMs + random.below(2_000), random));
  return [...lasting.sort((a, b) => a.atMs - b.atMs), ...short];
}

function lastingOf(n: number, random: SeededRandom): Request {
  const isService = random.below(2) === 0;
  const file = {
    ...{ name: `lasting-${String(n)}`, type: isService ? 'service' : 'batch', count: 1 + random.below(3) },
    resources: { cpu: `${String(100 * (1 + random.below(3)))}m`, memory: '128Mi' },
    ...(random.below(4) === 0 ? { ports: { http: 'auto' } } : {}),
    ...(!isService && random.below(4) === 0 ? { gang: true, waitMax: '60s' } : {}),
    reschedule: {
      onHostLost: random.below(2) === 0,
      ...(!isService && random.below(3) === 0 ? { attempts: 0 } : {}),
    },
    command: ['work'],
    env: { SIM_RUN_MS: String(isService ? 0 : 5_000 + random.below(70_000)) },
    stop: { signal: 'SIGTERM', grace: '500ms' },
  };
  const kept = RETURN_POLICIES[random.split(`kept ${file.name}`).below(2 * RETURN_POLICIES.length)];
  const mayKeep = file.reschedule.onHostLost && !('gang' in file) && kept !== undefined;
  const reschedule = mayKeep ? { ...file.reschedule, onReturn: kept } : file.reschedule;
  const written = { ...file, reschedule };
  return {
    atMs: 200 + random.below(6_000),
    kind: 'submit',
    name: file.name,
    file: written,
    stopAfterMs: null,
  };
}

/** With tasks that write much output. */
export function talkative(request: Request): Request {
  const env = { ...(request.file['env'] as object), SIM_OUTPUT_EVERY_MS: '80' };
  return { ...request, file: { ...request.file, env } };
}
