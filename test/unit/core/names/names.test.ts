import { describe, expect, it } from 'vitest';
import { lackOf, namesOf, nameText, readName } from '../../../../src/core/names/names.ts';
import { parseJobObject } from '../../../../src/wire/job-file/job-file.ts';
import { jobOf } from '../../../support/monitor-world.ts';

describe('names of what runs', () => {
  it('port, group, job and namespace; no other text is a name', () => {
    const name = { port: 'http', group: 'web', job: 'shop', namespace: 'team-a' };
    expect(nameText(name)).toBe('http.web.shop.team-a');
    expect(readName('HTTP.web.Shop.team-a')).toEqual(name);
    const none = [
      '',
      'web.shop.team-a',
      'a.b.c.d.e',
      'a..c.d',
      '-a.b.c.d',
      `${'a'.repeat(64)}.b.c.d`,
      'a.b.c.ä',
    ];
    expect(none.map(readName)).toEqual(none.map(() => null));
  });

  it('a job has a name for each port of each group, and what is not there is said', () => {
    const job = jobOf({ name: 'shop', ports: { http: 'auto', grpc: 'auto' } });
    expect(namesOf(job).map(nameText)).toEqual(['http.shop.shop.default', 'grpc.shop.shop.default']);
    const name = { port: 'http', group: 'shop', job: 'shop', namespace: 'default' };
    expect(lackOf(name, job)).toBeNull();
    expect(lackOf({ ...name, port: 'admin' }, job)).toBe(
      'group shop of shop has no port admin: it has http, grpc',
    );
    expect(lackOf({ ...name, group: 'web' }, job)).toBe('job shop has no group web: it has shop');
    expect(lackOf(name, null)).toBe('there is no job default/shop');
  });

  it('a name that has no room in DNS is refused with the job', () => {
    const long = 'a'.repeat(63);
    const reading = parseJobObject({
      name: long,
      namespace: long,
      command: ['true'],
      ports: { [long]: 'auto' },
    });
    expect(reading.ok).toBe(false);
    expect(JSON.stringify(reading)).toContain('has 255 characters; 239 at most have room in DNS');
  });
});
