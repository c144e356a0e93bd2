import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { nodeClient } from '../../src/adapters/http/node-client.ts';
import { MonitorClient } from '../../src/clients/monitor-client.ts';
import { seededRandom } from '../../src/core/random/random.ts';
import { checkCell, exitOf, renderCheck } from '../operator/check.ts';
import type { Context } from '../command/context.ts';
import type { LocalCell } from '../local-cell/local-cell.ts';
import { Steps } from '../local-cell/steps.ts';
import { CliError, EXIT } from '../command/exit.ts';
import { printAnswer } from '../output/output.ts';
import type { TraceHost, TracePod } from '../openb/openb.ts';
import { readHosts, readPods, shuffled } from '../openb/openb.ts';
import { ownCell } from './own-cell.ts';
import type { ReplayReport } from './report.ts';
import { givenAway, placingSeconds, renderReport } from './report.ts';
import type { Settled } from './settle.ts';
import { reasonsOf, untilSettled } from './settle.ts';
import type { Submitted } from './submit.ts';
import { submitPods } from './submit.ts';

export interface ReplayOptions {
  readonly pods?: number;
  readonly schedulers: number;
  readonly list: string;
  readonly nodes: string;
  readonly seed?: number;
  readonly keep: boolean;
  readonly check: boolean;
  readonly conflictCheck?: string;
  readonly timeoutSeconds: number;
  readonly address: readonly string[];
}

const PROGRESS_EVERY_MS = 5_000;

/** Loads a trace onto a cell and reports what became of every pod. */
export async function replay(context: Context, folder: string, options: ReplayOptions): Promise<number> {
  const pods = choosePods(folder, options);
  context.endInOrder();
  if (options.address.length > 0) {
    // A shared cell may hold the jobs of an earlier replay.
    const namespace = `replay-${randomUUID().slice(0, 8)}`;
    return await run(context, await context.api(), { folder, pods, options, namespace });
  }
  const hosts = chooseHosts(folder, options.nodes);
  const steps = new Steps((text) => context.terminal.err(text));
  const { conflictCheck, schedulers } = options;
  const onEvent = (line: string): void => steps.line(`  ${line}`);
  const base = context.terminal.cwd;
  const { cell, start } = ownCell({ base, hosts, schedulers, conflictCheck, steps, onEvent });
  let failed = true;
  try {
    steps.line(`cell "${cell.folder.name}" for ${String(pods.length)} pods`);
    await start();
    const api = new MonitorClient(nodeClient(cell.credentials), { urls: cell.monitors, from: 'the replay' });
    let code = await run(context, api, { folder, pods, options, namespace: 'replay' });
    if (options.check && !context.interrupted.aborted) code = Math.max(code, await verify(context, cell));
    if (options.keep) await stay(context, cell, steps);
    failed = false;
    return code;
  } finally {
    await steps.step(
      'stop',
      () => cell.stop({ erase: !failed }),
      () => 'all processes ended',
    );
    if (failed) steps.line(`logs: ${cell.folder.logs}`);
  }
}

interface Load {
  readonly folder: string;
  readonly pods: readonly TracePod[];
  readonly options: ReplayOptions;
  readonly namespace: string;
}

async function run(context: Context, api: MonitorClient, load: Load): Promise<number> {
  const { pods, options, namespace } = load;
  const { terminal, interrupted: signal } = context;
  const sleep = (ms: number): Promise<void> => terminal.sleep(ms, signal);
  const nowMs = (): number => terminal.nowMs();
  let printedMs = 0;
  const printProgress = (text: () => string): void => {
    if (nowMs() - printedMs < PROGRESS_EVERY_MS) return;
    printedMs = nowMs();
    terminal.err(`  ${text()}\n`);
  };
  const startMs = nowMs();
  const submitted = await submitPods(api, pods, {
    ...{ namespace, signal, sleep },
    onProgress: (done) => printProgress(() => `submitted ${String(done)} of ${String(pods.length)}`),
  });
  const submitSeconds = (nowMs() - startMs) / 1000;
  const settled = await untilSettled(api, {
    ...{ namespace, pods: submitted.accepted, signal, sleep, nowMs },
    timeoutMs: options.timeoutSeconds * 1000,
    onProgress: (placed, { schedulers }) =>
      printProgress(
        () =>
          `placed ${String(placed)}; ${schedulers.map((one) => `${one.id} ${String(one.pending)} pending`).join(', ')}`,
      ),
  });
  if (signal.aborted) return EXIT.signalBase + 2;
  const report = await reportOf(api, load, submitted, settled, submitSeconds);
  await printAnswer(context, report, { text: () => renderReport(report) });
  if (report.placed + report.waiting + report.refused !== report.pods) {
    terminal.err(
      `moorage: ${String(report.pods - report.placed - report.waiting - report.refused)} pods are unaccounted for\n`,
    );
    return EXIT.workloadFailed;
  }
  return settled.inTime ? EXIT.ok : EXIT.unplaceable;
}

