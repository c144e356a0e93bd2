import { failPoints } from '../../../src/runtime/faults/names.ts';

/**
 * Fail-points of an agent that the matrix does not visit, each with the reason. All others must be met: one that joins the
 * list is in the matrix by itself, and when no order of the matrix leads to it, the test says so.
 */
const ELSEWHERE: readonly (readonly [RegExp, string])[] = [
  [/^agent\/store\.close/, 'the store is given to the agent, and so not its own to close'],
  [/^agent\/verifier\./, 'no tickets here: a start with one is the same start'],
  [/^agent\/disk\.([a-zA-Z]+\/oci|publish\/cas)/, 'no containers here'],
  [/^agent\/disk\.[a-zA-Z]+\/secrets/, 'no secrets here: the host has no key to open one'],
  [
    /^agent\/(link\.(endStdin|resize|state|writeStdin)|disk\.(readRange|watch)\/exec|disk\.watch\/attempt)/,
    'a talk with a task: agent-kills.test.ts',
  ],
  [
    /^agent\/(disk\.readRange\/output|server\.(route|chunk)\/get\.allocations\.id\.logs)/,
    'reading output changes nothing',
  ],
  [
    /^agent\/server\.(route|chunk)\/get\.(livez|readyz|metrics|reports)/,
    'questions about the agent change nothing',
  ],
  [
    /^agent\/disk\.move\/(attempt-spec|exit|identity|incarnation|outcome|verdict)/,
    'only of a record that is torn; that of an allocation is',
  ],
  [/^agent\/disk\.replace\/cmds\.wal/, 'only after two thousand signals to one task: signals.test.ts'],
  [/^agent\/disk\.append\/quarantine/, 'only of a torn journal'],
  [/^agent\/disk\.(publish|remove)\/probe|^agent\/disk\.remove\/reserve/, 'only of a disk that fails'],
  [
    /^agent\/(probes\.|disk\.(publish\/unhealthy|replace\/health|remove\/(work|exec)))/,
    'no task here has a check: health-checks.test.ts kills such an agent',
  ],
  [/^agent\/disk\.[a-zA-Z]+\/secrets/, 'no task here has secrets: secrets.test.ts'],
  [
    /^agent\/disk\.([a-zA-Z]+\/layers|list\/allocation:)/,
    'no task here has a user namespace: user-namespaces.test.ts kills the agent of some',
  ],
  [/^agent\/disk\.[a-zA-Z]+\/volumes/, 'no task here has a volume: volumes.test.ts'],
  [
    /^agent\/disk\.[a-zA-Z]+\/attachments/,
    'no task here has a volume of a driver: volume-drivers.test.ts kills such an agent',
  ],
  [/^agent\/server\.(route|chunk)\/delete\.volumes/, 'no volume is deleted here: volumes.test.ts'],
  [/^agent\/link\.renew/, 'no task here has a disconnect deadline'],
  [/^agent\/http\./, 'nobody here asks for a name: name-follower.test.ts, dns.test.ts'],
  [
    /^agent\/disk\.(hand\/work|[a-z]+\/endpoints)/,
    'no task here uses a name: dns.test.ts kills such an agent',
  ],
  [/^agent\/cgroups\.killListed/, 'only where there is no cgroup.kill'],
];

export function whyElsewhere(point: string): string | null {
  return ELSEWHERE.find(([pattern]) => pattern.test(point))?.[1] ?? null;
}

/** Every fail-point on the ways of start, stop, exit, release and recovery. */
export function matrixPoints(): readonly string[] {
  return failPoints().filter((point) => point.startsWith('agent/') && whyElsewhere(point) === null);
}

const LOOKS =
  /\.(read|readRange|list|sizeOf|watch|freeBytes|mounts|deviceOf|isAlive|answers|portsInUse|addressesInUse|onEvent|open)\/|server\.(route|chunk)\/get\./;

/** Does something outside of the agent change there? Between two such points all crashes leave the same. */
export function isChange(point: string): boolean {
  return !LOOKS.test(point);
}
