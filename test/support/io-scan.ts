import { readdirSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import type { FailRole } from '../../src/runtime/faults/faults.ts';

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..', '..');

/** The interfaces through which roles do I/O, and how fail-points name them. */
const PORTS: Readonly<Record<string, string>> = {
  CellStore: 'store',
  Session: 'store',
  StoreUpkeep: 'upkeep',
  HttpClient: 'http',
  HttpServer: 'server',
  HttpListener: 'server',
  Disk: 'disk',
  Processes: 'processes',
  ShimLink: 'link',
  Cgroups: 'cgroups',
  Commands: 'commands',
  ArtifactSource: 'artifacts',
  Probes: 'probes',
  TicketSigner: 'signer',
  TicketVerifier: 'verifier',
};

/** Where a role begins: everything that it imports from here does its I/O in its name. */
const ROLE_ENTRIES: Readonly<Record<FailRole, string>> = {
  scheduler: 'schedulers/main.ts',
  agent: 'host-agent/main.ts',
  monitor: 'monitor/main.ts',
  arbiter: 'arbiter/main.ts',
};

/**
 * Interfaces of `src/ports` with methods that do no I/O: time, chance, what is said about oneself, what a caller gives to be
 * called back, what has no answer but an empty one when it fails (names), or that it cannot be said (tokens of
 * OpenID providers), and what only lets go of a handle. The talks of `attach` (Channel) have no fail-points: what comes over them
 * reaches the shim by its link, which has.
 */
const NO_PORTS: ReadonlySet<string> = new Set([
  ...[
    'Clock',
    'Random',
    'Log',
    'Metrics',
    'Tracer',
    'Span',
    'CallQueue',
    'Follower',
    'Following',
    'Channel',
    'ChannelClient',
  ],
  // Only answers from memory: a fail-point there would be one of the asker.
  ...['DnsServer', 'DnsListener'],
  ...['Names', 'OpenIdTokens'],
]);

/** Methods of ports that do nothing outside of the process: they have no fail-point. */
export const NO_IO: ReadonlySet<string> = new Set(['disk.absolute', 'link.close']);

/** Files where ports are made or wrapped, not used; the store of a warm-up is in memory, and it calls no host. */
const NOT_SCANNED =
  /(^|\/)(hollow-)?main\.ts$|^schedulers\/warmup\/warmup\.ts$|^host-agent\/(shim|native)\/|^src\/runtime\/faults\//;
const SCANNED = ['schedulers', 'host-agent', 'monitor', 'arbiter', 'src/runtime', 'src/clients'];

export interface FoundSite {
  /** The file. */
  readonly at: string;
  /** `store.attempt` */
  readonly io: string;
  /** How often it stands there. */
  readonly calls: number;
  readonly roles: readonly FailRole[];
}

export interface FoundRoute {
  readonly role: FailRole;
  readonly method: string;
  readonly path: string;
}

export interface Scan {
  readonly sites: readonly FoundSite[];
  readonly routes: readonly FoundRoute[];
  /** Ports' methods that are handed on instead of called: an I/O that nobody sees. */
  readonly hidden: readonly string[];
  /** Every method of every port, as `store.attempt`. */
  readonly methods: readonly string[];
  /** Interfaces with methods of which nobody said whether they do I/O. */
  readonly unknownPorts: readonly string[];
}

/** Reads the sources for every I/O of every role. Some seconds: it needs the types. */
export function scanIo(): Scan {
  const files = SCANNED.flatMap(sources);
  const program = ts.createProgram(
    [...files, ...sources('src/ports'), ...Object.values(ROLE_ENTRIES)].map((file) => join(root, file)),
    compilerOptions(),
  );
  const checker = program.getTypeChecker();
  const reached = new Map(
    Object.entries(ROLE_ENTRIES).map(([role, entry]) => [role as FailRole, closure(program, entry)]),
  );
  const rolesOf = (file: string): FailRole[] =>
    [...reached].filter(([, seen]) => seen.has(file)).map(([role]) => role);
  const sites = new Map<string, { -readonly [K in keyof FoundSite]: FoundSite[K] }>();
  const hidden: string[] = [];
  const routes: FoundRoute[] = [];
  for (const file of files.filter((name) => !NOT_SCANNED.test(name))) {
    const source = program.getSourceFile(join(root, file));
    if (source === undefined) throw new Error(`${file} is not in the program`);
    const roles = rolesOf(file);
    const visit = (node: ts.Node): void => {
      const io = ts.isPropertyAccessExpression(node) ? ioOf(checker, node) : null;
      if (io !== null && roles.length > 0) {
        if (!ts.isCallExpression(node.parent) || node.parent.expression !== node)
          hidden.push(`${file}: ${io}`);
        const site = sites.get(`${file} ${io}`);
        if (site === undefined) sites.set(`${file} ${io}`, { at: file, io, calls: 1, roles });
        else site.calls += 1;
      }
      if (ts.isBindingElement(node) && isPortMethod(checker, node)) hidden.push(`${file}: ${node.getText()}`);
      for (const role of roles) {
        const route = routeOf(checker, node);
        if (route !== null) routes.push({ role, ...route });
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  const inOrder = <T extends object>(list: Iterable<T>): T[] =>
    [...list].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  return {
    sites: inOrder(sites.values()),
    routes: inOrder(routes),
    hidden,
    methods: methodsOf(program, checker),
    unknownPorts: unknownPortsOf(program),
  };
}

function compilerOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => ts.sys.readFile(path)) as {
    config: { compilerOptions: object };
  };
  return { ...ts.parseJsonConfigFileContent({ ...config, files: [] }, ts.sys, root).options, noEmit: true };
}

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

/** All files that the entry imports to run, directly or not. */
function closure(program: ts.Program, entry: string): Set<string> {
  const seen = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const statement of program.getSourceFile(join(root, file))?.statements ?? []) {
      const isImport =
        ts.isImportDeclaration(statement) && statement.importClause?.phaseModifier === undefined;
      const isExport = ts.isExportDeclaration(statement) && !statement.isTypeOnly;
      if (!isImport && !isExport) continue;
      const target = statement.moduleSpecifier;
      if (target === undefined || !ts.isStringLiteral(target) || !target.text.startsWith('.')) continue;
      visit(relative(root, resolve(root, dirname(file), target.text)));
    }
  };
  visit(entry);
  return seen;
}

