import { describe, expect, it } from 'vitest';
import { promMetrics } from '../../../../src/adapters/telemetry/metrics.ts';
import { METRICS } from '../../../../src/ports/metric-names.ts';

describe('promMetrics', () => {
  it('registers a name at its first use, with its meaning, and adds up', async () => {
    const metrics = promMetrics();
    metrics.count('moorage_tickets_total', { decision: 'granted' });
    metrics.count('moorage_tickets_total', { decision: 'granted' }, 2);
    metrics.gauge('moorage_arbiter_grants', 7);
    metrics.observe('moorage_commit_seconds', 0.003, { outcome: 'committed' });
    const { body: text } = await metrics.render();
    expect(text).toContain(`# HELP moorage_tickets_total ${METRICS.moorage_tickets_total.help}`);
    expect(text).toContain('moorage_tickets_total{decision="granted"} 3');
    expect(text).toContain('moorage_arbiter_grants 7');
    expect(text).toContain('moorage_commit_seconds_bucket{le="0.005",outcome="committed"} 1');
  });

  it('two instances know nothing of each other', async () => {
    const one = promMetrics();
    one.count('moorage_host_checks_total');
    expect((await promMetrics().render()).body).not.toContain('moorage_host_checks_total');
  });

  it('shows a sum that its caller keeps, each of its series by itself', async () => {
    const metrics = promMetrics();
    for (const sum of [2, 5]) metrics.total('moorage_scheduler_claims_total', sum, { outcome: 'committed' });
    metrics.total('moorage_scheduler_claims_total', 1, { outcome: 'conflicted' });
    metrics.total('moorage_scheduler_decisions_total', 4);
    const { body: text } = await metrics.render();
    expect(text).toContain('moorage_scheduler_claims_total{outcome="committed"} 5');
    expect(text).toContain('moorage_scheduler_claims_total{outcome="conflicted"} 1');
    expect(text).toContain('moorage_scheduler_decisions_total 4');
  });

  it('stops at a thousand series of one name', async () => {
    const metrics = promMetrics();
    for (let n = 0; n < 1_200; n++) metrics.count('moorage_tickets_total', { decision: String(n) });
    const { body: text } = await metrics.render();
    expect(text.match(/^moorage_tickets_total\{/gm)).toHaveLength(1_000);
    expect(text).toContain('moorage_metric_samples_dropped_total{metric="moorage_tickets_total"} 200');
  });

  it('names follow Prometheus: base units, counters end in _total', () => {
    for (const [name, { kind, help }] of Object.entries(METRICS)) {
      expect(name).toMatch(/^moorage_[a-z_]+$/);
      expect(name.endsWith('_total'), name).toBe(kind === 'counter');
      expect(name, 'seconds and bytes, no milliseconds').not.toMatch(/_(ms|millis|kb|mib|minutes)(_|$)/);
      expect(help, name).toMatch(/[.]$/);
    }
  });

  it('answers in OpenMetrics where a scraper asks for it, each bucket with its last trace', async () => {
    const metrics = promMetrics({ processMetrics: true });
    const trace = (n: number): string => `00-${String(n).repeat(32)}-${'a'.repeat(16)}-01`;
    const labels = { outcome: 'applied' };
    metrics.count('moorage_tickets_total', { decision: 'granted "now"' });
    metrics.observe('moorage_commit_seconds', 0.003, labels, trace(1));
    metrics.observe('moorage_commit_seconds', 0.004, labels, trace(2));
    metrics.observe('moorage_commit_seconds', 90, labels, trace(3));
    metrics.observe('moorage_commit_seconds', 0.02, labels);
    const { body, contentType } = await metrics.render(
      'application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
    );
    expect(contentType).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
    expect(body).toContain('# TYPE moorage_tickets counter\n');
    expect(body).toContain('\nmoorage_tickets_total{decision="granted \\"now\\""} 1\n');
    const bucket = (le: string): string =>
      body.split('\n').find((line) => line.startsWith(`moorage_commit_seconds_bucket{le="${le}"`)) ?? '';
    expect(bucket('0.005')).toMatch(/} 2 # {trace_id="2{32}"} 0\.004 \d+(\.\d+)?$/);
    expect(bucket('+Inf')).toMatch(/} 4 # {trace_id="3{32}"} 90 /);
    expect(bucket('0.025')).toMatch(/} 3$/);
    expect(body).toMatch(/\nmoorage_commit_seconds_count{outcome="applied"} 4\n/);
    expect(body.endsWith('\n# EOF\n')).toBe(true);
    expect(body).not.toContain('\n\n');
    // The other format is as before.
    const plain = await metrics.render('text/plain');
    expect(plain.body).toContain('# TYPE moorage_tickets_total counter');
    expect(plain.body).not.toContain('trace_id');
    expect(plain.contentType).toContain('text/plain; version=0.0.4');
  });
});
