import type { Asked, DelegatedAct } from '../core/access/delegation.ts';
import { askedText, DELEGATION_TTL_MS } from '../core/access/delegation.ts';
import type { Clock } from '../ports/clock.ts';
import type { Digest, SignDelegation } from '../ports/crypto.ts';
import { DELEGATION_HEADER } from '../wire/access/access.ts';

/** Who asks, and which host is meant. */
export interface Behalf {
  readonly by: string;
  readonly host: string;
}

export interface DelegatorDeps {
  readonly sign: SignDelegation;
  readonly digest: Digest;
  readonly clock: Clock;
}

/** Passes the right of the one who asks on to a host, with each call. */
export class Delegator {
  readonly #deps: DelegatorDeps;

  constructor(deps: DelegatorDeps) {
    this.#deps = deps;
  }

  headers(
    { by, host }: Behalf,
    { allocation, act }: { readonly allocation: string; readonly act: DelegatedAct },
    asked: Asked,
  ): Readonly<Record<string, string>> {
    const { sign, digest, clock } = this.#deps;
    const notBeforeMs = Math.round(clock.nowMs());
    const expiresMs = notBeforeMs + DELEGATION_TTL_MS;
    const request = digest(askedText(asked));
    return {
      [DELEGATION_HEADER]: sign({ by, host, allocation, act, request, notBeforeMs, expiresMs }),
    };
  }
}
