import { describe, expect, it } from 'vitest';
import { jobToFile, parseJobObject, parseJobText } from '../../../../src/wire/job-file/job-file.ts';

const text = (endpoints: string, more = ''): string =>
  `name: client\nnamespace: team-a\ncommand: [a]\n${more}endpoints:\n  - ${endpoints}\n`;
function problemsOf(endpoints: string, more = ''): readonly string[] {
  const reading = parseJobText(text(endpoints, more), 'job.yaml');
  return reading.ok
    ? []
    : reading.problems.map(({ line, path, text: says }) => `${String(line)} ${path}: ${says}`);
}

describe('names that a task uses', () => {
  it('S4.21 they come back as they were written, without the namespace that they have anyway', () => {
    const written = '{ name: HTTP.web.shop.team-a, env: SHOP, file: shop.txt, onChange: SIGHUP }';
    const reading = parseJobText(text(written), 'job.yaml');
    if (!reading.ok) throw new Error(JSON.stringify(reading.problems));
    const { endpoints } = reading.job.groups['client']?.tasks['client'] ?? {};
    expect(endpoints).toEqual([{ name: 'http.web.shop', env: 'SHOP', file: 'shop.txt', onChange: 'SIGHUP' }]);
    expect(parseJobObject(jobToFile(reading.job))).toEqual(reading);
  });

  it.each([
    [
      '{ name: web, file: a }',
      'endpoints[0].name: "web" is no name: write PORT.GROUP.JOB, such as http.web.shop',
    ],
    [
      '{ name: http.web.shop.team-b, file: a }',
      'endpoints[0].name: a task sees names of its own namespace, team-a; ask for others over DNS',
    ],
    ['{ name: http.web.shop }', 'endpoints[0].name: needs env or file, such as file: web.txt'],
    [
      '{ name: http.web.shop, env: A, onChange: SIGHUP }',
      'endpoints[0].onChange: needs file: variables of a process do not change',
    ],
    ['{ name: http.web.shop, env: MOORAGE_A }', 'endpoints[0].env: names with MOORAGE_ are set by the host'],
    ['{ name: http.web.shop, file: ../a }', 'endpoints[0].file: expected one name, such as "api.txt"'],
  ])('a mistake is told with its line and what would do: %s', (endpoints, problem) => {
    expect(problemsOf(endpoints)).toEqual([`5 ${problem}`]);
  });

  it('two of a group do not write to one file, nor over a variable or a file of the task', () => {
    const twice = '{ name: http.web.shop, file: a }\n  - { name: http.web.shop, file: a }';
    expect(problemsOf(twice)).toEqual([
      '6 endpoints[1].file: another name of the group has the file a already',
    ]);
    expect(problemsOf('{ name: http.web.shop, env: A }', 'env: { A: b }\n')).toEqual([
      '6 endpoints[0].env: the task has a variable A already',
    ]);
    expect(problemsOf('{ name: http.web.shop, file: a }', 'checks: { x: { file: a } }\n')).toEqual([
      '6 endpoints[0].file: a check of the group has the file a already',
    ]);
  });
});
