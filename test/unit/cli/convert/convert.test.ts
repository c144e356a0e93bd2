import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ConvertOptions } from '../../../../cli/convert/convert.ts';
import { convert } from '../../../../cli/convert/convert.ts';
import type { Job } from '../../../../src/core/cell/job.ts';
import { parseJobText } from '../../../../src/wire/job-file/job-file.ts';
import { FakeHttp, fakeContext } from '../fakes.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'moorage-convert-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

async function converted(name: string, text: string, options: ConvertOptions = {}) {
  const { context, terminal } = fakeContext(new FakeHttp({}), ['http://unused']);
  const file = join(folder, name);
  writeFileSync(file, text);
  expect(await convert(context, file, options)).toBe(0);
  return { out: terminal.stdout, notes: terminal.stderr };
}

function jobIn(text: string): Job {
  const reading = parseJobText(text, 'converted');
  if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
  return reading.job;
}

const COMPOSE = `
name: Shop_1
services:
  web:
    image: nginx:1.25
    command: nginx -g "daemon off;"
    environment: { LEVEL: info, lower: x }
    ports: ["8080:80"]
    deploy: { replicas: 3, resources: { reservations: { cpus: "0.5", memory: 64M }, limits: { memory: 128M } } }
    healthcheck: { test: ["CMD", "true"], interval: 5s, retries: 2 }
    volumes: ["data:/var/lib/data:ro", "./conf:/etc/nginx"]
    depends_on: [db]
    stop_grace_period: 20s
  db:
    command: ["postgres"]
    restart: on-failure:5
volumes: { data: {} }
`;

const KUBERNETES = `
apiVersion: apps/v1
kind: Deployment
metadata: { name: store, namespace: team-a, labels: { app: store } }
spec:
  replicas: 2
  minReadySeconds: 5
  selector: { matchLabels: { app: store } }
  template:
    metadata: { labels: { app: store } }
    spec:
      terminationGracePeriodSeconds: 30
      nodeSelector: { kubernetes.io/os: linux }
      containers:
        - name: server
          image: store:1
          command: [store]
          args: [--serve]
          ports: [{ name: http, containerPort: 8080 }]
          env: [{ name: MODE, value: fast }, { name: SECRET, valueFrom: { secretKeyRef: { name: s, key: k } } }]
          resources: { requests: { cpu: 250m, memory: 128Mi }, limits: { memory: 256Mi } }
          readinessProbe: { httpGet: { path: /readyz, port: http }, periodSeconds: 3 }
---
apiVersion: batch/v1
kind: Job
metadata: { name: frames }
spec:
  completions: 10
  parallelism: 4
  activeDeadlineSeconds: 600
  template: { spec: { restartPolicy: Never, containers: [{ name: render, command: [render] }] } }
---
apiVersion: v1
kind: Service
metadata: { name: store }
`;

const NOMAD = JSON.stringify({
  Job: {
    ...{ ID: 'cache', Name: 'cache', Type: 'service', Priority: 70, Namespace: 'default' },
    Constraints: [{ LTarget: '${attr.kernel.name}', Operand: '=', RTarget: 'linux' }],
    TaskGroups: [
      {
        ...{ Name: 'cache', Count: 2, Networks: [{ DynamicPorts: [{ Label: 'db' }] }] },
        Constraints: [{ Operand: 'distinct_hosts', LTarget: '', RTarget: 'true' }],
        RestartPolicy: { Attempts: 2, Interval: 1_800_000_000_000, Delay: 15_000_000_000, Mode: 'fail' },
        Update: { MaxParallel: 1, MinHealthyTime: 10_000_000_000, Canary: 0, AutoRevert: true },
        Tasks: [
          {
            ...{
              Name: 'redis',
              Driver: 'exec',
              Config: { command: '/usr/bin/redis-server', args: ['--port', '1'] },
            },
            ...{ Env: { MODE: 'a' }, Resources: { CPU: 500, MemoryMB: 256 }, KillTimeout: 5_000_000_000 },
          },
        ],
      },
    ],
  },
});

