import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { testFolder } from '../support/cli.ts';
import { examplesOf } from '../support/fuzz/examples.ts';
import { FuzzCell } from '../support/fuzz/fuzz-cell.ts';
import type { FuzzRequest } from '../support/fuzz/requests.ts';
import { requestsTo } from '../support/fuzz/requests.ts';
import type { Outcome } from '../support/fuzz/send.ts';
import { closeAgents, send } from '../support/fuzz/send.ts';
import type { ServedRoute } from '../support/rights-table.ts';
import { servedRoutes } from '../support/rights-table.ts';

/** `npm run soak -- fuzz` sends 100,000. */
const INPUTS = Number(process.env['MOORAGE_FUZZ_INPUTS'] ?? 600);
/** Another one each time; the test's title tells it. */
const SEED = Number(process.env['MOORAGE_FUZZ_SEED'] ?? Date.now() % 1_000_000);
const ROUTES = servedRoutes();
const PER_ROUTE = Math.ceil(INPUTS / ROUTES.length);
const AT_ONCE = 24;
/** After so many inputs the cell is put back to where much of it can be reached. */
const RENEWED_EVERY = 4_000;
const TIMEOUT_MS = 120_000 + INPUTS * 40;
const LINE_BYTES_MAX = 2_048;
/** Beyond what the collector leaves lying about between two looks, and far below what keeping inputs would take. */
const GROWTH_MIB_MAX = 200;
const PHASES = 4;

const folder = testFolder();
let cell: FuzzCell;

beforeAll(async () => {
  cell = await FuzzCell.start(folder.path);
}, TIMEOUT_MS);
afterAll(async () => {
  closeAgents();
  await (cell as FuzzCell | undefined)?.stop();
  folder[Symbol.dispose]();
});

interface Sent {
  readonly route: ServedRoute;
  readonly input: FuzzRequest;
}

/** What was answered by a 5xx once, by the route's name: the words in its path. */
const FOUND_BEFORE: Readonly<Record<string, readonly string[]>> = {
  'agent GET /v1/allocations/:id/exec/:command': ['@allocation', 'a\0b'],
};

const nameOf = ({ server, method, path }: ServedRoute): string => `${server} ${method} ${path}`;

/** Inputs `from` to `to` of each route, every route in its turn. The same seed makes the same ones, whatever their number. */
function* drawn(from: number, to: number): Generator<Sent> {
  const inputs = ROUTES.map((route, n) =>
    fc.sample(requestsTo(route), { numRuns: to - from, seed: SEED + n * 7_919 + from * 104_729 }),
  );
  for (let at = 0; at < to - from; at++)
    for (const [n, route] of ROUTES.entries()) yield { route, input: inputs[n]![at]! };
}

describe('S4.13 whatever comes to a route', () => {
  const outcomes = new Map<string, Map<string, number>>();
  const waits = new Map<string, number>();
  const faults: string[] = [];

  function note({ route, input }: Sent, { status, code, retryAfter }: Outcome): void {
    const of = outcomes.get(nameOf(route)) ?? new Map<string, number>();
    outcomes.set(nameOf(route), of.set(String(status), (of.get(String(status)) ?? 0) + 1));
    if (typeof status !== 'number' || status < 500) return;
    if (status === 503 && retryAfter) {
      waits.set(`${nameOf(route)}: ${code}`, (waits.get(`${nameOf(route)}: ${code}`) ?? 0) + 1);
      return;
    }
    const { body, ...rest } = input;
    const shown = JSON.stringify({ ...rest, body: body?.toString('latin1').slice(0, 600) });
    faults.push(`${String(status)} ${code} from ${nameOf(route)}: ${shown.slice(0, 1_500)}`);
  }

  async function sendAll(inputs: Iterable<Sent>): Promise<void> {
    const iterator = inputs[Symbol.iterator]();
    const lane = async (): Promise<void> => {
      for (let next = iterator.next(); next.done !== true; next = iterator.next())
        note(next.value, await send(cell, next.value.route, next.value.input));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
  }

  it('every route has an example of what it takes', () => {
    for (const route of ROUTES) expect(() => examplesOf(route)).not.toThrow();
  });

  it('what was found before', async () => {
    const plain = { way: 'plain', query: [], headers: [], contentType: null, body: null } as const;
    const rest = {
      delegates: true,
      frames: [],
      fault: { kind: 'path', text: '', bytes: new Uint8Array() },
    } as const;
    for (const [name, words] of Object.entries(FOUND_BEFORE)) {
      const route = ROUTES.find((one) => nameOf(one) === name);
      const outcome = await send(cell, route!, { ...plain, ...rest, words });
      expect(outcome, name).toMatchObject({ status: 404, code: 'no-command' });
    }
  });

  it(
    `${String(PER_ROUTE * ROUTES.length)} inputs, seed ${String(SEED)}: no 5xx, no crash, no line of log that grows with the input`,
    async () => {
      const pids = cell.pids();
      const memory = [cell.memory()];
      const step = Math.ceil(RENEWED_EVERY / ROUTES.length);
      for (let from = 0; from < PER_ROUTE; from += step) {
        await sendAll(drawn(from, Math.min(PER_ROUTE, from + step)));
        if (from + step < PER_ROUTE) await cell.renew();
        if (Math.floor(((from + step) * PHASES) / PER_ROUTE) >= memory.length) memory.push(cell.memory());
      }
      process.stdout.write(`${told(memory)}\n`);

      expect(faults.slice(0, 10)).toEqual([]);
      // Each was asked as often as the others, and all of them answer yet.
      expect([...outcomes.keys()].sort()).toEqual(ROUTES.map(nameOf).sort());
      for (const [name, pid] of pids) expect(() => process.kill(pid, 0), `${name} has ended`).not.toThrow();
      expect(cell.pids()).toEqual(pids);
      expect(cell.said()).not.toMatch(/ended \(|is started again/);
      await cell.renew();

      const lines = [...cell.lines()];
      expect(lines.filter((line) => /unhandled|uncaught/i.test(line)).slice(0, 3)).toEqual([]);
      const long = lines.filter((line) => Buffer.byteLength(line) > LINE_BYTES_MAX);
      expect(long.map((line) => `${String(line.length)}: ${line.slice(0, 400)}`).slice(0, 3)).toEqual([]);
      const [half, last] = [memory[Math.floor(memory.length / 2)]!, memory.at(-1)!];
      for (const [server, mib] of Object.entries(last))
        expect(mib - (half[server] ?? 0), `${server} grew`).toBeLessThan(GROWTH_MIB_MAX);
    },
    TIMEOUT_MS,
  );

  function told(memory: readonly Readonly<Record<string, number>>[]): string {
    const counts = (of: ReadonlyMap<string, number>): string =>
      [...of]
        .sort(([a], [b]) => a.localeCompare(b))
        .map(([what, n]) => `${what}: ${String(n)}`)
        .join(', ');
    return [
      `seed ${String(SEED)}, ${String(PER_ROUTE)} inputs to each of ${String(ROUTES.length)} routes`,
      ...[...outcomes].map(([name, of]) => `  ${name.padEnd(56)} ${counts(of)}`),
      `answers of 503, each with Retry-After: ${counts(waits) || 'none'}`,
      `memory in MiB, after each quarter: ${memory.map((one) => JSON.stringify(one)).join(' ')}`,
    ].join('\n');
  }
});
