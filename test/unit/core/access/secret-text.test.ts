import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { idInSecretText, SECRET_BYTES, secretText } from '../../../../src/core/access/secret-text.ts';

const secrets = fc.uint8Array({ minLength: SECRET_BYTES, maxLength: SECRET_BYTES });

describe('a text that lets its holder in', () => {
  it('names the id of its record, and is of its own kind only', () => {
    fc.assert(
      fc.property(secrets, (secret) => {
        const text = secretText('moorage', 'one', secret);
        expect(idInSecretText('moorage', text)).toBe('one');
        expect(idInSecretText('moorage-invitation', text)).toBeNull();
      }),
    );
  });

  it('is none when something of it is missing, or follows', () => {
    fc.assert(
      fc.property(secrets, fc.nat(70), (secret, at) => {
        const text = secretText('moorage', 'one', secret);
        expect(idInSecretText('moorage', `${text}.more`)).toBeNull();
        expect(idInSecretText('moorage', text.slice(0, at))).toBeNull();
      }),
    );
  });
});
