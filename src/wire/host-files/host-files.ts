/**
 * What a host-agent keeps in its state folder:
 *
 *   identity                     which host the folder belongs to
 *   incarnation                  the agent's last start; also the registered one, when that was higher
 *   locks/<n>                    the agent process that holds the folder
 *   reserve                      space for the ends of tasks on a disk that is full
 *   journal                      one entry a line: tickets used, epochs seen, time, ids that must not start again
 *   allocations/<id>/spec.json   an accepted start
 *   allocations/<id>/verdict.json  why it is stopped; written before anything is killed
 *   allocations/<id>/outcome.json  how it ended; never changes
 *   allocations/<id>/released    nothing of it is left on this host
 *   allocations/<id>/work/       working folder of its tasks; beside it their `tmp/`, and copies of `artifacts/`
 *   allocations/<id>/layers/<attempt>/  what a task that is root of its image's files has changed of them
 *   leases/port/<port>           the allocation that has it; also leases/address/<address>, leases/user/<uid>,
 *                                leases/ids/<first id of a range>
 *   secrets/<attempt>/           in memory: the secrets of a task that runs
 *   leases/next-user             how far the range of users is used; also leases/next-ids
 *   leases/rest-port/<port>      when it was freed, and whose it was; also leases/rest-address/<address>
 *   quarantine/                  unreadable files
 *   attempts/                    a folder for each attempt at a task: `attempt-files.ts`
 *
 * `joined/` is what the host was told when it joined the cell (`src/wire/join`); the command line keeps it there for the agent.
 *
 * An attempt's file `launch` is the order to its shim: `shim-launch.ts` is its content, `launch-codec.ts` its text, and
 * `exec-launch.ts` derives the order for a command inside a task. `shim-frames.ts` is the protocol on a shim's socket.
 * `image-files.ts` reads the manifests of an image archive. `docs/decisions/shims.md`
 */
import { z } from 'zod';
import type { Allocation } from '../../core/cell/allocation.ts';
import type { IdRange } from '../../core/host/shim.ts';
import type { ObservedState } from '../../core/host/states.ts';
import { OBSERVED_STATES } from '../../core/host/states.ts';
import { id } from '../api/api.ts';
import type { Launch } from '../api/host-api.ts';
import { allocation, commandId, epoch, launch, sealedSecrets } from '../api/host-requests.ts';
import type { Shape } from '../codec/codec.ts';
import { schemaCodec, whole } from '../codec/codec.ts';

const line = z.string();

const identity = z.object({ stateId: line.min(1), host: id });
const incarnation = z.object({ incarnation: whole });
const lock = z.object({ boot: line, pid: z.int().min(1), start: whole });

/** The working folder of an allocation's tasks. */
export function workFolder(allocation: string): string {
  return `allocations/${allocation}/work`;
}

export interface AllocationSpec {
  readonly allocation: Allocation;
  readonly launch: Launch;
  readonly commandId: string;
  /** SHA-256 of the request, to distinguish a repeated order from another one. */
  readonly requestDigest: string;
  /** The ticket that allowed it; absent where none is required. */
  readonly jti?: string;
  readonly bootId: string;
  readonly acceptedAtMs: number;
  /** Addresses of this host leased to it; absent: none. */
  readonly addresses?: readonly string[];
  /** The user of its tasks, and their group; absent: that of the agent. */
  readonly uid?: number;
  /** Of the user namespace of its tasks; absent: they have none. */
  readonly ids?: IdRange;
  /** Of its tasks, as they came. */
  readonly sealed?: Readonly<Record<string, string>>;
  /** Of the order's trace; absent: it came without. */
  readonly traceparent?: string;
}

const spec: z.ZodType<AllocationSpec> = z.object({
  allocation,
  launch,
  commandId,
  requestDigest: line,
  jti: z.exactOptional(line),
  bootId: line,
  acceptedAtMs: whole,
  addresses: z.exactOptional(z.array(line)),
  uid: z.exactOptional(whole),
  ids: z.exactOptional(z.object({ first: whole, count: whole })),
  sealed: z.exactOptional(sealedSecrets),
  traceparent: z.exactOptional(line),
});

/** `user`, `evicted`, `drain`: orders of a scheduler. The others are the host's own. */
const STOP_REASONS = [
  ...(['user', 'evicted', 'drain'] as const),
  ...(['deadline', 'disconnected', 'task-failed', 'memory-pressure', 'disk'] as const),
] as const;
export type StopReason = (typeof STOP_REASONS)[number];

const stopReason = z.object({ why: z.enum(STOP_REASONS), cause: line, commandId: line, atMs: whole });
export type StopReasonRecord = Shape<typeof stopReason>;

const outcome = z.object({
  state: z.enum(OBSERVED_STATES as [ObservedState, ...ObservedState[]]),
  reason: line,
  exit: z.exactOptional(
    z.object({
      code: z.exactOptional(whole),
      signal: z.exactOptional(line),
      lost: z.exactOptional(line),
      unhealthy: z.exactOptional(line),
      oomKills: z.exactOptional(whole),
    }),
  ),
  restarts: whole,
  startedAtMs: z.exactOptional(whole),
  endedAtMs: whole,
});
export type OutcomeRecord = Shape<typeof outcome>;

const refusal = z.object({
  code: line,
  detail: line,
  /** Further facts of the answer, for programs: `short`. Absent in what older agents wrote. */
  extra: z.exactOptional(z.record(line, z.unknown())),
});
export type RefusalRecord = Shape<typeof refusal>;

const journalEntry = z.union([
  z.object({ kind: z.literal('ticket'), jti: line, digest: line, expiresMs: whole }),
  z.object({ kind: z.literal('epoch'), epoch }),
  z.object({ kind: z.literal('time'), atMs: whole }),
  /** An id that must not start again: fenced. `refusal`: how its start was refused; absent: it was stopped or removed. */
  z.object({ kind: z.literal('barred'), id, atMs: whole, refusal: z.exactOptional(refusal) }),
]);
export type JournalEntry = Shape<typeof journalEntry>;

/** One signal ordered by a client, in the file `cmds.wal` of its attempt or command. */
const signal = z.object({ sequence: whole, commandId: line, signal: line });
export type SignalEntry = Shape<typeof signal>;

/** Data that a volume driver brought here, or was about to. */
const attachment = z.object({ namespace: id, claim: line, driver: line });
export type AttachmentRecord = Shape<typeof attachment>;

export const attachmentFile = schemaCodec('attachment', attachment);
export const signalLine = schemaCodec('signal', signal);
export const identityFile = schemaCodec('identity', identity);
export const incarnationFile = schemaCodec('incarnation', incarnation);
export const lockFile = schemaCodec('lock', lock);
export const specFile = schemaCodec<AllocationSpec>('allocation', spec);
export const stopReasonFile = schemaCodec<StopReasonRecord>('verdict', stopReason);
export const outcomeFile = schemaCodec<OutcomeRecord>('outcome', outcome);
export const journalLine = schemaCodec<JournalEntry>('journal', journalEntry);

/** `alive/<host>`, under the agent's session: which agent is alive. */
const alive = z.looseObject({ stateId: line, incarnation: whole, address: line, sinceMs: whole });
export interface AliveRecord {
  readonly stateId: string;
  readonly incarnation: number;
  readonly address: string;
  readonly sinceMs: number;
}

export const aliveCodec = schemaCodec<AliveRecord>('alive', alive);
