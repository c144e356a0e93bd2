import { CompareResult, CompareTarget, type ITxnRequest } from 'etcd3';
import { etcdClient } from '../../src/adapters/etcd/client/client.ts';
import type { Credentials } from '../../src/adapters/pki/credentials.ts';
import type { CellKeys } from '../../src/core/cell/keys.ts';
import { seededRandom } from '../../src/core/random/random.ts';

/** What each of the three ways writes. */
export interface WriterOptions {
  readonly keys: CellKeys;
  readonly hosts: number;
  /** Placements in one transaction, each on a host of its own. */
  readonly together: number;
  /** Transactions at once. */
  readonly inFlight: number;
  readonly seed: number;
}

/** As long, to the byte, as those that the whole path writes halfway. */
export const LEDGER = Buffer.from('{"v":1,"bands":{"50":[1280,16384,0]}}');
export const ALLOCATION = Buffer.from(
  '{"v":1,"id":"alloc-000000000000000001","host":"host-000001","precedence":50,"resources":[10,16,0],' +
    '"epoch":["6b1e7a3c-0000-4000-8000-000000000000",0],"namespace":"default","job":"bench","jobVersion":1,' +
    '"group":"bench","index":17,"attempt":1,"scheduler":"bench-1","desired":"run","planId":"plan-00000001",' +
    '"createdAtMs":1700000000000}',
);

/** Writes the transactions of a commit with nothing decided: compare, put and read back, on hosts in turn. */
export function makeRawWriter(
  options: WriterOptions & {
    readonly endpoints: readonly string[];
    readonly credentials?: Credentials | undefined;
  },
): {
  write(placements: number): Promise<void>;
  close(): void;
} {
  const { keys, hosts, together } = options;
  const etcd = etcdClient({ endpoints: options.endpoints, credentials: options.credentials });
  const ledgerKeys = ledgerKeysOf(options).map((key) => Buffer.from(key));
  const revisions = new Map<number, string>();
  const owner = Buffer.from(keys.owner('default', 'bench'));
  let made = 0;

  async function transaction(first: number): Promise<void> {
    const compare: NonNullable<ITxnRequest['compare']> = [
      { key: owner, target: CompareTarget.Create, result: CompareResult.Equal, create_revision: 0 },
    ];
    const success: NonNullable<ITxnRequest['success']> = [];
    const failure: NonNullable<ITxnRequest['failure']> = [{ request_range: { key: owner } }];
    for (let n = 0; n < together; n++) {
      const key = ledgerKeys[(first + n) % hosts] as Buffer;
      const mod_revision = revisions.get((first + n) % hosts) ?? '0';
      compare.push({ key, target: CompareTarget.Mod, result: CompareResult.Equal, mod_revision });
      success.push({ request_put: { key, value: LEDGER } });
      failure.push({ request_range: { key } });
    }
    for (let n = 0; n < together; n++) {
      const key = Buffer.from(
        keys.allocation('default', 'bench', `alloc-${String((made += 1)).padStart(18, '0')}`),
      );
      success.push({ request_put: { key, value: ALLOCATION } });
    }
    const reply = await etcd.kv.txn({ compare, success, failure });
    if (!reply.succeeded) throw new Error('a raw transaction was refused');
    for (let n = 0; n < together; n++) revisions.set((first + n) % hosts, reply.header.revision);
  }

  return {
    write: (placements) => writeInLanes(placements, options, transaction),
    close: () => etcd.close(),
  };
}

/**
 * Each lane has hosts of its own, so that transactions that are under way at once never meet.
 * @param transaction writes `together` placements on the hosts from `first` on
 */
export async function writeInLanes(
  placements: number,
  { hosts, together, inFlight }: WriterOptions,
  transaction: (first: number) => Promise<void>,
): Promise<void> {
  const slots = Math.floor(hosts / together);
  if (slots === 0) throw new RangeError(`${String(together)} placements at once need as many hosts`);
  const lanes = Math.min(inFlight, slots);
  let begun = 0;
  const lane = async (own: number): Promise<void> => {
    for (let slot = own; begun < placements; slot = slot + lanes < slots ? slot + lanes : own) {
      begun += together;
      await transaction(slot * together);
    }
  };
  await Promise.all(Array.from({ length: lanes }, (_, own) => lane(own)));
}

/** The keys of the ledgers that the transactions touch one after the other: each host once, in random order. */
export function ledgerKeysOf({ keys, hosts, seed }: WriterOptions): string[] {
  const random = seededRandom(seed);
  const result = Array.from({ length: hosts }, (_, n) => keys.ledger(`host-${String(n).padStart(6, '0')}`));
  for (let n = hosts - 1; n > 0; n--) {
    const other = random.below(n + 1);
    [result[n], result[other]] = [result[other] ?? '', result[n] ?? ''];
  }
  return result;
}
