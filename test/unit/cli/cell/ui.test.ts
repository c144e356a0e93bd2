import { expect, it } from 'vitest';
import { ui } from '../../../../cli/cell/ui.ts';
import type { WhoAmI } from '../../../../src/wire/access/token-api.ts';
import { FakeHttp, fakeContext } from '../fakes.ts';

const A = 'https://a:7000';

async function shown(
  kind: WhoAmI['kind'],
  login: boolean,
): Promise<{ readonly out: string; readonly asked: readonly string[] }> {
  const http = new FakeHttp({
    [A]: (_, path) => ({ body: path === '/v1/whoami' ? { kind } : { token: 'mt-1' } }),
  });
  const { context, terminal } = fakeContext(http, [A]);
  const monitors = () => Promise.resolve({ monitors: [A], authorities: null });
  await ui({ ...context, monitors }, { open: false, login });
  return { out: terminal.stdout, asked: http.asked };
}

it('says where the page is, and asks the cell nothing', async () => {
  expect(await shown('certificate', false)).toEqual({ out: 'https://a:7000/\n', asked: [] });
});

it('with a certificate it can make the token that the page asks for', async () => {
  expect((await shown('certificate', true)).out).toBe('https://a:7000/#token=mt-1\n');
  expect((await shown('trusted', true)).out).toBe('https://a:7000/\n');
  await expect(shown('token', true)).rejects.toThrow('enters that one on the page');
});
