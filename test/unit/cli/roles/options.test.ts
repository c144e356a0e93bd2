import { expect, test } from 'vitest';
import { CliError, EXIT } from '../../../../cli/command/exit.ts';
import { faultOf } from '../../../../cli/roles/faults.ts';
import { amounts, reserve } from '../../../../cli/roles/amounts.ts';
import { readAddresses } from '../../../../cli/roles/addresses.ts';
import { readAttributes, readListen, readPorts, roleBasics } from '../../../../cli/roles/options.ts';
import { StoreError } from '../../../../src/ports/cell-store.ts';
import { SchemaError } from '../../../../src/runtime/records/cell-meta.ts';

test.each([
  ['127.0.0.1:7070', { host: '127.0.0.1', port: 7070 }],
  [':7070', { host: '127.0.0.1', port: 7070 }],
  ['0', { host: '127.0.0.1', port: 0 }],
  ['[::1]:80', { host: '::1', port: 80 }],
])('--listen %s', (text, wanted) => {
  expect(readListen(text)).toEqual(wanted);
});

test.each(['host', '127.0.0.1:99999', 'a:b', ''])('--listen %j is refused', (text) => {
  expect(() => readListen(text)).toThrow(/HOST:PORT/);
});

const flags = { cell: 'c', etcd: [], id: 'm', logLevel: 'silent' } as const;

test.each([
  ['10.0.0.1:7000', {}, /--plain-outside-loopback/],
  ['0.0.0.0:7000', { plainOutsideLoopback: true }, /--advertise http:/],
  ['127.0.0.1:0', { advertise: '10.0.0.1:7000' }, /http:\/\/ADDRESS:PORT/],
])('--listen %s with %j is refused, with a remedy', (listen, more, remedy) => {
  const basics = () => roleBasics({ ...flags, listen, ...more }, 'monitor');
  expect(basics).toThrow(CliError);
  try {
    basics();
  } catch (error) {
    const { message, hint } = error as CliError;
    expect(`${message}; ${hint ?? ''}`).toMatch(remedy);
  }
});

test('--advertise is what others are told', () => {
  const advertise = 'http://10.0.0.1:7000';
  const basics = roleBasics(
    { ...flags, listen: '0.0.0.0:7000', plainOutsideLoopback: true, advertise },
    'monitor',
  );
  expect(basics.listen).toEqual({ host: '0.0.0.0', port: 7000 });
  expect(basics.reach).toEqual({ plainOutsideLoopback: true, advertise });
});

test('--ports', () => {
  expect(readPorts('20000-20499')).toEqual({ first: 20_000, last: 20_499 });
  for (const wrong of ['5-4', '0-9', '1-70000', '80']) expect(() => readPorts(wrong)).toThrow(/FIRST-LAST/);
});

test('--attribute and the amounts of a host', () => {
  expect(readAttributes(['zone=a', 'note=b=c'])).toEqual({ zone: 'a', note: 'b=c' });
  expect(() => readAttributes(['zone'])).toThrow(/NAME=VALUE/);
  const given = { cpu: '96', memory: '4Gi', resource: [] };
  expect(amounts(given, 'agent')).toEqual({ cpuMilli: 96_000, memoryMib: 4096 });
  expect(() => amounts({ memory: '4', resource: [] }, 'agent')).toThrow(/needs a unit/);
});

test('S3.9 S3.4 --resource names what jobs ask for by scalars, --reserve what is never given away', () => {
  const named = (...resource: readonly string[]) => amounts({ resource }, 'agent');
  expect(named('licence=5', 'iops=300')).toEqual({ scalars: { licence: 5, iops: 300 } });
  for (const wrong of ['licence', 'licence=', 'licence=0', 'licence=1.5', 'Licence=1', 'a=1=2'])
    expect(() => named(wrong)).toThrow(/NAME=AMOUNT/);
  expect(() => named('memory=5')).toThrow(/a flag of its own/);
  expect(() => named('addresses=5')).toThrow(/a flag of its own/);
  expect(() => named('licence=5', 'licence=6')).toThrow(/named twice/);
  expect(reserve({ resource: [] }, 'agent')).toBeUndefined();
  expect(reserve({ resource: [], reserve: 'cpu=500m,memory=1Gi,licence=1' }, 'agent')).toEqual({
    ...{ cpuMilli: 500, memoryMib: 1024, scalars: { licence: 1 } },
  });
  for (const wrong of ['cpu', 'cpu=', 'memory=5', 'disk=1', ''])
    expect(() => reserve({ resource: [], reserve: wrong }, 'agent')).toThrow(/--reserve/);
});

test.each([
  [
    'a taken port',
    Object.assign(new Error('listen'), { code: 'EADDRINUSE' }),
    /the port is taken/,
    /--listen/,
  ],
  [
    'a port taken below another error',
    new Error('x', { cause: Object.assign(new Error(), { code: 'EADDRINUSE' }) }),
    /the port is taken/,
    /--listen/,
  ],
  ['no store', new StoreError('unavailable', 'gone', { retryable: true }), /the store: gone/, /--etcd/],
  [
    'another store',
    new StoreError('wrong-server', 'other', { retryable: false }),
    /the store: other/,
    /begins anew .* --etcd/,
  ],
  ['another schema', new SchemaError(7), /schema 7/, /--cell/],
])('%s keeps a role from starting: one line, exit code 4, and what to do', (_name, error, message, hint) => {
  const fault = faultOf(error);
  expect(fault.exitCode).toBe(EXIT.unreachable);
  expect(fault.message).toMatch(message);
  expect(fault.hint).toMatch(hint);
});

test('addresses are a network without its edges, or a list', () => {
  expect(readAddresses('127.64.0.0/29')).toEqual([1, 2, 3, 4, 5, 6].map((n) => `127.64.0.${String(n)}`));
  expect(readAddresses('10.0.0.5/31, 10.1.255.255')).toEqual(['10.0.0.4', '10.0.0.5', '10.1.255.255']);
  expect(readAddresses('10.0.0.254/23')).toHaveLength(510);
  for (const text of ['', '10.0.0.0/8', '256.0.0.1', '10.0.0.1/33', '10.0.0.1,10.0.0.1', '::1'])
    expect(() => readAddresses(text)).toThrow(/NETWORK\/BITS/);
});
