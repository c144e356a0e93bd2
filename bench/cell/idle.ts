import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { devCell } from '../../cli/dev/dev-cell.ts';
import { USUAL_CELL } from '../../cli/dev/usual-cell.ts';
import { Steps } from '../../cli/local-cell/steps.ts';
import { flagsOf } from '../testbed/flags.ts';
import { processCpuUs } from '../testbed/process-cpu.ts';

/**
 * How soon a development cell is up, and what it costs while nobody asks anything of it: the share of a processor of each process, and
 * the memory that is its own (PSS), in which shared pages are divided among those that share them.
 */
const flags = flagsOf({
  /** Schedulers warm up, and certificates, sessions and streams settle. */
  'rest-s': 60,
  'idle-s': 40,
});

function pssMib(pid: number): number {
  const rollup = readFileSync(`/proc/${String(pid)}/smaps_rollup`, 'utf8');
  return Number(/^Pss:\s+(\d+)/m.exec(rollup)?.[1]) / 1024;
}

const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0);
const percent = (share: number): string => `${(share * 100).toFixed(2)}%`;

const base = mkdtempSync(join(tmpdir(), 'moorage-bench-'));
const startMs = performance.now();
const { cell, start } = devCell(
  {
    ...{ base, name: 'bench', fresh: true, ...USUAL_CELL },
    steps: new Steps((text) => void process.stderr.write(text)),
    onEvent: (line) => void process.stderr.write(`${line}\n`),
  },
  new AbortController().signal,
);
try {
  await start();
  const upS = (performance.now() - startMs) / 1_000;
  await sleep(flags['rest-s'] * 1_000);
  const { members } = cell;
  const idleMs = performance.now();
  const before = members.map(processCpuUs);
  await sleep(flags['idle-s'] * 1_000);
  const idleUs = (performance.now() - idleMs) * 1_000;
  const shares = members.map((member, at) => (processCpuUs(member) - (before[at] ?? 0)) / idleUs);
  const [storeMib = 0, ...rolesMib] = members.map(({ pid }) => pssMib(pid));
  console.log(
    `idle up_s=${upS.toFixed(1)} roles=${String(rolesMib.length)} cpu=${percent(sum(shares))}` +
      ` (${members.map(({ name }, at) => `${name}:${percent(shares[at] ?? 0)}`).join(' ')})` +
      ` roles_pss_mib=${sum(rolesMib).toFixed(0)} etcd_pss_mib=${storeMib.toFixed(0)} wanted=<=5%,<=600`,
  );
} finally {
  await cell.stop({ erase: true });
  rmSync(base, { recursive: true, force: true });
}
