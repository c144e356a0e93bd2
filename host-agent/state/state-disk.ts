import type { Disk, DiskErrorCode, WriteOptions } from '../../src/ports/disk.ts';
import { DiskError } from '../../src/ports/disk.ts';

const RESERVE = 'reserve';
const PROBE = 'probe';
/** Enough for the ends of some sixty allocations at four blocks each; what comes after them waits for space. */
export const RESERVE_BYTES = 1024 * 1024;
/** The reserve is laid down again only where this much more is left, so that it does not fill the disk by itself. */
const ROOM_BESIDE_BYTES = 4 * RESERVE_BYTES;
/** One text for all hosts of a process. */
const FILL = 'moorage\n'.repeat(RESERVE_BYTES / 8);

/**
 * The disk of a state folder, which knows how it is. A disk that is full must still take the word that something was
 * stopped and how it ended, so a file of a fixed size is kept, and given up for the first durable write that finds no space
 * (I32).
 */
export class StateDisk implements Disk {
  readonly #disk: Disk;
  #fault: DiskError | null = null;
  #reserved = false;
  #probing: Promise<void> | null = null;

  constructor(disk: Disk) {
    this.#disk = disk;
  }

  /** Why the last durable write failed; null while writes succeed. */
  get fault(): DiskErrorCode | null {
    return this.#fault?.code ?? null;
  }

  /** Is the reserve there? Without it, and without space, a stop is carried out and recorded later. */
  get reserved(): boolean {
    return this.#reserved;
  }

  /**
   * Tries a write when the last one failed, and lays the reserve down when there is room. For every few seconds, so that a
   * host comes back by itself. Never throws.
   */
  look(): Promise<void> {
    this.#probing ??= this.#look().finally(() => (this.#probing = null));
    return this.#probing;
  }

  /**
   * Why newcomers find no room, for people.
   * @param freeBytesMin that must be left
   * @returns null: they do
   */
  async shortage(
    freeBytesMin: number,
  ): Promise<{ readonly code: DiskErrorCode; readonly why: string } | null> {
    const code = this.fault;
    if (code !== null)
      return { code, why: `the disk of this host takes no writes (${code}); what runs, runs on` };
    const free = await this.#disk.freeBytes().catch(() => 0);
    // What the reserve was given up for is not free for newcomers.
    if (free >= freeBytesMin + (this.#reserved ? 0 : RESERVE_BYTES)) return null;
    return { code: 'full', why: `${String(free)} bytes are left on the disk of this host` };
  }

  async publish(path: string, text: string, options?: WriteOptions): Promise<'published' | 'exists'> {
    const write = (): Promise<'published' | 'exists'> => this.#disk.publish(path, text, options);
    return options?.durable === false ? write() : this.#durably(write);
  }

  replace(path: string, text: string): Promise<void> {
    return this.#durably(() => this.#disk.replace(path, text));
  }

  hand(path: string, text: string): Promise<void> {
    return this.#disk.hand(path, text);
  }

  append(path: string, text: string): Promise<void> {
    return this.#durably(() => this.#disk.append(path, text));
  }

  read(path: string): Promise<string | null> {
    return this.#disk.read(path);
  }

  list(path: string): Promise<readonly string[]> {
    return this.#disk.list(path);
  }

  makeFolder(path: string): Promise<void> {
    return this.#disk.makeFolder(path);
  }

  remove(path: string): Promise<void> {
    return this.#disk.remove(path);
  }

  move(from: string, to: string): Promise<void> {
    return this.#disk.move(from, to);
  }

  sizeOf(path: string): Promise<number | null> {
    return this.#disk.sizeOf(path);
  }

  readRange(path: string, offset: number, length: number): Promise<Uint8Array> {
    return this.#disk.readRange(path, offset, length);
  }

  watch(path: string, onChange: () => void): () => void {
    return this.#disk.watch(path, onChange);
  }

  freeBytes(): Promise<number> {
    return this.#disk.freeBytes();
  }

  absolute(path: string): string {
    return this.#disk.absolute(path);
  }

  async #durably<T>(write: () => Promise<T>): Promise<T> {
    try {
      return this.#worked(await write());
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      this.#fault = error;
      if (error.code !== 'full' || !(await this.#giveUpReserve())) throw error;
    }
    try {
      // The fault stays: what succeeds on the reserve's space does not say that there is any.
      return await write();
    } catch (error) {
      if (error instanceof DiskError) this.#fault = error;
      throw error;
    }
  }

  #worked<T>(value: T): T {
    this.#fault = null;
    return value;
  }

  /** @returns whether that freed anything */
  async #giveUpReserve(): Promise<boolean> {
    const size = await this.#disk.sizeOf(RESERVE).catch(() => null);
    this.#reserved = false;
    if (size === null) return false;
    await this.#disk.remove(RESERVE);
    return true;
  }

  async #look(): Promise<void> {
    try {
      if (this.#fault !== null) await this.#probe();
      if (!this.#reserved) await this.#layReserve();
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
      this.#fault = error;
    }
  }

  async #probe(): Promise<void> {
    await this.#disk.remove(PROBE);
    await this.#disk.publish(PROBE, FILL.slice(0, PROBE_BYTES));
    await this.#disk.remove(PROBE);
    this.#fault = null;
  }

  async #layReserve(): Promise<void> {
    const size = await this.#disk.sizeOf(RESERVE);
    if (size === null && (await this.#disk.freeBytes()) < RESERVE_BYTES + ROOM_BESIDE_BYTES) return;
    // A part of one is what an agent left that died meanwhile, or a disk that was too full for it.
    if (size !== RESERVE_BYTES) await this.#disk.replace(RESERVE, FILL);
    this.#reserved = true;
  }
}

/** As much as an accepted start writes, so that the first one after a full disk does not find it full. */
const PROBE_BYTES = 16 * 1024;
