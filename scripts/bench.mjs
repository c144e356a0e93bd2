// `npm run bench -- NAME [options]`: prepares the checkout and runs one of the programs in bench/.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { prepare } from './prepare.mjs';

const root = prepare();
const folder = join(root, 'bench');
const [name, ...rest] = process.argv.slice(2);
// Each room holds some benches and what they share; only a bench reads options.
const benches = new Map(
  readdirSync(folder, { recursive: true })
    .filter((file) => file.endsWith('.ts') && readFileSync(join(folder, file), 'utf8').includes('= flagsOf('))
    .map((file) => [basename(file, '.ts'), join(root, 'dist', 'bench', file.replace(/\.ts$/, '.js'))])
    .sort(),
);
const file = benches.get(name);
if (file === undefined) {
  const known = [...benches.keys()].join(', ');
  process.stderr.write(`usage: npm run bench -- NAME [options]; NAME is one of: ${known}\n`);
  process.exit(64);
}
const done = spawnSync(process.execPath, [file, ...rest], { stdio: 'inherit' });
process.exit(done.status ?? 1);
