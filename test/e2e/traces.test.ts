import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { SpanName } from '../../src/core/trace/spans.ts';
import { SPANS } from '../../src/core/trace/spans.ts';
import type { DevCellProcess } from '../support/cli.ts';
import { ONE_OF_EACH, runCli, startDevCell, testFolder } from '../support/cli.ts';
import type { CollectedSpan } from '../support/otlp-collector.ts';
import { OtlpCollector } from '../support/otlp-collector.ts';

/** Where exporters of OpenTelemetry send to when nobody says otherwise. */
const OTLP_PORT = 4318;

/** To which span each belongs. */
const PARENTS: Readonly<Record<SpanName, SpanName | null>> = {
  submit: null,
  decide: 'submit',
  ticket: 'decide',
  grant: 'ticket',
  commit: 'decide',
  start: 'submit',
  accept: 'start',
  prepare: 'accept',
  run: 'accept',
  release: 'submit',
  exit: 'submit',
};

function logOf(cell: DevCellProcess, role: string): string {
  const folder = join(cell.folder, '.moorage', 'cells', cell.file.cell, 'logs');
  const files = readdirSync(folder).filter((file) => file.startsWith(role));
  return files.map((file) => readFileSync(join(folder, file), 'utf8')).join('');
}

function lineageOf(spans: readonly CollectedSpan[]): Record<string, string | null> {
  const nameOf = new Map(spans.map(({ spanId, name }) => [spanId, name]));
  return Object.fromEntries(
    spans.map(({ name, parentId }) => [
      name,
      parentId === '' ? null : (nameOf.get(parentId) ?? 'one that nobody recorded'),
    ]),
  );
}

describe('a job seen over all roles', () => {
  it('its way is one trace, whose id and the job stand in the log of each role', async () => {
    using folder = testFolder();
    await using collector = await OtlpCollector.start();
    const cell = await startDevCell(folder.path, ONE_OF_EACH, {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
      OTEL_BSP_SCHEDULE_DELAY: '100',
      MOORAGE_LOG_LEVEL: 'debug',
    });
    try {
      const ran = await runCli(['run', '--name', 'traced', '--', 'sh', '-c', 'exit 3'], { cwd: folder.path });
      expect(ran.code).toBe(3);
      await collector.until(
        (spans) => new Set(spans.map(({ name }) => name)).size === Object.keys(SPANS).length,
      );

      const { spans } = collector;
      const [traceId = ''] = spans.map((span) => span.traceId);
      expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([traceId]));
      expect(lineageOf(spans)).toEqual(PARENTS);
      const roleOf = Object.fromEntries(spans.map(({ name, service }) => [name, service]));
      const expected = Object.entries(SPANS).map(([name, { role }]) => [name, `moorage-${role}`]);
      expect(roleOf).toEqual(Object.fromEntries(expected));
      const run = spans.find(({ name }) => name === 'run');
      expect(run?.facts).toMatchObject({ 'moorage.state': 'failed', 'moorage.code': 3 });
      const unknown = spans.flatMap(({ name, facts }) => {
        const meant: readonly string[] = SPANS[name as SpanName].facts;
        return Object.keys(facts).filter((fact) => !meant.includes(fact.replace('moorage.', '')));
      });
      expect(unknown).toEqual([]);

      const [job, allocation] = [run?.facts['moorage.job'], run?.facts['moorage.allocation']].map(String);
      const inLog = (role: string, id: string): boolean => logOf(cell, role).includes(`"${id}"`);
      for (const role of ['monitor', 'batch', 'arbiter', 'host']) {
        expect([role, inLog(role, traceId)]).toEqual([role, true]);
        expect([role, inLog(role, job ?? '')]).toEqual([role, true]);
        expect([role, role === 'monitor' || inLog(role, allocation ?? '')]).toEqual([role, true]);
      }
    } finally {
      await cell.stop();
    }
  });

  it('without a word about traces in the environment, none leaves, and records and logs have none', async () => {
    using folder = testFolder();
    let connections = 0;
    const server = createServer((socket) => {
      connections += 1;
      socket.destroy();
    });
    await new Promise<void>((resolve) => server.listen(OTLP_PORT, '127.0.0.1', resolve));
    const cell = await startDevCell(folder.path, ONE_OF_EACH, { MOORAGE_LOG_LEVEL: 'debug' });
    const ran = await runCli(['run', '--name', 'plain', '--', 'true'], { cwd: folder.path });
    expect(ran.code).toBe(0);
    const logs = ['monitor', 'batch', 'arbiter', 'host'].map((role) => logOf(cell, role));
    await cell.stop();
    await new Promise((resolve) => server.close(resolve));
    expect(connections).toBe(0);
    for (const log of logs) {
      expect(log).toContain('"job":"default/plain-');
      expect(log).not.toContain('"trace"');
    }
  });
});
