import { describe, expect, it } from 'vitest';
import { timeline } from '../../../../sim/shrink/timeline.ts';
import { HandRun } from '../../../support/hand-run.ts';

describe('a timeline', () => {
  it('tells what happened in order, marks the evidence, and ends with the violation', () => {
    const run = new HandRun();
    const job = run.job('crunch');
    run.submit(job);
    run.nowMs = 2_500;
    const one = run.allocation(job);
    const started = run.launch(one, job);
    run.history.add('nemesis', {
      fault: 0,
      kind: 'kill',
      phase: 'begin',
      targets: ['host-1'],
      what: 'kill host-1',
    });
    run.end(one, started, { code: 3 });
    run.release(one, { exit: { code: 0 } });
    const report = run.check({ liveness: null, least: {} });
    const lines = timeline(run.history, report).trimEnd().split('\n');
    expect(lines.at(-1)).toBe('I23 broken at 2.500 s: a0001: reported to have ended with code 0, was code 3');
    const marked = lines.filter((line) => line.startsWith('>>'));
    expect(marked.map((line) => line.replace(/^>> +/, '').replace(/ {2,}/g, ' | '))).toEqual([
      expect.stringMatching(/^2\.500 s \| host-1 \| a0001\.work\.1 runs as process \d+$/),
      expect.stringMatching(/^2\.500 s \| host-1 \| a0001\.work\.1 \(process \d+\) ends: code 3$/),
      expect.stringContaining('outcomes default/crunch/a0001: complete, ended, {"code":0}'),
    ]);
    expect(lines.some((line) => line.includes('FAULT begins: kill host-1'))).toBe(true);
  });

  it('shows of a long run what is about the violation, unless all is asked for', () => {
    const run = new HandRun();
    const job = run.job('crunch');
    run.submit(job);
    for (let n = 0; n < 500; n++) run.alive('host-2');
    const one = run.allocation(job);
    run.end(one, run.launch(one, job), { signal: 'SIGKILL' });
    const report = run.check({ liveness: null, least: {} });
    const [short, whole] = [timeline(run.history, report), timeline(run.history, report, true)];
    expect(whole.split('\n').length).toBeGreaterThan(500);
    expect(short.split('\n').length).toBeLessThan(60);
    expect(short).toContain('   ...');
    expect(short).toContain('a0001.work.1 runs as process');
  });
});
