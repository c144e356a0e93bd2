import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const options = {
  target: ts.ScriptTarget.ES2023,
  module: ts.ModuleKind.ESNext,
  verbatimModuleSyntax: true,
  sourceMap: false,
};

export async function load(url, context, next) {
  if (!url.endsWith('.ts')) return next(url, context);
  const source = await readFile(fileURLToPath(url), 'utf8');
  return { format: 'module', source: transpiled(source, url), shortCircuit: true };
}

export function transpiled(source, url) {
  return ts.transpileModule(source, { compilerOptions: options, fileName: url }).outputText;
}
