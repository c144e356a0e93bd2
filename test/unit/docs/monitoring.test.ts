import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { SPANS } from '../../../src/core/trace/spans.ts';
import { METRICS } from '../../../src/ports/metric-names.ts';
import { PROJECT_ROOT } from '../../support/cli.ts';

const DASHBOARDS = join(PROJECT_ROOT, 'docs', 'dashboards');
const PAGE = join(PROJECT_ROOT, 'docs', 'monitoring.md');
const HEADING = '## Metrics\n';

function metricsTable(): string {
  const rows = Object.entries(METRICS).map(
    ([name, { kind, labels, help }]) =>
      `| \`${name}\` | ${kind} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} |`,
  );
  return `| metric | kind | labels | |\n| --- | --- | --- | --- |\n${rows.join('\n')}\n`;
}

function spansTable(): string {
  const rows = Object.entries(SPANS).map(
    ([name, { role, help, facts }]) =>
      `| \`${name}\` | ${role} | ${help} | ${facts.map((fact) => `\`${fact}\``).join(', ')} |`,
  );
  return `| span | role | | facts, each as \`moorage.…\` |\n| --- | --- | --- | --- |\n${rows.join('\n')}\n`;
}

/** The metrics of Moorage that a text asks for, each with the labels that it names in braces. */
function metricsIn(text: string): readonly (readonly [name: string, labels: readonly string[]])[] {
  return [...text.matchAll(/\b(moorage_[a-z_]+)(?:\{([^}]*)\})?/g)].map(([, name = '', selectors = '']) => [
    name.replace(/_(?:bucket|sum|count)$/, ''),
    [...selectors.matchAll(/(\w+)\s*(?:=~?|!=)/g)].map(([, label = '']) => label),
  ]);
}

/** Labels that Prometheus itself adds. */
const ADDED = new Set(['instance', 'job', 'le']);

function unknownIn(text: string): readonly string[] {
  return metricsIn(text).flatMap(([name, labels]) => {
    const metric = (METRICS as Readonly<Record<string, { readonly labels: readonly string[] }>>)[name];
    if (metric === undefined) return [name];
    return labels
      .filter((label) => !ADDED.has(label) && !metric.labels.includes(label))
      .map((label) => `${name}{${label}}`);
  });
}

describe('what is written of the metrics', () => {
  it('docs/monitoring.md has a row for each, and for each span', async () => {
    const [head = ''] = readFileSync(PAGE, 'utf8').split(HEADING);
    const tables = `${metricsTable()}\n## Spans\n\n${spansTable()}`;
    await expect(`${head}${HEADING}\n${tables}`).toMatchFileSnapshot(PAGE);
  });

  it('alerts and the dashboard ask for metrics and labels that there are', () => {
    const alerts = parse(readFileSync(join(DASHBOARDS, 'alerts.yaml'), 'utf8')) as {
      readonly groups: readonly { readonly rules: readonly { readonly expr: string }[] }[];
    };
    const cell = JSON.parse(readFileSync(join(DASHBOARDS, 'cell.json'), 'utf8')) as {
      readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[];
    };
    const asked = [
      ...alerts.groups.flatMap(({ rules }) => rules),
      ...cell.panels.flatMap(({ targets }) => targets),
    ].map(({ expr }) => expr);
    expect(asked.length).toBeGreaterThan(30);
    expect(asked.flatMap(unknownIn)).toEqual([]);
    expect(unknownIn('rate(moorage_gone_total{a="b"}[1m]) / moorage_tickets_total{code="x"}')).toEqual([
      'moorage_gone_total',
      'moorage_tickets_total{code}',
    ]);
  });
});
