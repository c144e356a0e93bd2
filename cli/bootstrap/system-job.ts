import type { Job } from '../../src/core/cell/job.ts';
import { SYSTEM_NAMESPACE } from '../../src/core/cell/ids.ts';
import { formatProblem, parseJobObject } from '../../src/wire/job-file/job-file.ts';
import type { BootstrapHost, BootstrapState, SystemTask } from '../../src/wire/join/bootstrap-file.ts';
import { kindOf, SYSTEM_PORTS } from './layout.ts';

/** Nobody preempts what the cell consists of. */
const PRECEDENCE = 100;
/** What is put aside, and what is too much: a member of the store or a role of a small cell needs the former. */
const RESOURCES = { cpu: '100m', memory: '256Mi' };
const LIMITS = { memory: '2Gi' };

/** The job of one process of the cell: on its host alone, where its certificate and its data are. */
export function systemJob(state: BootstrapState, task: SystemTask): Job {
  const host = hostOf(state, task.host);
  const reading = parseJobObject({
    ...{ namespace: SYSTEM_NAMESPACE, name: task.name, type: 'service', priority: PRECEDENCE },
    constraints: [`host.id == ${task.host}`],
    ...{ command: commandOf(state, task, host), user: 'agent', resources: RESOURCES, limits: LIMITS },
    // By its host, however often: whoever would place it elsewhere may be what has ended.
    restart: { attempts: 1_000, window: '1h', delay: '1s', maxDelay: '15s', on: 'always' },
  });
  if (reading.ok) return reading.job;
  throw new Error(reading.problems.map((problem) => formatProblem(problem)).join('\n'));
}

export function hostOf({ hosts }: BootstrapState, id: string): BootstrapHost {
  const host = hosts.find((one) => one.id === id);
  if (host === undefined) throw new Error(`there is no host ${id}`);
  return host;
}

/** As the members of the store are known to clients. */
export function etcdUrls(state: BootstrapState): readonly string[] {
  return membersOf(state).map(({ host }) => urlOf(hostOf(state, host), SYSTEM_PORTS.etcd));
}

export function monitorUrls(state: BootstrapState): readonly string[] {
  return state.tasks
    .filter(({ role }) => role === 'monitor')
    .map(({ host }) => urlOf(hostOf(state, host), SYSTEM_PORTS.monitor));
}

function membersOf({ tasks }: BootstrapState): readonly SystemTask[] {
  return tasks.filter(({ role }) => role === 'etcd');
}

function urlOf(host: BootstrapHost, port: number): string {
  return `https://${addressOf(host)}:${String(port)}`;
}

/** With brackets, where it needs them. */
function addressOf({ url }: BootstrapHost): string {
  return new URL(url).hostname;
}

function commandOf(state: BootstrapState, task: SystemTask, host: BootstrapHost): readonly string[] {
  const credentials = `${host.data}/joined/roles/${task.role}-${task.id}`;
  if (task.role === 'etcd') return etcdCommand(state, task, host, credentials);
  const common = [
    ...['--cell', state.cell, '--id', task.id, '--credentials', credentials],
    ...['--etcd', etcdUrls(state).join(',')],
  ];
  const listen = (port: number): string[] => ['--listen', `${addressOf(host)}:${String(port)}`];
  if (task.role === 'arbiter') {
    const keys = ['--keys', `${host.data}/joined/keys`];
    return [...host.program, 'arbiter', ...common, ...listen(SYSTEM_PORTS.arbiter), ...keys];
  }
  if (task.role === 'monitor')
    return [...host.program, 'monitor', ...common, ...listen(SYSTEM_PORTS.monitor)];
  const kind = kindOf(task);
  return [...host.program, 'scheduler', '--kind', kind, ...common, ...listen(SYSTEM_PORTS[kind])];
}

function etcdCommand(
  state: BootstrapState,
  { id }: SystemTask,
  host: BootstrapHost,
  credentials: string,
): readonly string[] {
  const client = urlOf(host, SYSTEM_PORTS.etcd);
  const peer = urlOf(host, SYSTEM_PORTS.etcdPeer);
  const cluster = membersOf(state).map(
    (member) => `${member.id}=${urlOf(hostOf(state, member.host), SYSTEM_PORTS.etcdPeer)}`,
  );
  const identity = `${credentials}/identity.pem`;
  const ca = `${credentials}/ca.pem`;
  return [
    ...[host.etcd ?? 'etcd', '--name', id, '--data-dir', `${host.data}/etcd`],
    ...['--listen-client-urls', client, '--advertise-client-urls', client],
    ...['--listen-peer-urls', peer, '--initial-advertise-peer-urls', peer],
    ...['--initial-cluster', cluster.join(','), '--initial-cluster-token', state.incarnation],
    ...['--max-txn-ops', '512', '--client-cert-auth', '--peer-client-cert-auth'],
    ...['--trusted-ca-file', ca, '--cert-file', identity, '--key-file', identity],
    ...['--peer-trusted-ca-file', ca, '--peer-cert-file', identity, '--peer-key-file', identity],
  ];
}
