import { writeFileSync } from 'node:fs';
import { scanIo } from './io-scan.ts';
import { LIST, listsOf, listText } from './io-sites-file.ts';

// What `npm run fail-points` runs.
const lists = listsOf(scanIo());
writeFileSync(LIST, listText(lists));
for (const site of lists.nameless) process.stdout.write(`says nothing yet of what it touches: ${site}\n`);
