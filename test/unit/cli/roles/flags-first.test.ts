import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EXIT } from '../../../../cli/command/exit.ts';
import { runCli } from '../../../../cli/run-cli.ts';
import { FakeTerminal } from '../fakes.ts';

/** Takes the place of the store, and says nothing. */
const store = createServer((socket) => {
  connections += 1;
  socket.destroy();
});
let connections = 0;
let url = '';
beforeAll(async () => {
  await new Promise<void>((resolve) => store.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${String((store.address() as AddressInfo).port)}`;
});
afterAll(() => new Promise((resolve) => store.close(resolve)));

const NO_KEYS = '--keys /nowhere/keys';

test.each([
  ['scheduler --kind batch --score best', EXIT.usage, /--score best.* binpack, service, level, .*fgd/],
  ['scheduler --kind batch --think-job 5', EXIT.usage, /--think-job/],
  ['scheduler --kind batch --session-ttl soon', EXIT.usage, /--session-ttl.*\n.*moorage scheduler --help/],
  ['monitor --silence 5', EXIT.usage, /--silence.*\n.*moorage monitor --help/],
  ['monitor --lost-after x', EXIT.usage, /--lost-after/],
  ['monitor --run-retention x', EXIT.usage, /--run-retention/],
  ['monitor --history-kept some', EXIT.usage, /--history-kept/],
  ['monitor --store-quota 3', EXIT.usage, /--store-quota/],
  ['monitor --fence power', EXIT.usage, /--fence power: write NAME=PROGRAM/],
  ['monitor --fence power=off', EXIT.usage, /--fence power=off: write NAME=PROGRAM/],
  ['monitor --fence self=/bin/true', EXIT.usage, /self is the host itself/],
  ['monitor --fence power=/nowhere/off', EXIT.usage, /no program that may be run/],
  ['monitor --fence power=/bin/true --fence-timeout x', EXIT.usage, /--fence-timeout/],
  [`agent --data /nowhere/data ${NO_KEYS} --cpu many`, EXIT.usage, /--cpu/],
  [`agent --data /nowhere/data ${NO_KEYS} --resource cpu=4`, EXIT.usage, /--resource cpu=4: cpu has a flag/],
  [`agent --data /nowhere/data ${NO_KEYS} --resource licence`, EXIT.usage, /--resource licence.*NAME=AMOUNT/],
  [`agent --data /nowhere/data ${NO_KEYS} --reserve memory=5`, EXIT.usage, /--reserve memory/],
  [`agent --data /nowhere/data ${NO_KEYS} --beat often`, EXIT.usage, /--beat/],
  ['monitor --job-retention x', EXIT.usage, /--job-retention/],
  ['monitor --versions-kept x', EXIT.usage, /--versions-kept/],
  ['scheduler --kind batch --outcomes-per-slot x', EXIT.usage, /--outcomes-per-slot/],
  [`agent --data /nowhere/data ${NO_KEYS} --ports 9-1`, EXIT.usage, /--ports 9-1/],
  [`agent --data /nowhere/data ${NO_KEYS} --attribute zone`, EXIT.usage, /--attribute zone/],
  [`agent --data /nowhere/data ${NO_KEYS} --addresses all`, EXIT.usage, /--addresses all/],
  [`agent --data /nowhere/data ${NO_KEYS} --oci-runtime docker`, EXIT.usage, /--oci-runtime docker/],
  [`agent --data /nowhere/data ${NO_KEYS} --advertise here`, EXIT.usage, /--advertise here/],
  [`agent --data /nowhere/data ${NO_KEYS}`, EXIT.usage, /arbiters\.public/],
  ['hollow --no-tickets --beat often', EXIT.usage, /--beat.*\n.*moorage hollow --help/],
  ['hollow', EXIT.usage, /--keys FOLDER/],
  [`hollow ${NO_KEYS}`, EXIT.usage, /arbiters\.public/],
  ['arbiter', EXIT.usage, /--keys FOLDER/],
  [`arbiter ${NO_KEYS}`, EXIT.usage, /arbiter\.secret/],
  ['monitor --etcd ftp://store:1', EXIT.usage, /--etcd ftp:\/\/store:1/],
  ['monitor --etcd http://store:99999', EXIT.usage, /--etcd http:\/\/store:99999/],
])('%s: what is wrong is told before the store is asked', async (line, code, said) => {
  const terminal = new FakeTerminal();
  const words = [...line.split(' '), '--etcd', url, '--log-level', 'silent'];
  expect(await runCli(words, terminal, new AbortController().signal)).toBe(code);
  expect(terminal.stderr).toMatch(said);
  expect([terminal.stdout, connections]).toEqual(['', 0]);
});
