import { PublicProtocol } from 'paseto';
import { ImportPublicKeyFactory, ImportSecretKeyFactory, SignFactory, VerifyFactory } from 'paseto/v4/public';
import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import { footerOf, openToken, signToken } from '../../../../src/adapters/tickets/paseto.ts';
import { publicKeyOf, secretKeyOf, TICKET_KEYS } from '../../../support/ticket-keys.ts';

/** The published vectors with a footer: github.com/paseto-standard/test-vectors, v4.json. */
const SEED = 'b4cbfb43df4ce210727d953e4a713307fa19bb7d9f85041438d9e11b942a3774';
const PUBLIC = '1eb9dbbbbc047c03fd70604e0071f0987e16b28b757225c11f00415d0e20b1a2';
const MESSAGE = '{"data":"this is a signed message","exp":"2022-01-01T00:00:00+00:00"}';
const FOOTER = '{"kid":"zVhMiPBP9fRf2snEcT7gFTioeA9COcNy9DfgL1W60haN"}';
const BODY =
  'v4.public.eyJkYXRhIjoidGhpcyBpcyBhIHNpZ25lZCBtZXNzYWdlIiwiZXhwIjoiMjAyMi0wMS0wMVQwMDowMDowMCswMDowMCJ9';
const FOOTER_TEXT = 'eyJraWQiOiJ6VmhNaVBCUDlmUmYyc25FY1Q3Z0ZUaW9lQTlDT2NOeTlEZmdMMVc2MGhhTiJ9';
const VECTORS = [
  {
    name: '4-S-2',
    implicit: '',
    token: `${BODY}v3Jt8mx_TdM2ceTGoqwrh4yDFn0XsHvvV_D0DtwQxVrJEBMl0F2caAdgnpKlt4p7xBnx1HcO-SPo8FPp214HDw.${FOOTER_TEXT}`,
  },
  {
    name: '4-S-3',
    implicit: '{"test-vector":"4-S-3"}',
    token: `${BODY}NPWciuD3d0o5eXJXG5pJy-DiVEoyPYWs1YSTwWHNJq6DZD3je5gf-0M4JR9ipdUSJbIovzmBECeaWmaqcaP0DQ.${FOOTER_TEXT}`,
  },
];

const library = new PublicProtocol(
  SignFactory,
  VerifyFactory,
  ImportPublicKeyFactory,
  ImportSecretKeyFactory,
);
const NO_TIMES = { addIssuedAt: false, nonExpiring: true } as const;
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('PASETO v4.public on node:crypto', () => {
  it.each(VECTORS)('signs and opens the published vector $name', ({ implicit, token }) => {
    expect(signToken(secretKeyOf(SEED), { message: MESSAGE, footer: FOOTER }, implicit)).toBe(token);
    expect(openToken(publicKeyOf(PUBLIC), token, implicit)).toEqual({ message: MESSAGE, footer: FOOTER });
    expect(footerOf(token)).toBe(FOOTER);
    expect(openToken(publicKeyOf(PUBLIC), token, `${implicit} `)).toBeNull();
  });

  it('writes what the paseto package writes, and each opens the tokens of the other', async () => {
    const raw = Buffer.from(SEED + PUBLIC, 'hex').toString('base64url');
    const secret = await library.ImportSecretKey(`k4.secret.${raw}`);
    const pinned = await library.ImportPublicKey(
      `k4.public.${Buffer.from(PUBLIC, 'hex').toString('base64url')}`,
    );
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(
          fc
            .string({ minLength: 1 })
            .filter((name) => !/^(exp|nbf|iat|iss|sub|aud|jti|__proto__)$/.test(name)),
          fc.string({ unit: 'grapheme' }),
        ),
        fc.string({ minLength: 1, unit: 'grapheme' }),
        fc.string({ unit: 'grapheme' }),
        async (claims, footer, implicit) => {
          const options = { footer: bytes(footer), implicitAssertion: bytes(implicit) };
          const theirs = await library.Sign(secret, { ...claims }, { ...NO_TIMES, ...options });
          const message = JSON.stringify(claims);
          const ours = signToken(TICKET_KEYS.signing.secret, { message, footer }, implicit);
          expect(ours).toBe(theirs);
          expect(openToken(TICKET_KEYS.pinned.public, theirs, implicit)).toEqual({ message, footer });
          const opened = await library.Verify(pinned, ours, {
            allowNonExpiring: true,
            ...options,
          });
          expect(opened.claims).toEqual(JSON.parse(message));
        },
      ),
      { numRuns: 50 },
    );
  });

  it('opens no other spelling, no altered character, and nothing that is cut or longer', () => {
    const { token, implicit } = VECTORS[1]!;
    const key = publicKeyOf(PUBLIC);
    fc.assert(
      fc.property(fc.nat(token.length - 1), fc.constantFrom(...'AZaz09-_.=+/ \n'), (at, char) => {
        fc.pre(token[at] !== char);
        expect(openToken(key, token.slice(0, at) + char + token.slice(at + 1), implicit)).toBeNull();
      }),
    );
    fc.assert(
      fc.property(fc.nat(token.length - 1), (length) => {
        expect(openToken(key, token.slice(0, length), implicit)).toBeNull();
      }),
    );
    for (const more of ['=', '.', '.AA', '\n', 'A', 'AAAA'])
      expect(openToken(key, token + more, implicit)).toBeNull();
    for (const other of [
      '',
      'v4.public.',
      'v4.public..',
      token.toUpperCase(),
      ` ${token}`,
      `v3${token.slice(2)}`,
    ])
      expect([openToken(key, other, implicit), footerOf(other)]).toEqual([null, null]);
  });
});
