import { z } from 'zod';
import { schemaCodec } from '../codec/codec.ts';

/** What a host was told when it joined, and says to its agent from then on. */
export interface JoinedHost {
  readonly cell: string;
  readonly id: string;
  readonly etcd: readonly string[];
  /** `host:port` */
  readonly listen: string;
  /** What its tasks may ask; absent: what all hosts allow. */
  readonly allow?: readonly string[];
}

export const joinedFile = schemaCodec<JoinedHost>(
  'joined host',
  z.looseObject({
    cell: z.string(),
    id: z.string(),
    etcd: z.array(z.string()).min(1),
    listen: z.string(),
    allow: z.exactOptional(z.array(z.string())),
  }),
);
