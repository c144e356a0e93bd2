/**
 * What the page costs: the bytes of its first load, the time to its first picture in a browser (where Chromium is), and the
 * processor time of a monitor with many viewers, beside the same monitor without any. A viewer makes the calls of the view
 * `Cell`, as often as that does, with a token of its own. `npm run bench -- page --viewers 100 --seconds 20`
 *
 * `frames.ts`: how smoothly it scrolls over a large cell; `chromium.ts` finds the browser.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { devCell } from '../../cli/dev/dev-cell.ts';
import { USUAL_CELL } from '../../cli/dev/usual-cell.ts';
import type { LocalCell } from '../../cli/local-cell/local-cell.ts';
import { Steps } from '../../cli/local-cell/steps.ts';
import { nodeClient } from '../../src/adapters/http/node-client.ts';
import { bearerOf } from '../../src/adapters/pki/bearer.ts';
import { MonitorClient } from '../../src/clients/monitor-client.ts';
import { seededRandom } from '../../src/core/random/random.ts';
import { flagsOf } from '../testbed/flags.ts';
import { percentile } from '../testbed/percentile.ts';
import { launchChromium } from './chromium.ts';

const { viewers, seconds, rounds, seed } = flagsOf({ viewers: 100, seconds: 20, rounds: 5, seed: 1 });
/** When viewers first ask. */
const arrivals = seededRandom(seed);

const TOKEN_TTL_MS = 3_600_000;
/** As often as the page asks. */
const CELL_EVERY_MS = 5_000;
const SCHEDULERS_EVERY_MS = 2_000;
const USAGE_EVERY_MS = 10_000;
const EVENTS_AGAIN_MS = 1_000;

async function measure(): Promise<void> {
  const base = mkdtempSync(join(tmpdir(), 'moorage-bench-'));
  const steps = new Steps((text) => void process.stderr.write(text));
  const { cell, start } = devCell(
    {
      base,
      name: 'bench',
      fresh: true,
      ...USUAL_CELL,
      monitors: 1,
      steps,
      onEvent: (line) => steps.line(line),
    },
    new AbortController().signal,
  );
  try {
    await start();
    await firstLoad(cell);
    const tokens = await tokensOf(cell, viewers + 1);
    await firstPicture(cell, tokens[0] ?? '');
    await viewersCost(cell, tokens.slice(1));
  } finally {
    await cell.stop({ erase: true });
    rmSync(base, { recursive: true, force: true });
  }
}

async function firstLoad(cell: LocalCell): Promise<void> {
  const http = nodeClient(cell.credentials);
  const [address = ''] = cell.monitors;
  const get = async (path: string, encoding: string) => {
    const call = { method: 'GET', url: address + path, headers: { 'accept-encoding': encoding } } as const;
    const { headers, chunks } = await http.stream({ ...call, timeoutMs: 5_000, idleTimeoutMs: 5_000 });
    let text = '';
    for await (const chunk of chunks) text += Buffer.from(chunk).toString('latin1');
    return { text, bytes: Number(headers['content-length']) };
  };
  const { text: index } = await get('/', 'identity');
  const files = ['/', ...[...index.matchAll(/"(\/page\/[^"]+)"/g)].map(([, path = '']) => path)];
  let compressed = 0;
  let plain = 0;
  for (const file of files) {
    compressed += (await get(file, 'gzip')).bytes;
    plain += (await get(file, 'identity')).bytes;
  }
  await http.close();
  process.stdout.write(
    `page first-load compressed=${String(compressed)}B plain=${String(plain)}B files=${String(files.length)}\n`,
  );
}

async function tokensOf(cell: LocalCell, count: number): Promise<readonly string[]> {
  const http = nodeClient(cell.credentials);
  const client = new MonitorClient(http, { urls: cell.monitors, from: 'the bench' });
  const tokens: string[] = [];
  for (let n = 0; n < count; n++) {
    const request = {
      name: `viewer-${String(n)}`,
      scope: 'read',
      namespaces: null,
      ttlMs: TOKEN_TTL_MS,
    } as const;
    tokens.push((await client.createToken(request)).token);
  }
  await http.close();
  return tokens;
}

/** Each time in a browser profile of its own, which has nothing of the page yet. */
async function firstPicture(cell: LocalCell, token: string): Promise<void> {
  const browser = await launchChromium((text) => process.stdout.write(`page first-picture ${text}\n`));
  if (browser === null) return;
  const paintsMs: number[] = [];
  const filledMs: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const context = await browser.newContext({ ignoreHTTPSErrors: true });
    const page = await context.newPage();
    const startMs = performance.now();
    await page.goto(`${cell.monitors[0] ?? ''}/#token=${token}`);
    await page.getByRole('rowheader', { name: 'batch-1' }).waitFor();
    filledMs.push(performance.now() - startMs);
    const paint = `performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN`;
    paintsMs.push(await page.evaluate<number>(paint));
    await context.close();
  }
  await browser.close();
  process.stdout.write(
    `page first-picture p50=${percentile(paintsMs, 0.5).toFixed(0)}ms filled p50=${percentile(filledMs, 0.5).toFixed(0)}ms rounds=${String(rounds)}\n`,
  );
}

