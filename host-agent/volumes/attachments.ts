import { isClaimName } from '../../src/core/cell/volume.ts';
import type { VolumeUse } from '../../src/core/cell/volume.ts';
import type { Allocation } from '../../src/core/cell/allocation.ts';
import { isId } from '../../src/core/cell/ids.ts';
import type { AttachmentRecord } from '../../src/wire/host-files/host-files.ts';
import { attachmentFile } from '../../src/wire/host-files/host-files.ts';
import type { AgentPorts } from '../ports.ts';
import { readRecord } from '../state/records.ts';
import { KeyedMutex } from '../../src/runtime/wait/keyed-mutex.ts';
import type { BroughtData, DriverAnswer, VolumeDriver } from './volume-driver.ts';

/** In the state folder: a file `<data>.<allocation>` for each allocation that has data of a driver. */
const ATTACHMENTS = 'attachments';

export interface AttachmentParts extends Pick<AgentPorts, 'disk' | 'clock' | 'log' | 'metrics'> {
  readonly drivers: ReadonlyMap<string, VolumeDriver>;
}

type Holder = Pick<Allocation, 'id' | 'namespace'>;

/**
 * What drivers have brought to this host, and for whom. It is noted down before the driver is asked, and forgotten after it
 * has taken it away again: so an agent that is killed between the two finds what it has to detach. Data that several
 * allocations of this host share is detached when the last of them goes.
 */
export class Attachments {
  readonly #parts: AttachmentParts;
  /** Of one data a driver is asked one thing at a time. */
  readonly #mutex = new KeyedMutex();

  constructor(parts: AttachmentParts) {
    this.#parts = parts;
  }

  get drivers(): readonly string[] {
    return [...this.#parts.drivers.keys()];
  }

  /**
   * Brings the data to this host. May be done again.
   * @returns the folder in which it is, or why it cannot be had
   */
  attach(holder: Holder, use: VolumeUse): Promise<{ readonly path: string } | { readonly why: string }> {
    const data = dataOf(holder, use);
    return this.#mutex.runExclusive(use.id, async () => {
      const { driver = '', claim } = use;
      const found = this.#parts.drivers.get(driver);
      if (found === undefined) return { why: `this host has no volume driver ${driver} any more` };
      const record = { namespace: holder.namespace, claim, driver };
      await this.#parts.disk.publish(fileOf(use.id, holder.id), attachmentFile.encode(record));
      const answer = await bring(found, data, use);
      if (answer.kind === 'done') return answer;
      const held = answer.kind === 'held' ? 'held by another host: ' : '';
      return { why: `volume ${use.claim}: driver ${driver}: ${held}${answer.why}` };
    });
  }

  /** The allocation has ended, and needs its volumes no more. @returns why one is still attached, for people; null: none is */
  async detachAll(allocation: Allocation): Promise<string | null> {
    let left: string | null = null;
    for (const use of allocation.volumes ?? []) {
      if (use.driver === undefined) continue;
      const { namespace, id } = allocation;
      left ??= await this.#detach(use.id, id, { namespace, claim: use.claim, driver: use.driver });
    }
    return left;
  }

  /** Names of the attachments here, whoever has them, and their allocations. */
  async all(): Promise<readonly { readonly name: string; readonly allocation: string }[]> {
    const names = await this.#parts.disk.list(ATTACHMENTS);
    return names.map((name) => ({ name, allocation: name.slice(name.indexOf('.') + 1) }));
  }

  /** Of an allocation that is gone. @returns false while it is attached; then ask again */
  async detachStray(name: string): Promise<boolean> {
    const [id = '', allocation = ''] = name.split('.');
    const found = await readRecord(this.#parts, `${ATTACHMENTS}/${name}`, attachmentFile);
    return found.kind !== 'found' || (await this.#detach(id, allocation, found.value)) === null;
  }

  /** @returns why it is still attached, for people */
  #detach(id: string, allocation: string, record: AttachmentRecord): Promise<string | null> {
    return this.#mutex.runExclusive(id, async () => {
      const { disk, log } = this.#parts;
      const holders = (await disk.list(ATTACHMENTS)).filter((name) => name.startsWith(`${id}.`));
      if (!holders.includes(`${id}.${allocation}`)) return null;
      const why = holders.length > 1 ? null : await this.#take(id, record);
      if (why !== null) {
        log.warn({ ...record, allocation, why }, 'a volume cannot be detached, and is tried again');
        return `volume ${record.claim} cannot be detached: driver ${record.driver}: ${why}`;
      }
      await disk.remove(fileOf(id, allocation));
      return null;
    });
  }

  /** Deletes data for good. @returns why not, for people; null: it is gone */
  delete(driver: string, data: BroughtData): Promise<string | null> {
    return this.#mutex.runExclusive(data.id, async () => {
      const found = this.#parts.drivers.get(driver);
      if (found === undefined) return `this host has no volume driver ${driver}`;
      const answer = await found.run('delete', data);
      return answer.kind === 'done' ? null : `driver ${driver}: ${answer.why}`;
    });
  }

  async #take(id: string, { namespace, claim, driver }: AttachmentRecord): Promise<string | null> {
    const found = this.#parts.drivers.get(driver);
    if (found === undefined) return `this host has no volume driver ${driver} any more`;
    const answer = await found.run('detach', { namespace, claim, id });
    return answer.kind === 'done' ? null : answer.why;
  }
}

/** Makes it if nobody has begun it, and takes it from the host that had it before if that is allowed. */
async function bring(driver: VolumeDriver, data: BroughtData, use: VolumeUse): Promise<DriverAnswer> {
  if (use.create === true) {
    const made = await driver.run('create', data);
    if (made.kind !== 'done') return made;
  }
  const answer = await driver.run('attach', data);
  if (answer.kind !== 'held' || use.force !== true) return answer;
  const taken = await driver.run('force-detach', data);
  return taken.kind === 'done' ? driver.run('attach', data) : taken;
}

function dataOf({ namespace }: Holder, use: VolumeUse): BroughtData {
  const { claim, id, access, sizeMib, readOnly } = use;
  if (!isClaimName(claim) || !isId(id) || !isId(namespace)) throw new Error(`volume ${claim} is none`);
  return {
    ...{ namespace, claim, id, access },
    ...(sizeMib === undefined ? {} : { sizeMib }),
    ...(readOnly === undefined ? {} : { readOnly }),
  };
}

function fileOf(id: string, allocation: string): string {
  return `${ATTACHMENTS}/${id}.${allocation}`;
}
