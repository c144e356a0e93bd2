import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { devCell } from '../../cli/dev/dev-cell.ts';
import { USUAL_CELL } from '../../cli/dev/usual-cell.ts';
import { Steps } from '../../cli/local-cell/steps.ts';
import { etcdClient } from '../../src/adapters/etcd/client/client.ts';
import { undiciClient } from '../../src/adapters/http/client.ts';
import type { HttpClient } from '../../src/ports/http.ts';
import type { RunAnswer } from '../../src/wire/api/monitor-api.ts';
import { percentile } from '../testbed/percentile.ts';
import { flagsOf } from '../testbed/flags.ts';

/**
 * One-off runs on an idle cell of separate processes: from just before the submission to the first byte of output, one
 * after the other. `npm run bench -- oneoff --runs 300`; with `--plain` without TLS; with `--turns` the
 * store's check of rights is on and off in turns, and both are printed; with `--beside-plain` a cell with TLS, certificates and
 * rights and one without any are up at once, and asked in turns, since the machine's own speed changes from minute to minute.
 */
const {
  runs,
  warmup,
  plain,
  turns,
  'beside-plain': besidePlain,
} = flagsOf({ runs: 300, warmup: 30, plain: false, turns: false, 'beside-plain': false });
/** Runs of one turn. */
const TURN_RUNS = 25;

const CALL_TIMEOUT_MS = 10_000;

async function firstByteMs(http: HttpClient, monitor: string, n: number): Promise<number> {
  const startMs = performance.now();
  const answer = await http.call({
    method: 'POST',
    url: `${monitor}/v1/runs`,
    headers: { 'idempotency-key': `bench-${String(process.pid)}-${String(n)}` },
    body: { name: 'oneoff', type: 'batch', command: ['/bin/echo', 'first byte'] },
    timeoutMs: CALL_TIMEOUT_MS,
  });
  if (answer.status >= 300) throw new Error(`run refused: ${JSON.stringify(answer.body)}`);
  const { namespace, job } = answer.body as RunAnswer;
  const stream = await http.stream({
    method: 'GET',
    url: `${monitor}/v1/jobs/${namespace}/${job}/logs?stream=stdout&follow=true`,
    timeoutMs: CALL_TIMEOUT_MS,
    idleTimeoutMs: CALL_TIMEOUT_MS,
  });
  let elapsedMs: number | null = null;
  for await (const chunk of stream.chunks) {
    if (chunk.length > 0) elapsedMs ??= performance.now() - startMs;
  }
  if (elapsedMs === null) throw new Error(`run ${job} gave no output (status ${String(stream.status)})`);
  return elapsedMs;
}

interface Percentiles {
  readonly p50: number;
  readonly p99: number;
}

function print(how: string, timesMs: readonly number[]): Percentiles {
  const [p50, p99] = [percentile(timesMs, 0.5), percentile(timesMs, 0.99)];
  process.stdout.write(
    `oneoff submit-to-first-byte p50=${p50.toFixed(1)}ms p99=${p99.toFixed(1)}ms runs=${String(timesMs.length)} hosts=3 ${how}\n`,
  );
  return { p50, p99 };
}

/** An idle cell, and a client of its own. */
interface Asked {
  readonly http: HttpClient;
  readonly monitor: string;
  /** Whether etcd checks the rights of its callers. */
  checkRights(isOn: boolean): Promise<void>;
  stop(): Promise<void>;
}

async function startCell(isPlain: boolean): Promise<Asked> {
  const base = mkdtempSync(join(tmpdir(), 'moorage-bench-'));
  const steps = new Steps((text) => void process.stderr.write(text));
  const options = { base, name: 'bench', fresh: true, plain: isPlain, ...USUAL_CELL, steps };
  const { cell, start } = devCell(
    { ...options, onEvent: (line) => steps.line(line) },
    new AbortController().signal,
  );
  const stopCell = async (): Promise<void> => {
    await cell.stop({ erase: true });
    rmSync(base, { recursive: true, force: true });
  };
  try {
    await start();
  } catch (error) {
    await stopCell();
    throw error;
  }
  const { credentials } = cell;
  const http = undiciClient({ credentials });
  const operator = etcdClient({ endpoints: [cell.etcd], credentials });
  return {
    http,
    monitor: cell.monitors[0] ?? '',
    checkRights: async (isOn) =>
      void (await (isOn ? operator.auth.authEnable() : operator.auth.authDisable())),
    stop: async () => {
      operator.close();
      await http.close();
      await stopCell();
    },
  };
}

interface Turn {
  readonly cell: Asked;
  /** Where its time goes. */
  readonly timesMs: number[];
}

/** @param turnOf called before each run, of which the first ones have negative numbers and do not count */
async function measure(cells: number, turnOf: (n: number) => Turn | Promise<Turn>): Promise<void> {
  for (let n = -warmup * cells; n < runs * cells; n++) {
    const { cell, timesMs } = await turnOf(n);
    const elapsedMs = await firstByteMs(cell.http, cell.monitor, n);
    if (n >= 0) timesMs.push(elapsedMs);
  }
}

const isSecondTurn = (n: number): boolean => Math.floor(n / TURN_RUNS) % 2 !== 0;

async function measureOne(cell: Asked): Promise<void> {
  const checked: number[] = [];
  const unchecked: number[] = [];
  await measure(1, async (n) => {
    if (turns && n % TURN_RUNS === 0) await cell.checkRights(!isSecondTurn(n));
    return { cell, timesMs: turns && isSecondTurn(n) ? unchecked : checked };
  });
  print(plain ? 'plain' : 'tls', checked);
  if (turns) print('tls, no rights checked in the store', unchecked);
}

async function measureBoth(secured: Asked, unsecured: Asked): Promise<void> {
  const on: number[] = [];
  const off: number[] = [];
  await measure(2, (n) =>
    isSecondTurn(n) ? { cell: unsecured, timesMs: off } : { cell: secured, timesMs: on },
  );
  const [ofOn, ofOff] = [print('tls', on), print('plain', off)];
  const [p50, p99] = [ofOn.p50 / ofOff.p50, ofOn.p99 / ofOff.p99];
  process.stdout.write(`oneoff beside-plain p50_ratio=${p50.toFixed(2)} p99_ratio=${p99.toFixed(2)}\n`);
}

const cells: Asked[] = [];
try {
  cells.push(await startCell(plain));
  if (besidePlain) cells.push(await startCell(true));
  const [cell, other] = cells;
  if (cell !== undefined) await (other === undefined ? measureOne(cell) : measureBoth(cell, other));
} finally {
  for (const cell of cells) await cell.stop();
}
