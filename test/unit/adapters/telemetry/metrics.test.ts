import { describe, expect, it } from 'vitest';
import { promMetrics } from '../../../../src/adapters/telemetry/metrics.ts';

describe('promMetrics', () => {
  it('registers a name at its first use and adds up', async () => {
    const metrics = promMetrics();
    metrics.count('moorage_tickets_total', { decision: 'granted' });
    metrics.count('moorage_tickets_total', { decision: 'granted' }, 2);
    metrics.gauge('moorage_grants', 7);
    metrics.observe('moorage_commit_seconds', 0.003, { outcome: 'committed' });
    const text = await metrics.render();
    expect(text).toContain('moorage_tickets_total{decision="granted"} 3');
    expect(text).toContain('moorage_grants 7');
    expect(text).toContain('moorage_commit_seconds_bucket{le="0.005",outcome="committed"} 1');
  });

  it('two instances know nothing of each other', async () => {
    const one = promMetrics();
    one.count('moorage_a_total');
    expect(await promMetrics().render()).not.toContain('moorage_a_total');
  });

  it('drops and counts samples that do not fit the first use', async () => {
    const metrics = promMetrics();
    metrics.count('moorage_a_total', { kind: 'x' });
    metrics.count('moorage_a_total', { other: 'x' });
    metrics.count('moorage_a_total');
    metrics.gauge('moorage_a_total', 1, { kind: 'x' });
    const text = await metrics.render();
    expect(text).toContain('moorage_a_total{kind="x"} 1');
    expect(text).toContain('moorage_metric_samples_dropped_total{metric="moorage_a_total"} 3');
  });

  it('stops at a thousand series of one name', async () => {
    const metrics = promMetrics();
    for (let n = 0; n < 1_200; n++) metrics.gauge('moorage_by_id', n, { id: String(n) });
    const text = await metrics.render();
    expect(text.match(/^moorage_by_id\{/gm)).toHaveLength(1_000);
    expect(text).toContain('moorage_metric_samples_dropped_total{metric="moorage_by_id"} 200');
  });
});