/** `store.attempt` when the access names a method of a port. */
function ioOf(checker: ts.TypeChecker, node: ts.PropertyAccessExpression): string | null {
  return portMethod(checker, checker.getSymbolAtLocation(node.name));
}

function isPortMethod(checker: ts.TypeChecker, node: ts.BindingElement): boolean {
  const type = checker.getTypeAtLocation(node.parent);
  const name = (node.propertyName ?? node.name).getText();
  return portMethod(checker, type.getProperty(name)) !== null;
}

function portMethod(checker: ts.TypeChecker, symbol: ts.Symbol | undefined): string | null {
  for (const declaration of symbol?.declarations ?? []) {
    const owner = declaration.parent;
    if (ts.isMethodSignature(declaration) && ts.isInterfaceDeclaration(owner)) {
      const port = PORTS[owner.name.text];
      const isPort = relative(root, owner.getSourceFile().fileName).startsWith('src/ports/');
      if (!isPort || port === undefined) continue;
      const method = declaration.name.getText();
      return `${port}.${owner.name.text === 'Session' ? `${method}Session` : method}`;
    }
    // A class of a role's own that stands for a port counts like the port.
    if (!ts.isMethodDeclaration(declaration) || !ts.isClassDeclaration(owner)) continue;
    const bases = owner.heritageClauses?.flatMap((clause) => [...clause.types]) ?? [];
    for (const base of bases) {
      const found = portMethod(checker, checker.getTypeAtLocation(base).getProperty(symbol?.name ?? ''));
      if (found !== null) return found;
    }
  }
  return null;
}

function methodsOf(program: ts.Program, checker: ts.TypeChecker): string[] {
  const found = new Set<string>();
  for (const source of program.getSourceFiles()) {
    if (!relative(root, source.fileName).startsWith('src/ports/')) continue;
    ts.forEachChild(source, (node) => {
      if (!ts.isInterfaceDeclaration(node) || PORTS[node.name.text] === undefined) return;
      for (const member of node.members) {
        const method = member.name && portMethod(checker, checker.getSymbolAtLocation(member.name));
        if (method) found.add(method);
      }
    });
  }
  return [...found].sort();
}

function unknownPortsOf(program: ts.Program): string[] {
  const found: string[] = [];
  for (const source of program.getSourceFiles()) {
    if (!relative(root, source.fileName).startsWith('src/ports/')) continue;
    ts.forEachChild(source, (node) => {
      if (!ts.isInterfaceDeclaration(node) || !node.members.some(ts.isMethodSignature)) return;
      const { text } = node.name;
      if (PORTS[text] === undefined && !NO_PORTS.has(text)) found.push(text);
    });
  }
  return found;
}

/** An object `{ method: 'GET', path: '/v1/...' }`, or a call `route('GET', '/v1/...')` or `get('/v1/...')`, with its right. */
function routeOf(checker: ts.TypeChecker, node: ts.Node): { method: string; path: string } | null {
  if (ts.isObjectLiteralExpression(node)) {
    const text = (name: string): string | null => {
      const property = node.properties.find((one) => one.name?.getText() === name);
      const isText = property !== undefined && ts.isPropertyAssignment(property);
      return isText && ts.isStringLiteral(property.initializer) ? property.initializer.text : null;
    };
    const [method, path] = [text('method'), text('path')];
    return method !== null && path?.startsWith('/') === true ? { method, path } : null;
  }
  if (!ts.isCallExpression(node)) return null;
  const texts = node.arguments.filter(ts.isStringLiteral).map(({ text }) => text);
  const path = texts.find((text) => text.startsWith('/'));
  if (path === undefined || checker.getTypeAtLocation(node).getSymbol()?.name !== 'Route') return null;
  const method = texts.find((text) => /^[A-Z]+$/.test(text)) ?? node.expression.getText().toUpperCase();
  return { method, path };
}
