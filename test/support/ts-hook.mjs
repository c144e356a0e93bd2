// Lets a test's child process run TypeScript sources as they are: `node --import <this file> entry.ts`.
import { register } from 'node:module';

register('./ts-loader.mjs', import.meta.url);
