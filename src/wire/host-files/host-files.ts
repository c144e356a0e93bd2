import { z } from 'zod';
import type { Allocation, Exit } from '../../core/cell/allocation.ts';
import type { Epoch } from '../../core/cell/epoch.ts';
import type { ObservedState } from '../../core/host/states.ts';
import { OBSERVED_STATES } from '../../core/host/states.ts';
import { schemaCodec, whole } from '../codec/schema-codec.ts';
import type { Launch } from '../api/host-api.ts';
import { id } from '../api/api.ts';
import { allocation, commandId, epoch, launch } from '../api/host-requests.ts';

/**
 * What a host-agent keeps in its state folder, besides the folders of attempts (`shim-files.ts`).
 *
 *   identity                     who this folder is
 *   incarnation                  the agent's last start; also the registered one, when that was higher
 *   locks/<n>                    the agent process that holds the folder
 *   reserve                      space for the ends of tasks on a disk that is full
 *   journal                      one entry a line: tickets used, epochs seen, time, ids that may not start again
 *   allocations/<id>/spec.json   an accepted start
 *   allocations/<id>/verdict.json  why it is to stop; written before anything is killed
 *   allocations/<id>/outcome.json  how it ended; never changes
 *   allocations/<id>/released    nothing of it is left on this host
 *   allocations/<id>/work/       working folder of its tasks
 *   leases/port/<port>           the allocation that has it; also leases/address/<address>
 *   leases/rest-port/<port>      when it was freed, and whose it was; also leases/rest-address/<address>
 *   quarantine/                  what could not be read
 */
export interface IdentityRecord {
  readonly stateId: string;
  readonly host: string;
}

export interface IncarnationRecord {
  readonly incarnation: number;
}

export interface LockRecord {
  readonly boot: string;
  readonly pid: number;
  readonly start: number;
}

export interface AllocationSpec {
  readonly allocation: Allocation;
  readonly launch: Launch;
  readonly commandId: string;
  /** SHA-256 of what was asked, to tell a repeated order from another one. */
  readonly requestDigest: string;
  /** The ticket that allowed it; absent where none is required. */
  readonly jti?: string;
  readonly bootId: string;
  readonly acceptedAtMs: number;
  /** Of this host, lent to it; absent: none. */
  readonly addresses?: readonly string[];
}

/** `user`, `evicted`, `drain`: orders from outside. The others are the host's own. */
export const STOP_REASONS = [
  'user',
  'evicted',
  'drain',
  'deadline',
  'disconnected',
  'task-failed',
  'memory-pressure',
  'disk',
] as const;
export type StopReason = (typeof STOP_REASONS)[number];

export interface StopReasonRecord {
  readonly why: StopReason;
  readonly cause: string;
  readonly commandId: string;
  readonly atMs: number;
}

export interface OutcomeRecord {
  readonly state: ObservedState;
  readonly reason: string;
  readonly exit?: Exit;
  readonly restarts: number;
  readonly startedAtMs?: number;
  readonly endedAtMs: number;
}

export type JournalEntry =
  | { readonly kind: 'ticket'; readonly jti: string; readonly digest: string; readonly expiresMs: number }
  | { readonly kind: 'epoch'; readonly epoch: Epoch }
  | { readonly kind: 'time'; readonly atMs: number }
  | {
      readonly kind: 'barred';
      readonly id: string;
      readonly atMs: number;
      /** How its start was refused; absent: it was stopped or removed. */
      readonly refusal?: RefusalRecord;
    };

export interface RefusalRecord {
  readonly code: string;
  readonly detail: string;
  /** What the answer said besides, for programs: `short`. Absent also in what older agents wrote. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** One signal that was ordered from outside, in the file `cmds.wal` of its attempt or command. */
export interface SignalEntry {
  readonly sequence: number;
  readonly commandId: string;
  readonly signal: string;
}

const line = z.string();

const identityShape: z.ZodType<IdentityRecord> = z.object({ stateId: line.min(1), host: id });
const incarnationShape: z.ZodType<IncarnationRecord> = z.object({ incarnation: whole });
const lockShape: z.ZodType<LockRecord> = z.object({ boot: line, pid: z.int().min(1), start: whole });
const specShape: z.ZodType<AllocationSpec> = z.object({
  allocation,
  launch,
  commandId,
  requestDigest: line,
  jti: z.exactOptional(line),
  bootId: line,
  acceptedAtMs: whole,
  addresses: z.exactOptional(z.array(line)),
});
const verdictShape: z.ZodType<StopReasonRecord> = z.object({
  why: z.enum(STOP_REASONS),
  cause: line,
  commandId: line,
  atMs: whole,
});
const outcomeShape: z.ZodType<OutcomeRecord> = z.object({
  state: z.enum(OBSERVED_STATES as [ObservedState, ...ObservedState[]]),
  reason: line,
  exit: z.exactOptional(
    z.object({
      code: z.exactOptional(whole),
      signal: z.exactOptional(line),
      lost: z.exactOptional(line),
      oomKills: z.exactOptional(whole),
    }),
  ),
  restarts: whole,
  startedAtMs: z.exactOptional(whole),
  endedAtMs: whole,
});
const journalShape: z.ZodType<JournalEntry> = z.union([
  z.object({ kind: z.literal('ticket'), jti: line, digest: line, expiresMs: whole }),
  z.object({ kind: z.literal('epoch'), epoch }),
  z.object({ kind: z.literal('time'), atMs: whole }),
  z.object({
    kind: z.literal('barred'),
    id,
    atMs: whole,
    refusal: z.exactOptional(
      z.object({ code: line, detail: line, extra: z.exactOptional(z.record(line, z.unknown())) }),
    ),
  }),
]);

const signalShape: z.ZodType<SignalEntry> = z.object({
  sequence: whole,
  commandId: line,
  signal: line,
});

export const signalLine = schemaCodec('signal', signalShape);
export const identityFile = schemaCodec('identity', identityShape);
export const incarnationFile = schemaCodec('incarnation', incarnationShape);
export const lockFile = schemaCodec('lock', lockShape);
export const specFile = schemaCodec('allocation', specShape);
export const stopReasonFile = schemaCodec('verdict', verdictShape);
export const outcomeFile = schemaCodec('outcome', outcomeShape);
export const journalLine = schemaCodec('journal', journalShape);

/** `alive/<host>`, under the agent's session: which agent it is that lives. */
export interface AliveRecord {
  readonly stateId: string;
  readonly incarnation: number;
  readonly address: string;
  readonly sinceMs: number;
}

export const aliveCodec = schemaCodec<AliveRecord>(
  'alive',
  z.looseObject({ stateId: line, incarnation: whole, address: line, sinceMs: whole }),
);
