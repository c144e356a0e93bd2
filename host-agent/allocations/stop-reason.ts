import { DiskError } from '../../src/ports/disk.ts';
import type { StopReasonRecord } from '../../src/wire/host-files/host-files.ts';
import { stopReasonFile } from '../../src/wire/host-files/host-files.ts';
import type { AgentPorts } from '../ports.ts';
import { readRecord } from '../state/records.ts';

/** Why an allocation is to end: the first word stands, and is on disk before anything is killed for it. */
export class FirstStopReason {
  readonly #ports: AgentPorts;
  readonly #path: string;
  #given: StopReasonRecord | null = null;
  /** It is carried out, and the disk would not take it. */
  #unrecorded = false;

  constructor(ports: AgentPorts, folder: string) {
    this.#ports = ports;
    this.#path = `${folder}/verdict.json`;
  }

  get given(): StopReasonRecord | null {
    return this.#given;
  }

  /** What an earlier agent wrote. */
  async recover(): Promise<void> {
    const found = await readRecord(this.#ports, this.#path, stopReasonFile);
    if (found.kind === 'found') this.#given = found.value;
  }

  /**
   * Gives it where none stands, and records the one that stands where that is not done yet.
   * @throws DiskError when it stands, and is not recorded
   */
  async give(reason: StopReasonRecord): Promise<void> {
    const mine = this.#given ?? reason;
    if (this.#given !== null && !this.#unrecorded) return;
    let stands = mine;
    try {
      // Before anything is killed: a kill that is explained afterwards cannot be told from a crash.
      stands = await this.#record(mine);
    } catch (error) {
      if (error instanceof DiskError) this.#unrecorded = true;
      throw error;
    } finally {
      this.#given ??= stands;
    }
  }

  /** @returns the one that stands: of two that come at once the first on disk */
  async #record(reason: StopReasonRecord): Promise<StopReasonRecord> {
    const published = await this.#ports.disk.publish(this.#path, stopReasonFile.encode(reason));
    this.#unrecorded = false;
    if (published === 'published') return reason;
    const there = await readRecord(this.#ports, this.#path, stopReasonFile);
    return there.kind === 'found' ? there.value : reason;
  }
}
