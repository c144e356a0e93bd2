/**
 * How smoothly the page scrolls over a large cell that lives: hollow hosts in racks, which report, with allocations that are
 * written as schedulers write them (nobody starts them: a hundred thousand starts would take longer than the bench), and jobs
 * that come and are stopped meanwhile. In each view a list, or the page itself, is scrolled up and down in Chromium for some
 * seconds; a frame is late when it comes more than one and a half intervals of 60 Hz after the one before.
 * `npm run bench -- frames --hosts 10000 --allocations 100000 --seconds 10`
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { undiciClient } from '../../src/adapters/http/client.ts';
import { MonitorClient } from '../../src/clients/monitor-client.ts';
import type { CellKeys } from '../../src/core/cell/keys.ts';
import { cellKeys } from '../../src/core/cell/keys.ts';
import { makeId } from '../../src/core/cell/ids.ts';
import { EMPTY_LEDGER, withClaim } from '../../src/core/fit/ledger.ts';
import { seededRandom } from '../../src/core/random/random.ts';
import type { CellStore, Write } from '../../src/ports/cell-store.ts';
import { allocationCodec, ledgerCodec } from '../../src/wire/records/records.ts';
import { BULK_JOBS_MAX } from '../../src/wire/api/monitor-api.ts';
import { BenchCell } from '../cell/cell.ts';
import { fill, makeAllocation } from '../testbed/fill.ts';
import { amounts } from '../testbed/plain-request.ts';
import { flagsOf } from '../testbed/flags.ts';
import { percentile } from '../testbed/percentile.ts';
import { startBed } from '../testbed/testbed.ts';
import { launchChromium } from './chromium.ts';

const { hosts, allocations, seconds, jobs, comings } = flagsOf({
  ...{ hosts: 10_000, allocations: 100_000, seconds: 10 },
  /** A tenth of the allocations is of one job, the rest of so many others. */
  jobs: 900,
  /** Jobs that come and are stopped, a second. */
  comings: 10,
});

const CELL = 'bench';
const RACK_HOSTS = 100;
/** Allocations were placed one after the other from then on, ten minutes before the bench: the page shows ages. */
const PLACED_SINCE_MS = Date.now() - 600_000;
const RANDOM = seededRandom(1);
const SCROLL_PX = 30;
const LATE_MS = (1.5 * 1000) / 60;

/** Where each view is, what shows that it is drawn, and what is scrolled; null: the page. */
const VIEWS = [
  { name: 'cell', hash: '#/cell', sign: 'Hosts by rack', box: null },
  { name: 'hosts', hash: '#/hosts', sign: `of ${String(hosts)} hosts`, box: 'Hosts' },
  { name: 'jobs', hash: '#/jobs', sign: 'Filter by name, namespace', box: 'Jobs' },
  { name: 'job', hash: '#/jobs/default/large', sign: 'Allocations over time', box: 'Allocations' },
  { name: 'events', hash: '#/events', sign: 'events, live', box: 'Events' },
] as const;

async function measure(): Promise<void> {
  const bed = await startBed();
  const cell = new BenchCell(bed, CELL);
  const http = undiciClient({});
  const over = new AbortController();
  try {
    await cell.role('hollow', ['--no-tickets', '--beat', '10s', '--hosts', hostsFile(bed.folder)]);
    const monitor = await cell.role('monitor', ['--silence', '60s']);
    const { address } = monitor.ready;
    const client = new MonitorClient(http, { urls: [address], from: 'the bench' });
    await fillCell(client, bed.store);
    const coming = comeAndGo(client, over.signal);
    const browser = await launchChromium((text) => process.stdout.write(`page frames ${text}\n`));
    if (browser !== null) await scrollAll(browser, address);
    over.abort();
    await coming;
  } finally {
    over.abort();
    await http.close();
    await cell.processes.stopAll();
    await bed.close();
  }
}

function hostsFile(folder: string): string {
  const file = join(folder, 'hosts.json');
  const list = Array.from({ length: hosts }, (_, n) => ({
    ...{ id: hostName(n), cpuMilli: 16_000, memoryMib: 65_536 },
    attributes: { rack: `r${String(Math.floor(n / RACK_HOSTS))}` },
  }));
  writeFileSync(file, JSON.stringify(list));
  return file;
}

function fileOf(name: string, count: number): object {
  const resources = { cpu: '100m', memory: '64Mi' };
  return { name, type: 'batch', count, command: ['hollow'], resources };
}

const LARGE = Math.round(allocations / 10);
const EACH = Math.round((allocations - LARGE) / jobs);
const jobName = (n: number): string =>
  n < LARGE ? 'large' : `job-${String(Math.floor((n - LARGE) / EACH))}`;
