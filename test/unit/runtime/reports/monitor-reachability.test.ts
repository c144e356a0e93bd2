import { expect, it } from 'vitest';
import { seededRandom } from '../../../../src/core/random/random.ts';
import { MonitorReachability } from '../../../../src/runtime/reports/monitor-reachability.ts';

/** Longest from the first check that found most hosts silent until the monitor is to be left. */
const BLIND_MS = 20_000;
const HOSTS = ['h1', 'h2', 'h3'];

class Watched {
  readonly reachability = new MonitorReachability(seededRandom(1));
  nowMs = 0;

  constructor() {
    this.reachability.begin();
    for (const host of HOSTS) this.reachability.reporting(host);
  }

  all(how: 'reporting' | 'silent'): void {
    for (const host of HOSTS) this.reachability[how](host);
  }

  /** Looked at each second for so long. @returns when it was said to be blind */
  look(forMs: number): number[] {
    const said: number[] = [];
    for (const endMs = this.nowMs + forMs; this.nowMs < endMs; this.nowMs += 1_000) {
      this.reachability.observe(this.nowMs);
      if (this.reachability.isCutOff(this.nowMs)) said.push(this.nowMs);
    }
    return said;
  }
}

it('a monitor that hears most hosts is kept', () => {
  const watched = new Watched();
  watched.reachability.silent('h1');
  expect(watched.look(60_000)).toEqual([]);
});

it('a monitor to which most hosts are silent for 10 to 20 s is left, and the next ones ever more rarely', () => {
  const watched = new Watched();
  watched.all('silent');
  const [first = 0, ...more] = watched.look(3_600_000);
  expect(first).toBeGreaterThanOrEqual(10_000);
  expect(first).toBeLessThanOrEqual(BLIND_MS);
  const gaps = more.map((atMs, n) => atMs - (n === 0 ? first : (more[n - 1] ?? 0)));
  expect(gaps[0]).toBeGreaterThanOrEqual(30_000);
  expect(gaps.at(-1)).toBeGreaterThan(2 * (gaps[0] ?? 0));
});

it('not all who follow it leave it at the same time', () => {
  const leaves = Array.from({ length: 8 }, (_, seed) => {
    const freshness = new MonitorReachability(seededRandom(seed));
    freshness.begin();
    for (const host of HOSTS) freshness.silent(host);
    for (let nowMs = 0; ; nowMs += 1_000) {
      freshness.observe(nowMs);
      if (freshness.isCutOff(nowMs)) return nowMs;
    }
  });
  expect(new Set(leaves).size).toBeGreaterThan(3);
});

it('the time begins anew when most hosts reported meanwhile, also between two checks', () => {
  const watched = new Watched();
  watched.all('silent');
  watched.look(1_000);
  watched.all('reporting');
  watched.all('silent');
  watched.nowMs = 600_000;
  expect(watched.look(10_000)).toEqual([]);
  expect(watched.look(BLIND_MS)).toHaveLength(1);
});

it('once most hosts reported another one is tried as soon as at first', () => {
  const watched = new Watched();
  watched.all('silent');
  watched.look(3_600_000);
  watched.all('reporting');
  watched.look(1_000);
  watched.all('silent');
  const fromMs = watched.nowMs;
  const [first = Infinity] = watched.look(60_000);
  expect(first - fromMs).toBeLessThanOrEqual(BLIND_MS);
});

it('a monitor that knows of no host does not count as one that hears most', () => {
  const watched = new Watched();
  watched.all('silent');
  const before = watched.look(3_600_000).at(-1) ?? 0;
  watched.reachability.begin();
  watched.look(1_000);
  watched.all('silent');
  const [next = Infinity] = watched.look(3_600_000);
  expect(next - before).toBeGreaterThan(2 * BLIND_MS);
});
