import { expect, it } from 'vitest';
import { mayBeApplied, storeErrorOf } from '../../../../../src/adapters/etcd/client/faults.ts';

const TOLD = '14 UNAVAILABLE: No connection established. Last error: Error: connect ECONNREFUSED 127.0.0.1:1';

it.each([
  `${TOLD}. Resolution note: `,
  `${TOLD}. Resolution note: Name resolution failed for target dns:h:1\nand again`,
  TOLD,
])('the notes of gRPC are left out, the cause is kept: %j', (text) => {
  const cause = new Error(text);
  const error = storeErrorOf(cause);
  expect(error).toMatchObject({ code: 'unavailable', retryable: true, message: TOLD, cause });
  expect(mayBeApplied(cause)).toBe(false);
});

it('without any address, the message says so', () => {
  const error = storeErrorOf(new Error('14 UNAVAILABLE: No addresses resolved. Resolution note: nothing'));
  expect(error.message).toBe('14 UNAVAILABLE: No addresses resolved');
});