const hostName = (n: number): string => `host-${String(n).padStart(5, '0')}`;

async function fillCell(client: MonitorClient, store: CellStore): Promise<void> {
  const startMs = performance.now();
  const files = [
    fileOf('large', LARGE),
    ...Array.from({ length: jobs }, (_, n) => fileOf(`job-${String(n)}`, EACH)),
  ];
  while (files.length > 0) await client.submitMany(files.splice(0, BULK_JOBS_MAX / 2), { timeoutMs: 60_000 });
  const keys = cellKeys(CELL);
  await fill(store, hosts, (n) => writesOf(keys, n));
  const took = (performance.now() - startMs) / 1000;
  process.stdout.write(
    `page frames cell hosts=${String(hosts)} allocations=${String(allocations)} filled_s=${took.toFixed(0)}\n`,
  );
}

/** Of one host: each of its allocations is of another job. */
function writesOf(keys: CellKeys, n: number): Write[] {
  const host = hostName(n);
  const own = Array.from({ length: Math.ceil(allocations / hosts) }, (_, index) => {
    const at = index * hosts + n;
    const job = jobName(at);
    return makeAllocation({
      id: makeId(PLACED_SINCE_MS + at, RANDOM.bytes(16)),
      ...{ host, precedence: 50, resources: amounts(100, 64), job, group: job, index: at % LARGE },
      ...{ scheduler: 'batch-1', createdAtMs: PLACED_SINCE_MS + at },
    });
  });
  return [
    ...own.map((one): Write => {
      return {
        kind: 'put',
        key: keys.allocation(one.namespace, one.job, one.id),
        value: allocationCodec.encode(one),
      };
    }),
    { kind: 'put', key: keys.ledger(host), value: ledgerCodec.encode(own.reduce(withClaim, EMPTY_LEDGER)) },
  ];
}

async function comeAndGo(client: MonitorClient, signal: AbortSignal): Promise<void> {
  for (let n = 0; !signal.aborted; n++) {
    const job = `coming-${String(n)}`;
    await client.submit(fileOf(job, 1), { signal }).catch(() => undefined);
    await client.stop({ namespace: 'default', job }, { signal }).catch(() => undefined);
    await sleep(1000 / comings, undefined, { signal }).catch(() => undefined);
  }
}

async function scrollAll(browser: Browser, address: string): Promise<void> {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  try {
    for (const { name, hash, sign, box } of VIEWS) {
      const startMs = performance.now();
      await page.goto(`${address}/${hash}`);
      await page.reload();
      await page.getByText(sign).first().waitFor({ timeout: 60_000 });
      if (box !== null) await page.locator(regionOf(box)).waitFor({ timeout: 60_000 });
      const shownMs = performance.now() - startMs;
      const gapsMs = await gapsWhileScrolling(page, box);
      const sum = gapsMs.reduce((all, ms) => all + ms, 0);
      const late = gapsMs.filter((ms) => ms > LATE_MS).length / gapsMs.length;
      const text = [
        `page frames view=${name} frames/s=${((gapsMs.length * 1000) / sum).toFixed(1)}`,
        `interval p50=${percentile(gapsMs, 0.5).toFixed(1)}ms p99=${percentile(gapsMs, 0.99).toFixed(1)}ms`,
        `max=${Math.max(...gapsMs).toFixed(0)}ms late=${(late * 100).toFixed(2)}%`,
        `rows=${String(await page.locator('tbody tr').count())} shown_ms=${shownMs.toFixed(0)}`,
      ];
      process.stdout.write(`${text.join(' ')}\n`);
    }
  } finally {
    await browser.close();
  }
}

function regionOf(label: string): string {
  return `[role=region][aria-label="${label}"]`;
}

/** @returns the time between frames */
function gapsWhileScrolling(page: Page, label: string | null): Promise<readonly number[]> {
  const call = { where: label === null ? null : regionOf(label), ms: seconds * 1000, px: SCROLL_PX };
  return page.evaluate<readonly number[]>(`(${SCROLL})(${JSON.stringify(call)})`);
}

/** Runs in the browser. */
const SCROLL = `({ where, ms, px }) => {
  const box = where === null ? document.scrollingElement : document.querySelector(where);
  const gaps = [];
  let step = px, before = null, first = null;
  return new Promise((resolve) => requestAnimationFrame(function frame(at) {
    first ??= at;
    if (before !== null) gaps.push(at - before);
    before = at;
    const was = box.scrollTop;
    box.scrollTop += step;
    if (box.scrollTop === was) step = -step;
    if (at - first < ms) requestAnimationFrame(frame);
    else resolve(gaps);
  }));
}`;

await measure();
