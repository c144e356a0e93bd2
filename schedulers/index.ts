import { openCredentials } from '../src/adapters/pki/credentials.ts';
import { pinoLog } from '../src/adapters/telemetry/telemetry.ts';
import type { SchedulerKind } from '../src/core/cell/job.ts';
import { runScheduler as run } from './main.ts';
import type { OwnPolicy } from './policies/own.ts';

export type { Host } from '../src/core/host/host.ts';
export type { ScoredHost, ScoredWork, ScoreHost } from '../src/core/scoring/policy.ts';
export type { OwnPolicy } from './policies/own.ts';

/** What `moorage scheduler` has as flags, and a policy. */
export interface OwnSchedulerOptions {
  readonly cell: string;
  /** Members of the store: `https://10.0.0.1:2379`. */
  readonly etcd: readonly string[];
  readonly id: string;
  /** Whose jobs it shares with the other schedulers of this kind. */
  readonly kind: SchedulerKind;
  readonly policy: OwnPolicy;
  /** The folder that `moorage pki issue … --role scheduler --id ID` makes; absent: the cell has no certificates. */
  readonly credentials?: string;
  /** Default: a free port of 127.0.0.1. */
  readonly listen?: { readonly host: string; readonly port: number };
  /** Default `info`, on standard error. */
  readonly logLevel?: 'debug' | 'info' | 'warn' | 'error' | 'silent';
}

/** As `main.ts` has it: the package declares what its entries name, and nothing of a role's main. */
export interface OwnScheduler {
  /** Base URL of its API. */
  readonly address: string;
  /** Gives its jobs to the others, and ends; within a few seconds. */
  stop(): Promise<void>;
  /** Rejects when it cannot continue; resolves after `stop`. */
  readonly ended: Promise<void>;
}

/**
 * `import { runScheduler } from 'moorage/scheduler'`: a scheduler with a policy of one's own, which competes with those that are
 * there. Resolves when it serves.
 */
export async function runScheduler(options: OwnSchedulerOptions): Promise<OwnScheduler> {
  const { cell, etcd, id, kind, policy, credentials: folder, logLevel = 'info' } = options;
  const log = pinoLog({ component: 'scheduler', id, level: logLevel });
  const reach = folder === undefined ? {} : { reach: { credentials: openCredentials(folder, log) } };
  const { listen = { host: '127.0.0.1', port: 0 } } = options;
  return run({ cell, etcd, id, kind, policy, listen, log, ...reach });
}
