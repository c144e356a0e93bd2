/**
 * How many durable placements a second one scheduler makes, beside what is written to the same etcd with no scheduling at
 * all. The three ways take turns in one run, there and back (raw, direct, whole, whole, direct, raw), since the machine drifts;
 * what counts is the ratios. Before each turn memory is warmed: what the server's heap grows by must not cost one way more
 * than another.
 *
 * - `raw`: a plain program on `etcd3`, which nothing of ours slows down: `client.kv.txn` with keys of the ledgers and
 *   values of all records made before the measurement.
 * - `direct`: the same transactions by `CellStore.attempt`, as strings: our own encoding, still nothing decided.
 * - `whole`: hosts are chosen for each plan (`distinct` on the host, bin packing), claims assumed, plans cut and joined
 *   to transactions with the fit rule on every host, records encoded, sent, settled; meanwhile the scheduler's own watch
 *   brings every ledger back.
 *
 * Each sends the same number of transactions at once, and each transaction has the same parts: for each of `together`
 * placements one compare and one put of a ledger and one put of an allocation, one compare of the job's owner, and in the
 * branch for a refusal the read-back of all that was compared. Keys and values are of the same length, and the hosts of
 * one transaction lie apart in the key space, as a scheduler's do. The three ways are `raw-commits.ts`, `direct-commits.ts` and
 * `whole-commits.ts`.
 *
 * `contend.ts` is the other bench of this room: several scheduler processes (`contend-worker.ts`) on one cell
 * (`contend-cell.ts`), which `half-full.ts` fills. `users.ts` measures what the store's check of rights costs a commit.
 */
import { DEFAULT_STORE_LIMITS } from '../../src/adapters/store/store.ts';
import { systemClock, systemRandom } from '../../src/adapters/system/system.ts';
import { silentLog, silentMetrics } from '../../src/adapters/telemetry/silent.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import { makeDirectWriter } from './direct-commits.ts';
import { startBed } from '../testbed/testbed.ts';
import { processCpuUs } from '../testbed/process-cpu.ts';
import { percentile } from '../testbed/percentile.ts';
import { makeRawWriter } from './raw-commits.ts';
import { warmMemory } from '../testbed/warm-memory.ts';
import { makeWholePath } from './whole-commits.ts';
import { flagsOf } from '../testbed/flags.ts';

const { hosts, placements, together, inFlight, seed, ...flags } = flagsOf({
  hosts: 10_000,
  placements: 25_600,
  /** Of one transaction: each on a host of its own. */
  together: 64,
  inFlight: 8,
  rounds: 10,
  seed: 1,
});
/** Of all three ways alike, not counted: in the first the engine still compiles what the client does for each placement. */
const WARM_UP_ROUNDS = 1;
/** More than the server's heap grows by in one turn. */
const MEMORY_MIB = 512;
const WAYS = ['raw', 'direct', 'whole'] as const;
type Way = (typeof WAYS)[number];

/** The same transactions in all three ways: what the server takes beyond its default is not used. */
const bed = await startBed({ limits: DEFAULT_STORE_LIMITS });
const { etcd, endpoints, store } = bed;
const raw = makeRawWriter({ endpoints, keys: cellKeys('plain'), hosts, together, inFlight, seed });
const direct = makeDirectWriter({ store, keys: cellKeys('store'), hosts, together, inFlight, seed });
const whole = await makeWholePath({
  ...{ store, keys: cellKeys('whole'), hosts, together, inFlight, seed },
  ...{ clock: systemClock, random: systemRandom, log: silentLog, metrics: silentMetrics },
});

const write: Readonly<Record<Way, () => Promise<void>>> = {
  raw: () => raw.write(placements),
  direct: () => direct.write(placements),
  whole: () => whole.write(placements),
};

try {
  const rounds: Readonly<Record<Way, readonly Turn[]>>[] = [];
  for (let round = 1 - WARM_UP_ROUNDS; round <= flags.rounds; round++) {
    const turns: Record<Way, Turn[]> = { raw: [], direct: [], whole: [] };
    for (const way of [...WAYS, ...WAYS.toReversed()]) turns[way].push(await turnOf(write[way]));
    if (round > 0) rounds.push(turns);
  }
  const median = (way: Way, pick: (turn: Turn) => number): number =>
    percentile(
      rounds.flatMap((turns) => turns[way].map(pick)),
      0.5,
    );
  const sizes = `hosts=${String(hosts)} together=${String(together)} in_flight=${String(inFlight)}`;
  for (const way of WAYS) {
    const perSecond = median(way, (turn) => turn.perSecond).toFixed(0);
    const cpuUs = median(way, (turn) => turn.cpuUsEach).toFixed(1);
    const etcdUs = median(way, (turn) => turn.etcdCpuUsEach).toFixed(1);
    console.log(
      `commit ${way} ${sizes} etcd=${bed.etcdVersion} seed=${String(seed)} per_second=${perSecond} ` +
        `client_cpu_us_each=${cpuUs} etcd_cpu_us_each=${etcdUs}`,
    );
  }
  const { transactions, refused, rebased } = whole.stats();
  console.log(
    `commit stats transactions=${String(transactions)} refused=${String(refused)} rebased=${String(rebased)}`,
  );
  for (const [base, wanted] of [
    ['raw', ' wanted=>=0.70'],
    ['direct', ''],
  ] as const) {
    const ratios = rounds.map((turns) => secondsOf(turns[base]) / secondsOf(turns.whole));
    const range = `${Math.min(...ratios).toFixed(2)}..${Math.max(...ratios).toFixed(2)}`;
    const value = percentile(ratios, 0.5).toFixed(2);
    console.log(`commit ratio whole-to-${base} seed=${String(seed)} value=${value} rounds=${range}${wanted}`);
  }
} finally {
  await whole.close();
  raw.close();
  await bed.close();
}

interface Turn {
  readonly seconds: number;
  readonly perSecond: number;
  /** Of this process: what the machine's other work does not change much. */
  readonly cpuUsEach: number;
  readonly etcdCpuUsEach: number;
}

async function turnOf(writeAll: () => Promise<void>): Promise<Turn> {
  warmMemory(MEMORY_MIB);
  const cpu = process.cpuUsage();
  const etcdUs = processCpuUs(etcd);
  const startMs = performance.now();
  await writeAll();
  const seconds = (performance.now() - startMs) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  return {
    ...{ seconds, perSecond: placements / seconds, cpuUsEach: (user + system) / placements },
    etcdCpuUsEach: (processCpuUs(etcd) - etcdUs) / placements,
  };
}

function secondsOf(turns: readonly Turn[]): number {
  return turns.reduce((sum, { seconds }) => sum + seconds, 0);
}
