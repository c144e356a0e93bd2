import { join } from 'node:path';
import { cacheBuild } from './code-cache.ts';

void cacheBuild(join(import.meta.dirname, '..', '..'));
