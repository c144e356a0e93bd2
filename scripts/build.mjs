// Bundles the sources and their packages into dist/: each program that is started by its path is a file of the same name, and
// what several of them, or several verbs, need lies in files that they share, so that each loads what it needs and no more.
// The page of the monitors is bundled for browsers, each of its files beside its compressed form. The shim of tasks is compiled beside it. Types are checked apart (`npm run types`); `npm pack` adds the declarations of the
// package's entry (tsconfig.build.json).
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The command line, which all roles are, too. It is CommonJS, for which V8 keeps what it compiled (`cli/code-cache/main.ts`). */
const COMMAND_LINE = ['cli/main', 'cli/code-cache/main'];
/** Node's flags of those who start it: people, `moorage dev`, and roles as `docs/running.md` has them. */
export const FLAGS = [[], ['--max-semi-space-size=1'], ['--max-semi-space-size=64']];
/** The programs and threads that it starts, and what other programs import. */
const PARTS = [
  'cli/sim/sweep/worker',
  'host-agent/shim/main',
  'sim/seeds/worker',
  'src/adapters/file-thread/worker',
  'src/connect/index',
  'src/connect/testing',
  'src/wire/job-file/json-schema',
  'schedulers/index',
];
/** What scripts and tests start besides. It is bundled apart with the benches, so that the product is not cut up for them. */
const DEVELOPMENT = [
  'bench/host/bare-server',
  'sim/mutants/main',
  'sim/mutants/mutants',
  'sim/seeds/main',
  'sim/sweep/main',
  'src/adapters/etcd/server/find-etcd',
];

/** The programs among the benches' files: those that read a command line. */
function benches() {
  return readdirSync(join(root, 'bench'), { recursive: true })
    .filter((file) => file.endsWith('.ts'))
    .filter((file) =>
      /= flagsOf\(|process\.argv\[|= process\.argv/.test(readFileSync(join(root, 'bench', file), 'utf8')),
    )
    .map((file) => `bench/${file.replace(/\.ts$/, '')}`);
}

/** The parts of the command line, with the modules that lie in each; nothing is written. */
export function commandLineGraph() {
  return bundle(commandLine);
}

const commandLine = { entries: COMMAND_LINE, format: 'cjs', chunks: 'chunks' };

/**
 * @param format of what is written: `esm` or `cjs`
 * @param dir where it is written; absent: it is not
 * @param replaced texts that stand in the place of those of source files, by path
 */
export async function bundle({ entries, format = 'esm', dir, chunks, replaced = new Map() }) {
  const suffix = format === 'cjs' ? 'cjs' : 'js';
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(entries.map((entry) => [entry, `${entry}.ts`])),
    platform: 'node',
    tsconfig: false,
    // Of benches alone, and it finds files of its own by where it lies.
    external: ['playwright-core'],
    transform: { target: 'node20.19' },
    plugins: [
      { name: 'replaced', load: (id) => replaced.get(relative(root, id)) ?? null },
      { name: 'etcd-messages', transform: withEtcdMessages },
      ...(format === 'cjs' ? [{ name: 'plain-exports', renderChunk: withPlainExports }] : []),
    ],
  });
  const options = {
    dir,
    format,
    // What has a code cache knows no `import()`.
    dynamicImportInCjs: false,
    entryFileNames: `[name].${suffix}`,
    chunkFileNames: `${chunks}/[name]-[hash].${suffix}`,
    // Errors and stacks show the names of classes and functions.
    keepNames: true,
    sourcemap: replaced.size === 0,
  };
  const { output } = await (dir === undefined ? build.generate(options) : build.write(options));
  await build.close();
  return output;
}

/** How etcd3 reads its messages: at every start, from a file that lies beside it. */
const READS_MESSAGES = '(0, proto_loader_1.loadSync)(`${__dirname}/../proto/rpc.proto`, {';

/** Its messages are read when it is bundled, not whenever it is loaded. */
function withEtcdMessages(code, id) {
  if (!id.endsWith('/etcd3/lib/connection-pool.js')) return null;
  if (code.split(READS_MESSAGES).length !== 2)
    throw new Error(`${id} reads its messages in another way than scripts/build.mjs knows`);
  const protobuf = createRequire(createRequire(id).resolve('@grpc/proto-loader'))('protobufjs');
  const file = join(dirname(id), '..', 'proto', 'rpc.proto');
  const messages = new protobuf.Root().loadSync(file, { keepCase: true }).toJSON();
  const text = JSON.stringify(JSON.stringify(messages));
  return {
    code: code.replace(READS_MESSAGES, () => `(0, proto_loader_1.fromJSON)(JSON.parse(${text}), {`),
    // No line is moved.
    map: null,
  };
}

const GETTER =
  /^Object\.defineProperty\(exports, "([^"]+)", \{\s+enumerable: true,\s+get: function \(\) \{\s+return ([\w$]+);\s+\}\s+\}\);$/gm;

