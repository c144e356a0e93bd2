/**
 * How often may an agent die at any moment before a byte, a signal or an end is lost or doubled? This file runs several such
 * hosts side by side and prints what each found.
 *
 * - `agent-kills.ts` is one host: a task, its clients, and an agent that is killed again and again.
 * - `lives.ts` decides when each agent dies, and starts the next one.
 * - `echo.ts` is the task, which repeats its input, and the check of what it wrote.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beginAgentProcess } from '../host-process.ts';
import type { KillsResult } from './agent-kills.ts';
import { isExact, killAgents } from './agent-kills.ts';
import { EXIT_CODE } from './echo.ts';

export interface SoakOptions {
  /** Of all agents together. */
  readonly kills: number;
  /** Hosts side by side, each with agents, a task and clients of its own. */
  readonly agents: number;
  /** Of the first host; each next host has the next one. */
  readonly seed: number;
  /** Prints a result. */
  readonly print: (line: string) => void;
  /** Prints progress. */
  readonly onProgress: (line: string) => void;
}

const LINES_PER_LIFE = 400;
const SIGNALS_PER_LIFE = 12;

/**
 * The first Ctrl-C ends the kills and compares what there was, the second ends the process.
 * @returns whether all was exact, and all kills were made
 */
export async function soak(options: SoakOptions): Promise<boolean> {
  const { kills, agents, seed, print, onProgress } = options;
  const stop = new AbortController();
  const onSignal = (): void => {
    if (stop.signal.aborted) process.exit(1);
    onProgress('host soak is to stop: no more kills, all is compared');
    stop.abort();
  };
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal);
  const startMs = performance.now();
  let made = 0;
  const runs = Array.from({ length: agents }, async (_, n): Promise<KillsResult | null> => {
    let before = 0;
    const hostSeed = seed + n;
    const found = await onHost(
      { kills: Math.ceil(kills / agents), seed: hostSeed, stop: stop.signal },
      (one) => {
        made += one.kills - before;
        before = one.kills;
        const minutes = (performance.now() - startMs) / 60_000;
        onProgress(
          `host soak kill ${String(made)}/${String(kills)} seed=${String(hostSeed)} at=${one.moment} ` +
            `lines=${String(one.lines)} signals=${String(one.signals)} retries=${String(one.retries)} ` +
            `per-minute=${(made / minutes).toFixed(0)}`,
        );
      },
    ).catch((error: unknown) => {
      print(`host soak seed=${String(hostSeed)} FAILED: ${String(error)}`);
      return null;
    });
    if (found !== null) print(lineOf(found, hostSeed));
    return found;
  });
  const all = await Promise.all(runs);
  process.off('SIGINT', onSignal).off('SIGTERM', onSignal);
  const found = all.filter((one) => one !== null);
  const exact = found.filter(isExact).length;
  const total = found.reduce((sum, one) => sum + one.kills, 0);
  const minutes = (performance.now() - startMs) / 60_000;
  print(
    `host soak agents=${String(agents)} kills=${String(total)} of=${String(kills)} ` +
      `exact=${String(exact)}/${String(agents)} minutes=${minutes.toFixed(1)}`,
  );
  return exact === agents && total >= kills;
}

async function onHost(
  options: { readonly kills: number; readonly seed: number; readonly stop: AbortSignal },
  onKill: NonNullable<Parameters<typeof killAgents>[0]['onKill']>,
): Promise<KillsResult> {
  const folder = mkdtempSync(join(tmpdir(), 'moorage-bench-'));
  const bounds = { linesPerLife: LINES_PER_LIFE, signalsPerLife: SIGNALS_PER_LIFE };
  try {
    return await killAgents(
      { ...options, ...bounds, begin: () => beginAgentProcess(folder), onKill },
      folder,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

function lineOf(found: KillsResult, seed: number): string {
  const { commands, signalsReceived, signalsSent, wrong } = found;
  return (
    `host soak kills=${String(found.kills)} retries=${String(found.retries)} seed=${String(seed)} ` +
    `input-lines=${String(found.lines)} input=${found.inputMatches ? 'identical' : 'DIFFERS'} ` +
    `output-bytes=${String(found.outputBytes)} output=${found.outputMatches ? 'identical' : 'DIFFERS'} ` +
    `signals=${String(signalsReceived)}/${String(signalsSent)} ` +
    `commands-once=${String(commands.ranOnce)}/${String(commands.ordered)} ` +
    `exit=${found.end?.exit.code === EXIT_CODE && found.runs === 1 ? 'exactly-once' : 'WRONG'}` +
    (wrong === null ? '' : ` first-wrong=${wrong}`) +
    (commands.wrong === null ? '' : ` wrong-command=${commands.wrong}`)
  );
}
