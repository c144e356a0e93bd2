import fc from 'fast-check';
import { expect, test } from 'vitest';
import { formatTable, widthOf } from '../../../../cli/output/table.ts';
import { ago, cores, duration, exitText, gpus, size } from '../../../../src/wire/values/words.ts';

test('columns line up, numbers to the right, nothing behind the last word', () => {
  const rows = [
    { name: 'a', count: 5 },
    { name: 'long-name', count: 12 },
  ];
  const table = formatTable(
    [
      { title: 'NAME', cell: (row: { name: string; count: number }) => row.name },
      { title: 'COUNT', cell: (row) => String(row.count), align: 'right' },
    ],
    rows,
  );
  expect(table).toBe('NAME       COUNT\na              5\nlong-name     12\n');
});

test('what others wrote cannot break the line or move the cursor', () => {
  const table = formatTable([{ title: 'T', cell: (text: string) => text }], ['a\nb', '\u001b[31mred', '']);
  expect(table).toBe('T\na\\nb\n\\x1b[31mred\n-\n');
});

test('every line of a table has as many lines as rows, whatever is in it', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary' }), { maxLength: 5 }), (texts) => {
      const table = formatTable(
        [
          { title: 'A', cell: (text: string) => text },
          { title: 'B', cell: () => 'x' },
        ],
        texts,
      );
      expect(table.split('\n')).toHaveLength(texts.length + 2);
    }),
  );
});

test('wide characters take two columns, marks none', () => {
  expect(widthOf('漢字')).toBe(4);
  expect(widthOf('e\u0301')).toBe(1);
});

test('short words for amounts', () => {
  expect([
    duration(900),
    duration(65_000),
    duration(600_000),
    duration(7_800_000),
    duration(400_000_000),
  ]).toEqual(['1s', '1m5s', '10m', '2h10m', '4d15h']);
  expect([ago(5_000, 2_000), ago(5_000, null)]).toEqual(['3s', '']);
  expect([cores(2_000), cores(500), cores(250)]).toEqual(['2', '0.5', '0.25']);
  expect([size(512), size(1536), size(262_144), size(3 * 1024 * 1024)]).toEqual([
    '512Mi',
    '1.5Gi',
    '256Gi',
    '3Ti',
  ]);
  expect([gpus(1000), gpus(460)]).toEqual(['1', '0.46']);
  expect([
    exitText({ code: 0 }),
    exitText({ signal: 'SIGKILL' }),
    exitText({ lost: 'host-reboot' }),
    exitText(null),
  ]).toEqual(['0', 'SIGKILL', 'lost: host-reboot', '']);
});

test('on a terminal a row takes one line: columns go by rank, then the widest text is cut', () => {
  const columns = [
    { title: 'JOB', rank: 0, cell: (row: { job: string }) => row.job },
    { title: 'OWNER', rank: 2, cell: () => 'a-very-long-scheduler-name' },
    { title: 'PHASE', rank: 1, cell: () => 'running' },
  ];
  const rows = [{ job: 'storefront-of-the-east' }, { job: 'b' }];
  const all = formatTable(columns, rows);
  expect(formatTable(columns, rows, 80)).toBe(all);
  expect(formatTable(columns, rows, 40)).toBe(
    'JOB                     PHASE\nstorefront-of-the-east  running\nb                       running\n',
  );
  expect(formatTable(columns, rows, 24)).toBe('JOB\nstorefront-of-the-east\nb\n');
  expect(formatTable(columns, rows, 5)).toBe('JOB\nstor…\nb\n');
});

test('no line is wider than the terminal, whatever is in it', () => {
  const text = fc.string({ unit: fc.constantFrom('a', '漢', ' ', 'e\u0301', '\n') });
  fc.assert(
    fc.property(
      fc.array(fc.array(text, { minLength: 4, maxLength: 4 })),
      fc.integer({ min: 8, max: 60 }),
      (rows, width) => {
        const columns = [0, 1, 2, 3].map((at) => ({
          title: `T${String(at)}`,
          cell: (row: string[]) => row[at] ?? '',
        }));
        const lines = formatTable(columns, rows, width).split('\n');
        expect(lines).toHaveLength(rows.length + 2);
        for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width);
      },
    ),
  );
});
