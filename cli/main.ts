#!/usr/bin/env node
import { join } from 'node:path';
import { useCodeCache } from '../src/adapters/system/code-cache.ts';

// Before anything else is loaded: that is what it speeds up.
useCodeCache(join(import.meta.dirname, '..', 'code-cache'));
void import('./command-line.ts').then(({ runCommandLine }) => runCommandLine());
