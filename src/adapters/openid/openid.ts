/**
 * Tokens of OpenID providers, by `jose`: `openid.ts` looks whether one counts, `provider-keys.ts` keeps the keys of one provider.
 */
import { decodeJwt, decodeProtectedHeader, errors, jwtVerify } from 'jose';
import type { OpenIdProvider, ProviderKeysState } from '../../core/access/openid.ts';
import type { Clock } from '../../ports/clock.ts';
import type { OpenIdTokens, OpenIdVerdict } from '../../ports/openid.ts';
import type { Log } from '../../ports/telemetry.ts';
import { KeysAway, ProviderKeys } from './provider-keys.ts';

/** Signatures of key pairs. With others whoever can check a token can make one. */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
/** Of tokens that say who somebody is; others of the same issuer, such as of a logout, say something else. */
const TYPES: ReadonlySet<string> = new Set(['jwt', 'at+jwt', 'application/at+jwt']);
/** Between the provider's clock and this one. */
const TOLERANCE_S = 5;

interface Known {
  readonly keys: ProviderKeys;
  /** Of one issuer; they differ by audience. */
  readonly providers: readonly OpenIdProvider[];
}

export class JoseOpenIdTokens implements OpenIdTokens {
  readonly #deps: { readonly clock: Clock; readonly log: Log };
  /** By issuer. */
  #known: ReadonlyMap<string, Known> = new Map();

  constructor(deps: { readonly clock: Clock; readonly log: Log }) {
    this.#deps = deps;
  }

  use(providers: readonly OpenIdProvider[]): void {
    const before = this.#known;
    const now = new Map<string, Known>();
    for (const issuer of new Set(providers.map((one) => one.issuer))) {
      const own = providers.filter((one) => one.issuer === issuer);
      const known = before.get(issuer);
      const isSame = known !== undefined && known.providers[0]?.authorities === own[0]?.authorities;
      now.set(issuer, { keys: isSame ? known.keys : new ProviderKeys(own[0]!, this.#deps), providers: own });
    }
    this.#known = now;
    for (const [issuer, { keys }] of before) if (now.get(issuer)?.keys !== keys) void keys.close();
  }

  async verify(text: string): Promise<OpenIdVerdict> {
    try {
      return await this.#verify(text);
    } catch (error) {
      if (error instanceof KeysAway)
        return {
          ...{ counts: false, isSure: false },
          why: 'is of a provider whose keys cannot be read now',
        };
      if (error instanceof errors.JOSEError) return { counts: false, isSure: true, why: reasonOf(error) };
      // Parts that are no JSON, and keys that fit no algorithm.
      if (error instanceof TypeError) return { counts: false, isSure: true, why: MALFORMED };
      throw error;
    }
  }

  keysOf(issuer: string): ProviderKeysState {
    return this.#known.get(issuer)?.keys.state ?? { readAtMs: null, count: 0, fault: null };
  }

  async close(): Promise<void> {
    const known = this.#known;
    this.#known = new Map();
    await Promise.all([...known.values()].map(({ keys }) => keys.close()));
  }

  async #verify(text: string): Promise<OpenIdVerdict> {
    const no = (why: string): OpenIdVerdict => ({ counts: false, why, isSure: true });
    const { typ } = decodeProtectedHeader(text);
    const { iss } = decodeJwt(text);
    const known = this.#known.get(typeof iss === 'string' ? iss : '');
    if (known === undefined) return no('is of an issuer that is no provider of this cell');
    if (typ !== undefined && !TYPES.has(String(typ).toLowerCase()))
      return no('is of a type for something else');
    const nowMs = this.#deps.clock.nowMs();
    const { payload } = await jwtVerify(text, known.keys.keyOf, {
      ...{ algorithms: ALGORITHMS, issuer: iss ?? '', clockTolerance: TOLERANCE_S },
      audience: known.providers.map(({ audience }) => audience),
      ...{ requiredClaims: ['exp', 'sub'], currentDate: new Date(nowMs) },
    });
    const audiences = [payload.aud].flat();
    const provider = known.providers.find(({ audience }) => audiences.includes(audience));
    if (provider === undefined) return no(reasonOfClaim('aud'));
    return {
      ...{ counts: true, provider, claims: payload },
      endsAtMs: ((payload.exp ?? 0) + TOLERANCE_S) * 1_000,
    };
  }
}

const MALFORMED = 'is no JSON Web Token';

function reasonOf(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'has ended';
  if (error instanceof errors.JWTClaimValidationFailed) return reasonOfClaim(error.claim);
  if (error instanceof errors.JOSEAlgNotAllowed) return 'is not signed as by a pair of keys';
  if (error instanceof errors.JWKSNoMatchingKey)
    return 'is signed by a key that is not among those of its provider, as last read';
  if (error instanceof errors.JWKSMultipleMatchingKeys)
    return 'does not say by which of the keys of its provider it is signed';
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'has a signature that is wrong';
  return MALFORMED;
}

function reasonOfClaim(claim: string): string {
  switch (claim) {
    case 'aud':
      return 'is for another audience';
    case 'nbf':
      return 'does not count yet';
    default:
      return `has no claim ${claim} that counts`;
  }
}
