/**
 * Tickets as PASETO v4.public (Ed25519; a token cannot choose another algorithm). The footer names the key, so that several
 * can be pinned while one is replaced; the host and its incarnation are signed outside the token (implicit assertion), so
 * that another host cannot even verify it. `key-files.ts` makes and reads the keys.
 */
import { ClaimValidationError, InspectFooter, PasetoError, PublicProtocol } from 'paseto';
import type { PublicKey, SecretKey } from 'paseto/v4/public';
import { SignFactory, VerifyFactory } from 'paseto/v4/public';
import { canonicalJson } from '../../core/json/canonical-json.ts';
import type { TicketBody } from '../../core/quota/ticket.ts';
import type { TicketSigner, TicketVerifier } from '../../ports/crypto.ts';
import { ticketBodySchema } from '../../wire/api/ticket-schema.ts';

export interface SigningKey {
  /** As it stands in the footer of tokens; see `keyIdOf` in key-files. */
  readonly id: string;
  readonly secret: SecretKey;
}

export interface PinnedKey {
  readonly id: string;
  readonly public: PublicKey;
}

/** A ticket for one host with many GPUs and ports is some 4 KB; more is not read. */
const TOKEN_CHARS_MAX = 16 * 1024;

const protocol = new PublicProtocol(SignFactory, VerifyFactory);

/** A ticket's time is in its body; `ticketRefusal` checks it by the host's own clock port. */
const NO_TIMES = { addIssuedAt: false, nonExpiring: true } as const;

export function pasetoSigner(key: SigningKey): TicketSigner {
  const footer = new TextEncoder().encode(key.id);
  return {
    sign: (body) =>
      protocol.Sign(
        key.secret,
        { ...body },
        {
          ...NO_TIMES,
          footer,
          implicitAssertion: assertionFor(body.aud, body.hostIncarnation),
        },
      ),
  };
}

/** @param pinned the only keys that are trusted */
export function pasetoVerifier(pinned: readonly PinnedKey[]): TicketVerifier {
  const keys = new Map(pinned.map((key) => [key.id, key.public]));
  return {
    async verify(token, host, hostIncarnation) {
      const keyId = token.length > TOKEN_CHARS_MAX ? null : keyIdIn(token);
      if (keyId === null) return { valid: false, reason: 'malformed' };
      const key = keys.get(keyId);
      if (key === undefined) return { valid: false, reason: 'unknown-key' };
      try {
        const { claims } = await protocol.Verify(key, token, {
          allowNonExpiring: true,
          footer: new TextEncoder().encode(keyId),
          implicitAssertion: assertionFor(host, hostIncarnation),
        });
        const body = bodyOf(claims);
        return body === null ? { valid: false, reason: 'malformed' } : { valid: true, body };
      } catch (error) {
        if (!(error instanceof PasetoError)) throw error;
        // The library checks claims after the signature: this one was signed, but is no ticket.
        return {
          valid: false,
          reason: error instanceof ClaimValidationError ? 'malformed' : 'bad-signature',
        };
      }
    },
  };
}

/** The implicit assertion, which both ends compute: the token's host. */
function assertionFor(host: string, hostIncarnation: number): Uint8Array {
  return new TextEncoder().encode(canonicalJson(['moorage-ticket', host, hostIncarnation]));
}

/** The key's name in the unverified footer: it only chooses among the pinned keys. */
function keyIdIn(token: string): string | null {
  try {
    if (!token.startsWith('v4.public.')) return null;
    return new TextDecoder('utf-8', { fatal: true }).decode(InspectFooter(token));
  } catch {
    return null;
  }
}

function bodyOf(claims: unknown): TicketBody | null {
  const parsed = ticketBodySchema.safeParse(claims);
  return parsed.success ? parsed.data : null;
}
