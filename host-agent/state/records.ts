import type { Codec } from '../../src/wire/wire.ts';
import { RecordError } from '../../src/wire/wire.ts';
import type { AgentPorts } from '../ports.ts';

/** `unreadable`: it was there, said nothing that this version understands, and now lies in quarantine. */
export type Found<T> =
  | { readonly kind: 'found'; readonly value: T }
  | { readonly kind: 'absent' }
  | { readonly kind: 'unreadable' };

/**
 * Reads one record. What cannot be read is put away, counted and said once, so that it neither stops the agent nor is
 * taken for absent (I31).
 * @param options `leave`: keep an unreadable file where it is, because its being there means something by itself
 */
export async function readRecord<T>(
  ports: Pick<AgentPorts, 'disk' | 'clock' | 'log' | 'metrics'>,
  path: string,
  codec: Codec<T>,
  options: { readonly leave?: boolean } = {},
): Promise<Found<T>> {
  const text = await ports.disk.read(path);
  if (text === null) return { kind: 'absent' };
  try {
    return { kind: 'found', value: codec.decode(text) };
  } catch (error) {
    if (!(error instanceof RecordError)) throw error;
    ports.metrics.count('moorage_host_records_unreadable_total', { kind: error.kind });
    ports.log.error({ path, error: error.message }, 'a record of this host cannot be read');
    if (options.leave !== true) await putAway(ports, path);
    return { kind: 'unreadable' };
  }
}

async function putAway(ports: Pick<AgentPorts, 'disk' | 'clock'>, path: string): Promise<void> {
  const name = `${path.replaceAll('/', '_')}.${String(Math.round(ports.clock.nowMs()))}`;
  await ports.disk.move(path, `quarantine/${name}`);
}
