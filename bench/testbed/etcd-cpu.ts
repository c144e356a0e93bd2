import { readFileSync } from 'node:fs';
import type { EtcdProcess } from '../../src/adapters/etcd/server/server.ts';

/** CPU time of etcd since it started, from the kernel's hundredths of a second. */
export function etcdCpuUs(etcd: EtcdProcess): number {
  const stat = readFileSync(`/proc/${String(etcd.pid)}/stat`, 'utf8');
  const [, , , , , , , , , , , user, system] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(user) + Number(system)) * 10_000;
}
