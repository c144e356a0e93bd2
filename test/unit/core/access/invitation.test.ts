import { describe, expect, it } from 'vitest';
import {
  invitationIdOf,
  invitationText,
  joinTokenText,
  readJoinToken,
} from '../../../../src/core/access/invitation.ts';
import { tokenIdOf } from '../../../../src/core/access/token.ts';

const SHOWN = invitationText('an-id', new Uint8Array(32).fill(7));
const PRINT = Array.from({ length: 32 }, () => 'A1').join(':');
const TOKEN = { host: 'host-b', monitors: ['https://10.0.0.1:7400'], fingerprints: [PRINT], shown: SHOWN };

describe('S4.13 the token with which a host joins', () => {
  it.each([
    TOKEN,
    { ...TOKEN, monitors: ['https://[fd00::1]:7400', 'https://m.example:7400'] },
    { ...TOKEN, fingerprints: [PRINT, PRINT.replace('A1', 'B2')] },
  ])('says what it was made of: %#', (token) => {
    const text = joinTokenText(token);
    expect(text).toMatch(/^\S+$/);
    expect(readJoinToken(`${text}\n`)).toEqual(token);
  });

  it.each([
    ['nothing', ''],
    ["a person's", 'moorage.an-id.00'],
    ['without a fingerprint', joinTokenText({ ...TOKEN, fingerprints: [] })],
    ['with a fingerprint that is too short', joinTokenText({ ...TOKEN, fingerprints: [PRINT.slice(3)] })],
    ['with a secret that is none', joinTokenText({ ...TOKEN, shown: 'moorage-invitation.an-id.zz' })],
    ['to a monitor that speaks plain', joinTokenText({ ...TOKEN, monitors: ['http://10.0.0.1:7400'] })],
    ['with nothing at its end', joinTokenText({ ...TOKEN, monitors: [] })],
    [
      'with too many authorities',
      joinTokenText({ ...TOKEN, fingerprints: Array.from({ length: 5 }, () => PRINT) }),
    ],
  ])('is refused: %s', (_what, text) => {
    expect(readJoinToken(text)).toBeNull();
  });

  it("is not taken for a person's, nor the other way round", () => {
    expect(invitationIdOf(SHOWN)).toBe('an-id');
    expect(tokenIdOf(SHOWN)).toBeNull();
    expect(invitationIdOf(SHOWN.replace('moorage-invitation', 'moorage'))).toBeNull();
  });
});
