import { spawn, spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { DevCellProcess } from '../support/cli.ts';
import { issueFor, ONE_OF_EACH, PROJECT_ROOT, runCli, startDevCell, testFolder } from '../support/cli.ts';
import { freePort } from '../support/free-port.ts';
import { OtlpCollector } from '../support/otlp-collector.ts';

const DASHBOARDS = join(PROJECT_ROOT, 'docs', 'dashboards');
const folder = testFolder();
let cell: DevCellProcess;
let collector: OtlpCollector;

beforeAll(async () => {
  collector = await OtlpCollector.start();
  cell = await startDevCell(folder.path, ONE_OF_EACH, {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    OTEL_BSP_SCHEDULE_DELAY: '100',
  });
});
afterAll(async () => {
  await cell.stop();
  await collector[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

/** A Prometheus that reads the cell as `docs/dashboards/prometheus.yaml` says. */
async function startPrometheus() {
  const credentials = await issueFor(cell, 'operator', 'prometheus');
  const config = readFileSync(join(DASHBOARDS, 'prometheus.yaml'), 'utf8')
    .replaceAll('/etc/prometheus/moorage', credentials)
    .replace('https://monitor-1:7070', cell.file.monitors[0] ?? '')
    .replace('30s', '1s');
  writeFileSync(join(folder.path, 'prometheus.yaml'), `global: { scrape_interval: 1s }\n${config}`);
  cpSync(join(DASHBOARDS, 'alerts.yaml'), join(folder.path, 'alerts.yaml'));
  const listen = `127.0.0.1:${String(await freePort())}`;
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder.path, 'prometheus.yaml')}`,
      '--enable-feature=exemplar-storage',
      ...[`--storage.tsdb.path=${join(folder.path, 'tsdb')}`, `--web.listen-address=${listen}`],
    ],
    { stdio: 'ignore' },
  );
  const ended = new Promise((resolve) => child.once('close', resolve));
  const ask = async (path: string): Promise<unknown> => {
    const answer = await fetch(`http://${listen}${path}`).catch(() => null);
    return answer?.ok === true ? answer.json() : null;
  };
  return {
    ask,
    query: async (expr: string): Promise<readonly Sample[]> => {
      const answer = await ask(`/api/v1/query?query=${encodeURIComponent(expr)}`);
      return (answer as { data?: { result: readonly Sample[] } } | null)?.data?.result ?? [];
    },
    stop: async () => {
      child.kill();
      await ended;
    },
  };
}

it('Prometheus finds every role by a monitor, over TLS, and reads what its rules ask for', async () => {
  await runCli(['run', '--', 'true'], { cwd: folder.path });
  await runCli(['run', '-d', '--cpu', '64', '--', 'true'], { cwd: folder.path });
  const prometheus = await startPrometheus();
  try {
    const up = async (): Promise<readonly string[]> =>
      (await prometheus.query('up{job="moorage"} == 1')).map(({ metric }) => metric['role'] ?? '').sort();
    while ((await up()).length < 4);
    expect(await up()).toEqual(['agent', 'arbiter', 'monitor', 'scheduler']);
    const waiting = 'moorage_scheduler_longest_wait_seconds > 0';
    while ((await prometheus.query(waiting)).length === 0);
    const committed = await prometheus.query('moorage_scheduler_claims_total{outcome="committed"}');
    expect(Number(committed[0]?.value[1])).toBeGreaterThan(0);
    const rules = (await prometheus.ask('/api/v1/rules')) as {
      data: { groups: readonly { rules: readonly { name: string; health: string }[] }[] };
    };
    const loaded = rules.data.groups.flatMap((group) => group.rules);
    expect(loaded.map(({ name }) => name)).toContain('MooragePendingTooLong');
  } finally {
    await prometheus.stop();
  }
});

interface Exemplars {
  readonly data?: readonly {
    readonly exemplars: readonly { readonly labels: { readonly trace_id?: string } }[];
  }[];
}

it('Prometheus reads OpenMetrics, and beside a slow commit the trace of a job', async () => {
  await runCli(['run', '--', 'true'], { cwd: folder.path });
  const prometheus = await startPrometheus();
  try {
    const question = 'query=moorage_commit_seconds_bucket&start=0&end=4000000000';
    const traces = async (): Promise<readonly (string | undefined)[]> => {
      const answer = (await prometheus.ask(`/api/v1/query_exemplars?${question}`)) as Exemplars | null;
      return (answer?.data ?? []).flatMap(({ exemplars }) => exemplars.map(({ labels }) => labels.trace_id));
    };
    while ((await traces()).length === 0);
    const [traceId = ''] = await traces();
    await collector.until((spans) =>
      spans.some((span) => span.traceId === traceId && span.name === 'commit'),
    );
    // A counter has the same name in both formats.
    while ((await prometheus.query('moorage_tickets_total')).length === 0);
  } finally {
    await prometheus.stop();
  }
});

it('the alert rules pass their tests', async () => {
  const tested = spawnSync('promtool', ['test', 'rules', join(DASHBOARDS, 'alerts.test.yaml')], {
    encoding: 'utf8',
  });
  expect(tested.stdout + tested.stderr).toMatch(/SUCCESS/);
  expect(tested.status).toBe(0);
});
