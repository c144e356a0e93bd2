import type { OpenIdProvider } from '../../src/core/access/openid.ts';
import { personOfClaims } from '../../src/core/access/openid.ts';
import type { Person } from '../../src/core/access/person.ts';
import { canonicalJson } from '../../src/core/json/canonical-json.ts';
import type { Digest } from '../../src/ports/crypto.ts';
import type { Admission, AdmitToken, NotAdmitted } from '../../src/ports/http.ts';
import type { OpenIdTokens } from '../../src/ports/openid.ts';
import { PeriodicTask } from '../../src/runtime/wait/periodic-task.ts';
import type { RolePorts } from '../../src/runtime/runtime.ts';

/** How often the tokens in use are looked at again: a provider may have withdrawn the key of one. */
const LOOK_MS = 60_000;
/** Beyond this the one that is held longest is looked at as if it was new, and what is open with it is cut. */
const HELD_MAX = 4_096;

export interface OpenIdPeopleDeps extends Pick<RolePorts, 'clock'> {
  readonly digest: Digest;
  readonly openid: OpenIdTokens;
}

interface Held {
  readonly text: string;
  readonly person: Person;
  readonly end: AbortController;
  readonly forgetEnd: () => void;
}

/**
 * People with tokens of OpenID providers, for as long as the tokens count: until their end, until their provider is no longer one
 * of the cell's or is asked for something else, until their key is withdrawn. What is open with one is cut then.
 */
export class OpenIdPeople {
  readonly #deps: OpenIdPeopleDeps;
  /** By the digest of the token. */
  readonly #held = new Map<string, Held>();
  readonly #looks: PeriodicTask;

  constructor(deps: OpenIdPeopleDeps) {
    this.#deps = deps;
    this.#looks = new PeriodicTask(deps.clock, LOOK_MS, () => this.#look());
  }

  /** From now on these are the providers. */
  async use(providers: readonly OpenIdProvider[]): Promise<void> {
    this.#deps.openid.use(providers);
    await this.#look();
  }

  readonly admit: AdmitToken = async (text) => {
    const key = this.#deps.digest(text);
    const held = this.#held.get(key);
    if (held !== undefined) return admissionOf(held);
    const person = await this.#personOf(text);
    if ('why' in person) return person;
    return admissionOf(this.#held.get(key) ?? this.#hold(key, text, person));
  };

  async close(): Promise<void> {
    for (const { forgetEnd } of this.#held.values()) forgetEnd();
    this.#held.clear();
    await Promise.all([this.#looks.close(), this.#deps.openid.close()]);
  }

  async #personOf(text: string): Promise<Person | NotAdmitted> {
    const verdict = await this.#deps.openid.verify(text);
    if (!verdict.counts) return { why: verdict.why, isSure: verdict.isSure };
    const person = personOfClaims(verdict.provider, verdict.claims, verdict.endsAtMs);
    return typeof person === 'string' ? { why: `says not who may do what: ${person}`, isSure: true } : person;
  }

  #hold(key: string, text: string, person: Person): Held {
    const { clock } = this.#deps;
    const [oldest] = this.#held.keys();
    if (this.#held.size >= HELD_MAX && oldest !== undefined) this.#drop(oldest);
    const forgetEnd = clock.after(person.endsAtMs - clock.nowMs(), () => this.#drop(key));
    const held: Held = { text, person, end: new AbortController(), forgetEnd };
    this.#held.set(key, held);
    return held;
  }

  #drop(key: string): void {
    const held = this.#held.get(key);
    if (held === undefined) return;
    this.#held.delete(key);
    held.forgetEnd();
    held.end.abort();
  }

  /** Whoever has other rights now is as one who comes anew. */
  async #look(): Promise<void> {
    for (const [key, { text, person }] of this.#held) {
      const now = await this.#personOf(text);
      if ('why' in now ? now.isSure : canonicalJson(now) !== canonicalJson(person)) this.#drop(key);
    }
  }
}

function admissionOf({ person, end }: Held): Admission {
  return { person, ended: end.signal };
}