async function reportOf(
  api: MonitorClient,
  { folder, pods, options, namespace }: Load,
  submitted: Submitted,
  settled: Settled,
  submitSeconds: number,
): Promise<ReplayReport> {
  const long = { timeoutMs: 60_000 };
  const [reasons, hosts, schedulers, allocations] = await Promise.all([
    reasonsOf(api, namespace, settled.waitingNames),
    api.hosts(long),
    api.schedulers(),
    api.allocations({ namespace }, long),
  ]);
  const placeSeconds = placingSeconds(allocations.allocations);
  const batch = schedulers.schedulers.filter((one) => one.kind === 'batch');
  return {
    trace: folder,
    list: options.list,
    seed: options.seed ?? null,
    hosts: hosts.hosts.length,
    pods: pods.length,
    placed: settled.placed,
    waiting: settled.waitingNames.length,
    refused: [...submitted.refused.values()].reduce((sum, count) => sum + count, 0),
    settled: settled.inTime,
    waitingReasons: reasons,
    refusedReasons: [...submitted.refused],
    conflicts: batch.reduce((sum, one) => sum + one.conflicted, 0),
    rebases: batch.reduce((sum, one) => sum + one.rebased, 0),
    submitSeconds,
    placeSeconds,
    placementsPerSecond: placeSeconds === 0 ? 0 : settled.placed / placeSeconds,
    givenAway: givenAway(hosts.hosts),
    schedulers: batch,
  };
}

async function verify(context: Context, cell: LocalCell): Promise<number> {
  const found = await checkCell({ etcd: [cell.etcd], cell: cell.folder.name, credentials: cell.credentials });
  const { terminal, output } = context;
  if (output === 'json' || output === 'yaml') terminal.err(renderCheck(found));
  else terminal.out(`\n${renderCheck(found)}`);
  return exitOf(found);
}

async function stay(context: Context, cell: LocalCell, steps: Steps): Promise<void> {
  steps.line(`monitors:  ${cell.monitors.join('  ')}`);
  steps.line(`check:     moorage check --etcd ${cell.etcd} --cell ${cell.folder.name}`);
  steps.line('Ctrl-C stops it.');
  const { interrupted } = context;
  if (!interrupted.aborted) await once(interrupted, 'abort');
}

function choosePods(folder: string, options: ReplayOptions): TracePod[] {
  const file = `openb_pod_list_${options.list}.csv`;
  const all = readPods(readTrace(folder, file), file);
  const ordered = options.seed === undefined ? all : shuffled(all, belowOf(options.seed));
  const { pods } = options;
  if (pods !== undefined && pods > all.length)
    throw new CliError(
      EXIT.usage,
      `--pods ${String(pods)}: ${file} has ${String(all.length)}`,
      'moorage replay --help',
    );
  return pods === undefined ? ordered : ordered.slice(0, pods);
}

function belowOf(seed: number): (bound: number) => number {
  const random = seededRandom(seed);
  return (bound) => random.below(bound);
}

const NODE_LISTS: Readonly<Record<string, string>> = {
  all: 'openb_node_list_all_node.csv',
  gpu: 'openb_node_list_gpu_node.csv',
};

function chooseHosts(folder: string, nodes: string): TraceHost[] {
  const file = NODE_LISTS[nodes] ?? NODE_LISTS.all ?? '';
  return readHosts(readTrace(folder, file), file);
}

function readTrace(folder: string, file: string): string {
  try {
    return readFileSync(join(folder, file), 'utf8');
  } catch (error) {
    throw new CliError(
      EXIT.badSpec,
      `${join(folder, file)}: cannot be read; a folder with the openb-2023 trace is needed`,
      'moorage replay FOLDER --list default',
      error,
    );
  }
}