/** What a part gives to others it has as a value, where it is not assigned again: a getter costs whoever calls it often. */
function withPlainExports(code) {
  const plain = code.replace(GETTER, (getter, name, local) =>
    isAssignedOnce(code, local) ? `exports[${JSON.stringify(name)}] = ${local};` : getter,
  );
  // Its lines are the last ones.
  return { code: plain, map: null };
}

/** At the top of a part, before its exports. A name that is not found so is taken to change. */
function isAssignedOnce(code, local) {
  const name = local.replaceAll('$', '\\$');
  const assigned = new RegExp(`(?<![\\w$.])${name}(?: = |\\+\\+|--| [-+*/|&?]+= )`, 'g');
  const declared = new RegExp(
    `^(?:(?:async )?function\\*? ${name}\\(|class ${name}\\b|(?:const|let|var) ${name} = )`,
    'm',
  );
  return declared.test(code) && (code.match(assigned) ?? []).length <= 1;
}

async function build() {
  const dir = join(root, 'dist');
  const shim = compileShim();
  const page = buildPage(join(dir, 'page'));
  const outputs = await Promise.all([
    bundle({ ...commandLine, dir }),
    bundle({ entries: PARTS, dir, chunks: 'chunks' }),
    bundle({ entries: [...DEVELOPMENT, ...benches()], dir, chunks: 'chunks/development' }),
  ]);
  await Promise.all([shim, page, writeJobSchema(dir)]);
  // npm sets this only when it installs.
  chmodSync(join(dir, 'cli', 'main.cjs'), 0o755);
  rmSync(join(dir, 'code-cache'), { recursive: true, force: true });
  removeOthers(dir, new Set(outputs.flat().map(({ fileName }) => fileName)));
  await makeCodeCaches(dir);
}

async function makeCodeCaches(dir) {
  const program = join(dir, 'cli', 'code-cache', 'main.cjs');
  await Promise.all(FLAGS.map((flags) => run([...flags, program], 'the code cache was not made')));
}

/** What editors read to complete and check a job file: monitors serve the same. */
async function writeJobSchema(dir) {
  const { jobJsonSchema } = await import(
    pathToFileURL(join(dir, 'src', 'wire', 'job-file', 'json-schema.js'))
  );
  writeFileSync(join(dir, 'job.schema.json'), `${JSON.stringify(jobJsonSchema(), null, 2)}\n`);
}

/** The names of its files, but for the page itself, are those of what they hold, so that browsers may keep them for ever. */
export async function buildPage(dir) {
  const bundled = await rolldown({
    cwd: root,
    input: 'page/main.tsx',
    platform: 'browser',
    tsconfig: false,
    transform: { target: 'es2023', jsx: { runtime: 'automatic', importSource: 'preact' } },
  });
  const names = { entryFileNames: '[name]-[hash].js', chunkFileNames: '[name]-[hash].js' };
  const { output } = await bundled.generate({ format: 'esm', minify: true, ...names });
  await bundled.close();
  const source = (name) => readFileSync(join(root, 'page', name), 'utf8');
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  const write = (name, text) => {
    writeFileSync(join(dir, name), text);
    writeFileSync(join(dir, `${name}.gz`), gzipSync(text, { level: 9 }));
  };
  // What is loaded later, such as the terminal, lies in files of its own.
  for (const { fileName, code } of output) write(fileName, code);
  const named = {
    'style.css': source('style.css') + terminalStyles(),
    'icon.svg': source('icon.svg'),
  };
  let index = source('index.html').replaceAll('/page/main.js', `/page/${output[0].fileName}`);
  for (const [name, text] of Object.entries(named)) {
    const hash = createHash('sha256').update(text).digest('hex').slice(0, 12);
    const hashed = name.replace('.', `-${hash}.`);
    write(hashed, text);
    index = index.replaceAll(`/page/${name}`, `/page/${hashed}`);
  }
  write('index.html', index);
}

/** Those of the package, without what they say of themselves. */
function terminalStyles() {
  const file = createRequire(import.meta.url).resolve('@xterm/xterm/css/xterm.css');
  return readFileSync(file, 'utf8')
    .replace(/\/\*[^]*?\*\//g, '')
    .replace(/\n\s*\n/g, '\n');
}

async function compileShim() {
  await run([join(root, 'host-agent', 'native', 'build.mjs')], 'the shim was not compiled');
}

/** A program of Node's. @throws {Error} `failed` with its exit code, when that is not 0 */
async function run(args, failed) {
  const [code] = await once(
    spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] }),
    'exit',
  );
  if (code !== 0) throw new Error(`${failed}: exit code ${code}`);
}

/** What an earlier build left: its parts have other names than those of this one. */
function removeOthers(dir, written) {
  for (const file of readdirSync(dir, { recursive: true }))
    if (/\.(c?js|c?js\.map|d\.ts|tsbuildinfo)$/.test(file) && !file.startsWith('page/') && !written.has(file))
      rmSync(join(dir, file));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await build();
