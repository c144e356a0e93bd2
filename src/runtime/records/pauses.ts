import type { Host } from '../../core/host/host.ts';
import type { Pausable, Pause, PauseScope } from '../../core/quota/pauses.ts';
import { isInForce, pauseEndedAtMs, pauseOn, POOL_ATTRIBUTE } from '../../core/quota/pauses.ts';
import { pauseCodec } from '../../wire/records/records.ts';
import type { RolePorts } from '../runtime.ts';
import { Table } from './records.ts';

/** What operators have paused, live. A pause that cannot be read stays as it was. */
export class CellPauses {
  readonly ready: Promise<unknown>;
  readonly #table: Table<Pause>;
  readonly #rows: { readonly size: number; get(name: string): Pause | undefined };

  /** @param onChange called with a pause that has begun, changed or, `isOn` false, ended */
  constructor(
    { store, keys, log }: Pick<RolePorts, 'store' | 'keys' | 'log'>,
    onChange: (pause: Pause, isOn: boolean) => void = () => undefined,
  ) {
    const table = new Table<Pause>(store, keys.pauses, pauseCodec, {
      onBadRecord: (error, key) => log.error({ key, error }, 'unreadable record'),
      onChange: (_name, now, before) => {
        const pause = now?.value ?? before?.value;
        // Records of ended pauses go later, without a change for anybody.
        if (pause !== undefined && (isInForce(now?.value) || isInForce(before?.value)))
          onChange(pause, isInForce(now?.value));
      },
    });
    this.#table = table;
    this.#rows = {
      get size() {
        return table.size;
      },
      get: (name) => table.get(name)?.value,
    };
    this.ready = table.ready;
    // A role that ends before it was ready does not await it.
    this.ready.catch(() => undefined);
  }

  /** Of the widest scope; null: it goes on. */
  on(what: Pausable, target: PauseScope): Pause | null {
    return pauseOn(this.#rows, what, target);
  }

  /** @param host with its pool; undefined: it is not registered */
  onHost(what: Pausable, host: Host | undefined, job: PauseScope = {}): Pause | null {
    // Mostly nothing is paused, and a search for victims asks for every host that it passes.
    if (this.#rows.size === 0) return null;
    return host === undefined ? this.on(what, job) : this.on(what, { ...job, ...placeOf(host) });
  }

  endedAtMs(what: Pausable, target: PauseScope): number {
    return pauseEndedAtMs(this.#rows, what, target);
  }

  close(): void {
    this.#table.close();
  }
}

function placeOf({ id, attributes }: Host): PauseScope {
  const pool = attributes[POOL_ATTRIBUTE];
  return pool === undefined ? { host: id } : { host: id, pool };
}
