import { z } from 'zod';
import { schemaCodec } from '../codec/codec.ts';

/** What a bootstrap has decided, before it does any of it: so that the next run goes on with the same. */
export interface BootstrapState {
  readonly cell: string;
  /** Of the cell; chosen before there is a store that could hold it. */
  readonly incarnation: string;
  readonly hosts: readonly BootstrapHost[];
  readonly tasks: readonly SystemTask[];
}

export interface BootstrapHost {
  readonly id: string;
  /** Base URL of its agent. */
  readonly url: string;
  readonly program: readonly string[];
  readonly etcd: string | null;
  readonly data: string;
}

export const SYSTEM_ROLES = ['etcd', 'arbiter', 'monitor', 'scheduler'] as const;
export type SystemRole = (typeof SYSTEM_ROLES)[number];

/** One process of the cell itself, as a job of its own. */
export interface SystemTask {
  /** The job's name, and its group's. */
  readonly name: string;
  readonly role: SystemRole;
  /** In its certificate. */
  readonly id: string;
  readonly host: string;
  /** Of the first attempt. */
  readonly allocation: string;
  /** It is a job of the cell: schedulers look after it from then on. */
  readonly recorded?: true;
}

const line = z.string();

export const bootstrapFile = schemaCodec<BootstrapState>(
  'bootstrap',
  z.looseObject({
    ...{ cell: line, incarnation: line },
    hosts: z.array(
      z.looseObject({
        ...{ id: line, url: line, program: z.array(line), etcd: line.nullable(), data: line },
      }),
    ),
    tasks: z.array(
      z.looseObject({
        ...{ name: line, role: z.enum(SYSTEM_ROLES), id: line, host: line, allocation: line },
        recorded: z.exactOptional(z.literal(true)),
      }),
    ),
  }),
);
