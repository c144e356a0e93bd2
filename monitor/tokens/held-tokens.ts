import type { Token } from '../../src/core/access/token.ts';
import { isSameHash, personOf, tokenIdOf } from '../../src/core/access/token.ts';
import { StoreError } from '../../src/ports/cell-store.ts';
import type { Admission, AdmitToken } from '../../src/ports/http.ts';
import { every } from '../../src/runtime/wait/wait.ts';
import { tokenCodec } from '../../src/wire/records/records.ts';
import { RecordError } from '../../src/wire/wire.ts';
import type { TokensDeps } from './tokens.ts';

/** How often the store is asked whether the tokens in use still count. */
const ASK_MS = 5_000;
/** A store that does not answer leaves what it last said in force for so long: 30 s with the wait for the next look. */
const UNASKED_MAX_MS = 25_000;
/** Whoever makes tokens up costs the store a read each: so many at once. */
const READS_MAX = 8;

interface Held {
  readonly token: Token;
  readonly end: AbortController;
  /** When the store was last asked, by the monotonic clock, and said that it counts. */
  askedAtMs: number;
  readonly forgetEnd: () => void;
}

/**
 * The tokens that came with requests, for as long as they count: at most as many as the store holds. A revoked one is refused
 * here within `ASK_MS` and the time of a read, within 30 s while the store is away, and whatever is open with it is cut then;
 * one that ends, at that moment.
 */
export class HeldTokens {
  readonly #deps: TokensDeps;
  readonly #held = new Map<string, Held>();
  readonly #stop: () => void;
  #reads = 0;
  #isAsking = false;

  constructor(deps: TokensDeps) {
    this.#deps = deps;
    this.#stop = every(deps.clock, ASK_MS, () => void this.#ask());
  }

  readonly admit: AdmitToken = async (text) => {
    const id = tokenIdOf(text);
    if (id === null) return 'unknown';
    const known = this.#held.get(id);
    if (known !== undefined) return this.#admission(known, text);
    if (this.#reads >= READS_MAX) return 'unsure';
    this.#reads += 1;
    try {
      const askedAtMs = this.#deps.clock.monotonicMs();
      const token = (await this.#read([id])).get(id);
      if (token === undefined || !this.#isMeant(token, text)) return 'unknown';
      return this.#admission(this.#held.get(id) ?? this.#hold(token, askedAtMs), text);
    } catch (error) {
      if (error instanceof StoreError) return 'unsure';
      throw error;
    } finally {
      this.#reads -= 1;
    }
  };

  /** The token counts no more. */
  drop(id: string): void {
    const held = this.#held.get(id);
    if (held === undefined) return;
    this.#held.delete(id);
    held.forgetEnd();
    held.end.abort();
  }

  close(): void {
    this.#stop();
    for (const { forgetEnd } of this.#held.values()) forgetEnd();
    this.#held.clear();
  }

  #admission({ token, end, askedAtMs }: Held, text: string): Admission | 'unknown' | 'unsure' {
    if (!this.#isMeant(token, text)) return 'unknown';
    if (this.#deps.clock.monotonicMs() - askedAtMs > UNASKED_MAX_MS) return 'unsure';
    return { person: personOf(token), ended: end.signal };
  }

  /** Whether the text is this token, and it has not ended. */
  #isMeant({ hash, endsAtMs }: Token, text: string): boolean {
    return isSameHash(hash, this.#deps.digest(text)) && endsAtMs > this.#deps.clock.nowMs();
  }

  #hold(token: Token, askedAtMs: number): Held {
    const { clock } = this.#deps;
    const forgetEnd = clock.after(token.endsAtMs - clock.nowMs(), () => this.drop(token.id));
    const held: Held = { token, end: new AbortController(), askedAtMs, forgetEnd };
    this.#held.set(token.id, held);
    return held;
  }

  async #ask(): Promise<void> {
    const { clock, log } = this.#deps;
    const askedAtMs = clock.monotonicMs();
    for (const [id, held] of this.#held) if (askedAtMs - held.askedAtMs > UNASKED_MAX_MS) this.drop(id);
    if (this.#held.size === 0 || this.#isAsking) return;
    this.#isAsking = true;
    const ids = [...this.#held.keys()];
    try {
      const found = await this.#read(ids);
      for (const id of ids) {
        const held = this.#held.get(id);
        if (held === undefined) continue;
        if (found.get(id)?.hash === held.token.hash) held.askedAtMs = askedAtMs;
        else this.drop(id);
      }
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      log.warn({ error }, 'the store does not say whether the tokens in use still count');
    } finally {
      this.#isAsking = false;
    }
  }

  async #read(ids: readonly string[]): Promise<ReadonlyMap<string, Token>> {
    const { store, keys, log } = this.#deps;
    const { entries } = await store.read(ids.map((id) => keys.token(id)));
    const found = new Map<string, Token>();
    for (const id of ids) {
      const entry = entries.get(keys.token(id));
      if (entry === undefined) continue;
      try {
        found.set(id, tokenCodec.decode(entry.value));
      } catch (error) {
        if (!(error instanceof RecordError)) throw error;
        log.error({ key: entry.key, error }, 'a record cannot be read and is left out');
      }
    }
    return found;
  }
}
