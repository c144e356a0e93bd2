import { writeFileSync } from 'node:fs';
import { scanIo } from './io-scan.ts';
import { DOCUMENT, documentText, LIST, listsOf, listText } from './io-sites-file.ts';

// What `npm run fail-points` runs, once for each of the two.
if (process.argv[2] === 'document') writeFileSync(DOCUMENT, documentText());
else {
  const lists = listsOf(scanIo());
  writeFileSync(LIST, listText(lists));
  for (const site of lists.nameless) process.stdout.write(`says nothing yet of what it touches: ${site}\n`);
}