describe('convert', () => {
  it('a job file to JSON and back', async () => {
    const text = 'name: a\ntype: batch\ncommand: [echo, 1.10]\n';
    const { out } = await converted('a.yaml', text);
    expect(JSON.parse(out)).toEqual({ name: 'a', type: 'batch', command: ['echo', '1.10'] });
    const back = await converted('a.json', out);
    expect(jobIn(back.out)).toEqual(jobIn(text));
  });

  it('a compose file becomes a job with a group for each service, and says what it leaves out', async () => {
    const { out, notes } = await converted('compose.yaml', COMPOSE);
    const job = jobIn(out);
    expect([job.name, Object.keys(job.groups)]).toEqual(['shop-1', ['web', 'db']]);
    const web = job.groups['web']!;
    expect(web).toMatchObject({ count: 3, ports: { p80: 8080 }, volumes: { data: { access: 'exclusive' } } });
    expect(web.tasks['web']).toMatchObject({
      ...{ command: ['nginx', '-g', 'daemon off;'], driver: 'oci', env: { LEVEL: 'info' } },
      ...{
        resources: { cpuMilli: 500, memoryMib: 64 },
        limits: { memoryMib: 128 },
        stop: { graceMs: 20_000 },
      },
      mounts: { data: { path: '/var/lib/data', readOnly: true } },
      checks: { healthy: { probe: { kind: 'command', command: ['true'] }, failureThreshold: 2 } },
    });
    expect(job.groups['db']?.restart).toMatchObject({ on: 'failure', attempts: 5 });
    for (const told of ['image nginx:1.25', 'variable lower', 'depends_on', './conf', 'port 80'])
      expect(notes).toContain(told);
  });

  it('Kubernetes objects become a file each, in a folder', async () => {
    const { out, notes } = await converted('all.yaml', KUBERNETES, { dir: folder });
    expect(out.trim().split('\n')).toEqual([join(folder, 'store.yaml'), join(folder, 'frames.yaml')]);
    const store = jobIn(readFileSync(join(folder, 'store.yaml'), 'utf8'));
    expect(store).toMatchObject({ namespace: 'team-a', type: 'service', labels: { app: 'store' } });
    expect(store.groups['store']).toMatchObject({ count: 2, minHealthyMs: 5_000, ports: { http: 0 } });
    expect(store.groups['store']?.constraints[0]?.text).toBe('host.os == linux');
    expect(store.groups['store']?.tasks['server']).toMatchObject({
      ...{ command: ['store', '--serve'], env: { MODE: 'fast' }, limits: { memoryMib: 256 } },
      ...{ resources: { cpuMilli: 250, memoryMib: 128 }, stop: { graceMs: 30_000 } },
      checks: { ready: { probe: { kind: 'http', port: 'http', path: '/readyz' }, intervalMs: 3_000 } },
    });
    const frames = jobIn(readFileSync(join(folder, 'frames.yaml'), 'utf8'));
    expect(frames.groups['frames']).toMatchObject({ count: 10, parallelism: 4, deadlineMs: 600_000 });
    expect(frames.groups['frames']?.restart.on).toBe('never');
    for (const told of ['Service store: is left out', 'variable SECRET', 'image store:1'])
      expect(notes).toContain(told);
  });

  it('several jobs are not mixed on standard output', async () => {
    await expect(converted('all.yaml', KUBERNETES)).rejects.toThrow('2 jobs');
    expect(readdirSync(folder)).toEqual(['all.yaml']);
  });

  it('a Nomad job, with megahertz told as cores', async () => {
    const { out, notes } = await converted('job.json', NOMAD);
    const job = jobIn(out);
    expect(job).toMatchObject({ name: 'cache', precedence: 70, type: 'service' });
    const group = job.groups['cache']!;
    expect(group).toMatchObject({
      ...{ count: 2, ports: { db: 0 }, distinct: ['id'], minHealthyMs: 10_000 },
      ...{ restart: { attempts: 2, windowMs: 1_800_000, delayMs: 15_000 }, update: { autoRevert: true } },
    });
    expect(group.tasks['redis']).toMatchObject({
      ...{ command: ['/usr/bin/redis-server', '--port', '1'], driver: 'sandbox' },
      ...{ resources: { cpuMilli: 200, memoryMib: 256 }, stop: { graceMs: 5_000 } },
    });
    expect(notes).toContain('500 MHz is taken as 200m');
  });

  it('a Procfile, in which web gets a port', async () => {
    const text = '# app\nweb: node server.js --fast\nworker: node work.js\nrelease: ./migrate\n';
    const { out, notes } = await converted('Procfile', text, { name: 'app' });
    const job = jobIn(out);
    expect(Object.keys(job.groups)).toEqual(['web', 'worker']);
    expect(job.groups['web']?.ports).toEqual({ http: 0 });
    expect(job.groups['web']?.tasks['web']?.command.at(-1)).toContain('exec node server.js --fast');
    expect(notes).toContain('line 4: release');
  });

  it('what becomes no valid job is refused with the place', async () => {
    const wrong = COMPOSE.replace('64M', '-3').replace('Shop_1', 'shop');
    await expect(converted('compose.yaml', wrong)).rejects.toThrow('memory');
    await expect(converted('empty.yaml', 'services: {}\n')).rejects.toThrow(/group/);
  });
});
