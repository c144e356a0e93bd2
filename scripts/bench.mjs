// `npm run bench -- NAME [options]`: prepares the checkout and runs one of the programs in bench/.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { prepare } from './prepare.mjs';

const root = prepare();
const folder = join(root, 'dist', 'bench');
const [name, ...rest] = process.argv.slice(2);
const files = readdirSync(folder, { recursive: true }).filter((entry) => entry.endsWith('.js'));
const file = files.find((entry) => basename(entry, '.js') === name);
if (file === undefined) {
  // A bench reads its own options; what it only shares with others does not.
  const known = files
    .filter((entry) => readFileSync(join(folder, entry), 'utf8').includes('parseArgs'))
    .map((entry) => basename(entry, '.js'));
  process.stderr.write(
    `usage: npm run bench -- NAME [options]; NAME is one of: ${known.sort().join(', ')}\n`,
  );
  process.exit(64);
}
const done = spawnSync(process.execPath, [join(folder, file), ...rest], { stdio: 'inherit' });
process.exit(done.status ?? 1);
