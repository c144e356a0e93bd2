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
 * store's check of rights is on and off in turns, and both are printed.
 */
const { runs, warmup, plain, turns } = flagsOf({ runs: 300, warmup: 30, plain: false, turns: false });
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

function print(how: string, timesMs: readonly number[]): void {
  const [p50, p99] = [percentile(timesMs, 0.5), percentile(timesMs, 0.99)];
  process.stdout.write(
    `oneoff submit-to-first-byte p50=${p50.toFixed(1)}ms p99=${p99.toFixed(1)}ms runs=${String(timesMs.length)} hosts=3 ${how}\n`,
  );
}

async function measure(): Promise<void> {
  const base = mkdtempSync(join(tmpdir(), 'moorage-bench-'));
  const steps = new Steps((text) => void process.stderr.write(text));
  const { cell, start } = devCell(
    {
      base,
      name: 'bench',
      fresh: true,
      plain,
      ...USUAL_CELL,
      steps,
      onEvent: (line) => steps.line(line),
    },
    new AbortController().signal,
  );
  let http: HttpClient | null = null;
  try {
    await start();
    http = undiciClient({ credentials: cell.credentials });
    const monitor = cell.monitors[0] ?? '';
    const operator = etcdClient({ endpoints: [cell.etcd], credentials: cell.credentials });
    const timesMs = { checked: [] as number[], unchecked: [] as number[] };
    for (let n = 0; n < warmup + runs; n++) {
      const isUnchecked = turns && Math.floor(n / TURN_RUNS) % 2 === 1;
      if (turns && n % TURN_RUNS === 0)
        await (isUnchecked ? operator.auth.authDisable() : operator.auth.authEnable());
      const elapsedMs = await firstByteMs(http, monitor, n);
      if (n >= warmup) timesMs[isUnchecked ? 'unchecked' : 'checked'].push(elapsedMs);
    }
    operator.close();
    print(plain ? 'plain' : 'tls', timesMs.checked);
    if (turns) print('tls, no rights checked in the store', timesMs.unchecked);
  } finally {
    await http?.close();
    await cell.stop({ erase: true });
    rmSync(base, { recursive: true, force: true });
  }
}

await measure();
