// `npm run bench -- NAME [options]`: prepares the checkout and runs one of the programs in bench/.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { prepare } from './prepare.mjs';

const root = prepare();
const folder = join(root, 'dist', 'bench');
const [name, ...rest] = process.argv.slice(2);
const file = join(folder, `${name ?? ''}.js`);
if (name === undefined || !existsSync(file)) {
  // A bench reads its own options; what it only shares with others does not.
  const known = readdirSync(folder)
    .filter(
      (entry) => entry.endsWith('.js') && readFileSync(join(folder, entry), 'utf8').includes('parseArgs'),
    )
    .map((entry) => entry.slice(0, -'.js'.length));
  process.stderr.write(`usage: npm run bench -- NAME [options]; NAME is one of: ${known.join(', ')}\n`);
  process.exit(64);
}
const done = spawnSync(process.execPath, [file, ...rest], { stdio: 'inherit' });
process.exit(done.status ?? 1);
