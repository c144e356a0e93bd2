import { once } from 'node:events';
import { relative } from 'node:path';
import { nodeClient } from '../../src/adapters/http/node-client.ts';
import type { Context } from '../command/context.ts';
import { failedStop, usageError } from '../command/exit.ts';
import { onParentGone } from '../command/parent-gone.ts';
import type { LocalCell } from '../local-cell/local-cell.ts';
import { ttlMsOf } from '../operator/pki.ts';
import { Steps } from '../local-cell/steps.ts';
import { killOneByOne } from './chaos.ts';
import { readAmount } from '../roles/options.ts';
import { readDuration } from '../../src/wire/values/units.ts';
import type { Terminal } from '../command/terminal.ts';
import { devCell } from './dev-cell.ts';
import { demonstrate } from './demonstration.ts';
import { pageLink } from './page-link.ts';
import type { CellSize } from './usual-cell.ts';

export interface DevOptions extends CellSize {
  readonly once: boolean;
  readonly demo: boolean;
  readonly name: string;
  readonly fresh: boolean;
  readonly certificateTtl?: string;
  /** Kills one of its processes about so often; absent: none. */
  readonly chaos?: string;
}

const CHAOS_MIN_MS = 1_000;

/** `moorage dev`: a whole cell on this machine until it is interrupted, or until the demonstration is over. */
export async function dev(context: Context, options: DevOptions): Promise<number> {
  if (options.demo && options.schedulers.filter((kind) => kind === 'batch').length < 2)
    throw usageError(
      'the demonstration lets two batch schedulers compete',
      'moorage dev --no-demo, or --schedulers batch,batch',
    );
  const chaosMs =
    options.chaos === undefined ? null : readAmount('--chaos', options.chaos, readDuration, 'dev');
  if (chaosMs !== null && chaosMs < CHAOS_MIN_MS)
    throw usageError('--chaos: a process needs a second to come back', 'moorage dev --chaos 10s');
  if (chaosMs !== null && options.once)
    throw usageError('--once ends before anything could be killed', 'moorage dev --chaos 10s');
  context.endInOrder();
  const gone = new AbortController();
  onParentGone(context.terminal.env, () => gone.abort());
  const interrupted = AbortSignal.any([context.interrupted, gone.signal]);
  return runCell(
    { ...options, chaosMs, sleep: (ms, signal) => context.terminal.sleep(ms, signal) },
    process.cwd(),
    interrupted,
  );
}

interface CellRun extends DevOptions {
  readonly chaosMs: number | null;
  readonly sleep: Terminal['sleep'];
}

/** @param base where `.moorage/` is, or will be made */
async function runCell(options: CellRun, base: string, interrupted: AbortSignal): Promise<number> {
  const steps = new Steps((text) => void process.stdout.write(text));
  // A cell that is to leave nothing behind must not touch the data of one that is to stay.
  const name = options.once ? `once-${String(process.pid)}` : options.name;
  const startMs = performance.now();
  const { cell, start } = devCell(
    {
      base,
      name,
      fresh: options.fresh,
      certificateTtlMs: ttlMsOf(options.certificateTtl),
      hosts: options.hosts,
      monitors: options.monitors,
      arbiters: options.arbiters,
      schedulers: options.schedulers,
      steps,
      onEvent: (line) => steps.line(`  ${line}`),
    },
    interrupted,
  );
  let failed = false;
  try {
    steps.line(`cell "${cell.folder.name}"`);
    await start();
    if (interrupted.aborted) return 0;
    steps.line(
      `up in ${((performance.now() - startMs) / 1000).toFixed(1)} s; data: ${relative(base, cell.folder.path)}`,
    );
    if (options.demo) await show(cell, steps, interrupted);
    if (!options.once) await stay(cell, steps, interrupted, options);
    return 0;
  } catch (error) {
    failed = true;
    throw interrupted.aborted ? failedStop(error) : error;
  } finally {
    // After a failure the logs are worth more than an empty folder.
    const erase = options.once && !failed;
    await steps.step(
      'stop',
      () => cell.stop({ erase }),
      () => 'all processes ended',
    );
    if (failed) steps.line(`logs: ${cell.folder.logs}`);
  }
}

async function show(cell: LocalCell, steps: Steps, interrupted: AbortSignal): Promise<void> {
  const http = nodeClient(cell.credentials);
  try {
    await Promise.race([demonstrate(cell, http, steps), once(interrupted, 'abort')]);
  } finally {
    await http.close();
  }
}

async function stay(
  cell: LocalCell,
  steps: Steps,
  interrupted: AbortSignal,
  { chaosMs, sleep }: Pick<CellRun, 'chaosMs' | 'sleep'>,
): Promise<void> {
  steps.line(`monitors:  ${cell.monitors.join('  ')}`);
  steps.line(`page:      ${await pageLink(cell)}`);
  steps.line(`etcd:      ${cell.etcd}`);
  steps.line('processes: ' + cell.members.map(({ name, pid }) => `${name} ${String(pid)}`).join(', '));
  steps.line(
    'From another terminal, in this folder: npx moorage ps · hosts · schedulers · events -f · run -- COMMAND',
  );
  steps.line('Ctrl-C stops it.');
  if (interrupted.aborted) return;
  if (chaosMs === null) await once(interrupted, 'abort');
  else await killOneByOne(cell, { everyMs: chaosMs, steps, sleep }, interrupted);
  steps.line('');
}