async function viewersCost(cell: LocalCell, tokens: readonly string[]): Promise<void> {
  const pid = cell.members.find((member) => member.name === 'monitor-1')?.pid ?? 0;
  const idle = await shareOfCore(pid);
  const over = new AbortController();
  const ca = readFileSync(join(cell.credentials?.folder ?? '', 'ca.pem'), 'utf8');
  const calls = { made: 0, failed: 0 };
  const watching = tokens.map((token) => watch(cell, token, ca, calls, over.signal));
  // Their first calls open connections.
  await pause(CELL_EVERY_MS);
  Object.assign(calls, { made: 0, failed: 0 });
  const watched = await shareOfCore(pid);
  const perSecond = calls.made / seconds;
  over.abort();
  await Promise.all(watching);
  process.stdout.write(
    `page viewers=${String(tokens.length)} monitor cpu=${(watched * 100).toFixed(1)}% of a core, ` +
      `without viewers ${(idle * 100).toFixed(1)}%; calls=${perSecond.toFixed(0)}/s ` +
      `cpu/call=${(((watched - idle) * 1e6) / perSecond).toFixed(0)}us failed=${String(calls.failed)} seconds=${String(seconds)}\n`,
  );
}

/** Of the process, user and system, while `seconds` pass. */
async function shareOfCore(pid: number): Promise<number> {
  const startMs = performance.now();
  const beforeMs = cpuMs(pid);
  await pause(seconds * 1000);
  return (cpuMs(pid) - beforeMs) / (performance.now() - startMs);
}

/** From the kernel's hundredths of a second. */
function cpuMs(pid: number): number {
  const stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function watch(
  cell: LocalCell,
  token: string,
  ca: string,
  calls: { made: number; failed: number },
  signal: AbortSignal,
): Promise<void> {
  const http = nodeClient(bearerOf(token, ca));
  const client = new MonitorClient(http, { urls: cell.monitors, from: 'the bench' }, signal);
  const again = async (everyMs: number, ask: () => readonly Promise<unknown>[]): Promise<void> => {
    // They did not come at one moment.
    await pause(arrivals.fraction() * everyMs, undefined, { signal }).catch(() => undefined);
    while (!signal.aborted) {
      const asked = ask();
      calls.made += asked.length;
      // As the page does: it is asked again.
      const answers = await Promise.allSettled(asked);
      if (!signal.aborted) calls.failed += answers.filter(({ status }) => status === 'rejected').length;
      await pause(everyMs, undefined, { signal });
    }
  };
  const follow = async (): Promise<void> => {
    while (!signal.aborted) {
      try {
        for await (const _ of client.events('now', { follow: true, signal }));
      } catch {
        if (!signal.aborted) calls.failed += 1;
      }
      await pause(EVENTS_AGAIN_MS, undefined, { signal });
    }
  };
  const all = [
    again(CELL_EVERY_MS, () => [client.cell(), client.hosts(), client.pauses(), client.jobs()]),
    again(SCHEDULERS_EVERY_MS, () => [client.schedulers()]),
    again(USAGE_EVERY_MS, () => [client.usage({})]),
    follow(),
  ];
  try {
    await Promise.all(all);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await Promise.allSettled(all);
    await http.close();
  }
}

await measure();
