// Runs inside another kernel: writes what limits do there into the file that it is given.
import { writeFileSync } from 'node:fs';
import { limitsFacts } from './limits-scenarios.ts';

writeFileSync(process.argv[2] ?? '', JSON.stringify(await limitsFacts('kernel', process.argv[3] ?? '')));
