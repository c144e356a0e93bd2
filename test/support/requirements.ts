import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT } from './cli.ts';

/** Where a test shows something. */
export type Kind = 'real processes' | 'simulator' | 'unit';

export interface Shown {
  readonly file: string;
  readonly kind: Kind;
}

const ids = (source: string, from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, n) => `${source}.${String(from + n)}`);

/** All of S0 and S1, and of S3 what is about the life of a service and about the cell as a whole. */
export const REQUIRED: readonly string[] = [
  ...ids('S0', 1, 45),
  ...ids('S1', 1, 39),
  ...['S3.1', ...ids('S3', 13, 45), 'S3.59', 'S3.60'],
];

/** The title of a test or of a group of tests. */
const TITLE = /\b(?:it|test|describe)(?:\.\w+(?:\([^]*?\)(?=\())?)?\(\s*(['"`])((?:(?!\1)[^\\]|\\.)*)\1/g;

function kindOf(file: string): Kind {
  if (/^test\/(?:sim|unit\/sim)\//.test(file)) return 'simulator';
  return /^test\/(?:e2e|integration|campaigns|chaos)\//.test(file) ? 'real processes' : 'unit';
}

/** By id, the files of which some title names it. */
export function shownBy(): ReadonlyMap<string, readonly Shown[]> {
  const shown = new Map<string, Shown[]>();
  const files = readdirSync(join(PROJECT_ROOT, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join('test', name))
    .sort();
  for (const file of files) {
    const text = readFileSync(join(PROJECT_ROOT, file), 'utf8');
    const titles = [...text.matchAll(TITLE)].map(([, , title = '']) => title).join(' ');
    for (const id of new Set(titles.match(/\bS\d\.\d+\b/g)))
      shown.set(id, [...(shown.get(id) ?? []), { file, kind: kindOf(file) }]);
  }
  return shown;
}

/** Of `docs/requirements.md`: what each id says, and the rulings at its end. */
export function stated(): {
  readonly says: ReadonlyMap<string, string>;
  readonly rulings: ReadonlyMap<string, string>;
} {
  const text = readFileSync(join(PROJECT_ROOT, 'docs', 'requirements.md'), 'utf8');
  const says = [...text.matchAll(/^- (S[\d.]+): (.*)$/gm)].map(
    ([, id = '', what = '']) => [id, what] as const,
  );
  const rulings = [...text.matchAll(/^\| (S[\d.]+) \| (.*) \|$/gm)].map(
    ([, id = '', ruling = '']) => [id, ruling] as const,
  );
  return { says: new Map(says), rulings: new Map(rulings) };
}

const ORDER: readonly Kind[] = ['real processes', 'simulator', 'unit'];

/** The page, and what is neither shown nor ruled out. */
export function requirementsPage(): { readonly page: string; readonly missing: readonly string[] } {
  const shown = shownBy();
  const { says, rulings } = stated();
  const rows = REQUIRED.map((id) => {
    const tests = [...(shown.get(id) ?? [])].sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
    const where = ORDER.filter((kind) => tests.some((one) => one.kind === kind)).join(', ');
    const ruling = rulings.get(id);
    const isMissing = tests.length === 0 && ruling === undefined;
    const state = isMissing ? '**missing**' : tests.length === 0 ? 'ruled' : where;
    const files = tests.map(({ file }) => `\`${file.slice('test/'.length)}\``).join(', ');
    const by = [files, ruling ?? ''].filter((part) => part !== '').join('. ');
    return { id, isMissing, row: `| ${id} | ${says.get(id) ?? ''} | ${state} | ${by} |` };
  });
  const missing = rows.filter((row) => row.isMissing).map(({ id }) => id);
  const count = String(REQUIRED.length - missing.length);
  const page = [
    '# Which test shows which requirement',
    '',
    'Made of the titles of tests and of the rulings in [docs/requirements.md](../docs/requirements.md) by `test/unit/requirements.test.ts`',
    '(`--update`). Files lie below `test/`. "Simulator": the production roles on virtual time, or a checker of their runs.',
    '',
    `${count} of ${String(REQUIRED.length)} are shown or ruled. Missing: ${missing.length === 0 ? 'none' : missing.join(', ')}.`,
    '',
    '| id | what is asked | shown on | by |',
    '| --- | --- | --- | --- |',
    ...rows.map(({ row }) => row),
    '',
  ].join('\n');
  return { page, missing };
}
